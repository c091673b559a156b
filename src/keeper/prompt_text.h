#pragma once
// What of a request body decides its prompt, as one text: two requests whose texts begin alike have prompts that begin
// alike. Pure. It is compared, never sent, and says nothing of tokens.
#include <optional>
#include <string>
#include <string_view>

namespace hearth::keeper {

inline constexpr std::size_t kLargestPromptBody = 1U << 20;

// `path`: of the engine. Empty where the prompt's slot is not ours to choose: other endpoints, a body that is no object
// or larger than kLargestPromptBody, a request that names its own slot or adapters, wants several answers, forbids the
// reuse of a prompt, or holds anything but text.
[[nodiscard]] std::optional<std::string> prompt_text(std::string_view path, std::string_view body);

// The same body with its slot named in front.
[[nodiscard]] std::string with_slot(std::string body, unsigned slot);

// The same body with the reuse of what the engine holds forbidden. Bodies that are not of a completion stay as they
// are.
[[nodiscard]] std::string without_reuse(std::string_view path, std::string body);

}  // namespace hearth::keeper
