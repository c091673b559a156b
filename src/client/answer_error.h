#pragma once
// A refusal from a server, as an Error.
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::client {

// `body` may be the native API's {"error": {"code", "message"}}, the OpenAI or Ollama dialect's form, or anything else:
// the message is then the status. The code is the body's where it is one of Hearth's, else what the status means. The
// message is text from outside: cut, and without control characters. `retry_after` is the header's text, in seconds.
[[nodiscard]] base::Error error_from_answer(int status, std::string_view body,
                                            const std::optional<std::string>& retry_after);

}  // namespace hearth::client
