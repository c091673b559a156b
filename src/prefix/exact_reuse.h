#pragma once
// How much of a held prompt may be reused so that the answer is, bit for bit, that of a run which reuses nothing. Pure.
//
// An engine evaluates what it does not reuse in batches, from the first such token on. The bits that it computes for a
// token depend on how many tokens are in its batch, and on its place in it: llama-server's flash attention on a CPU
// takes another path below 64 tokens (where keys and values are f16 or f32), its matrix kernels another
// below 4, and for the last tokens that make no whole group of 4. Found by comparing the cache's cells, row by row
// (docs/prefix.md, "Exact answers").
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::prefix {

struct BatchRule {
  std::size_t batch = 512;  // tokens at once, at most; a multiple of `group`
  std::size_t many = 64;    // fewer tokens at once are computed in another way
  std::size_t group = 4;    // and so are the last ones that make no whole group
  friend bool operator==(const BatchRule&, const BatchRule&) = default;
};

// What the rule depends on.
struct BatchFacts {
  std::optional<std::string> build;   // of the engine: "11669"
  std::vector<std::string> backends;  // of the engine: "cpu-zen4"
  std::vector<std::string> flags;     // of the configuration
  // -np. Without it the engine has several slots over one cache, where what a slot attends to lies, and in which order,
  // depends on what the others hold.
  std::optional<std::uint32_t> slots;
  bool plain_model = false;  // a dense llama whose layers look back on everything: what was compared
};
// Empty where the engine's batches, or what depends on them, are not known: also for every build that was not compared.
[[nodiscard]] std::optional<BatchRule> batch_rule(const BatchFacts& facts);

// What Hearth adds to an engine's flags where answers are to be exact. Empty where that spares nothing, where the rule
// is not known, or where the configuration's flags choose the cache's types.
struct ExactFlags {
  std::vector<std::string> flags;
  std::string why;  // one sentence without a full stop
};
[[nodiscard]] ExactFlags exact_flags(const BatchFacts& facts);

// Of a prompt evaluated from token `from` on: the tokens before which everything was computed as it would be in the
// midst of a long prompt. `from` is a multiple of the group.
[[nodiscard]] std::size_t computed_alike(const BatchRule& rule, std::size_t from, std::size_t prompt);

struct ExactReuse {
  std::size_t tokens = 0;
  std::string_view why;  // fewer than are held; empty: all of them
};
// The longest beginning of a prompt whose continuation equals an uncached run. `held`: tokens of the prompt, from the
// first, that are held and were computed_alike().
[[nodiscard]] ExactReuse exact_reuse(const std::optional<BatchRule>& rule, std::size_t prompt, std::size_t held);

}  // namespace hearth::prefix
