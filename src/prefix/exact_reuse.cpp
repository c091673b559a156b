#include "prefix/exact_reuse.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace hearth::prefix {
namespace {

constexpr std::string_view kComparedBuild = "11669";
constexpr std::size_t kManyForKernels = 4;
// Hearth evaluates a prefix in steps of fewer tokens, each of which is then one batch.
constexpr std::size_t kLeastBatch = 256;

// These change what is computed with how many tokens at once, in ways that nobody compared.
constexpr std::array<std::string_view, 8> kUnknown = {"-kvu",
                                                      "--kv-unified",
                                                      "-md",
                                                      "--model-draft",
                                                      "--lora",
                                                      "--lora-scaled",
                                                      "--control-vector",
                                                      "--control-vector-scaled"};

std::size_t down_to(std::size_t number, std::size_t step) { return number - number % step; }

// The value of the last of these flags; empty where there is none of them.
std::optional<std::string_view> value_of(const std::vector<std::string>& flags, std::string_view brief,
                                         std::string_view full) {
  for (std::size_t at = flags.size(); at-- > 0;) {
    if (flags[at] != brief && flags[at] != full) continue;
    return at + 1 < flags.size() ? std::string_view(flags[at + 1]) : std::string_view();
  }
  return std::nullopt;
}

// Flash attention on a CPU takes many tokens at once only where keys and values are both of these types.
bool attends_in_tiles(const std::vector<std::string>& flags) {
  const auto flash = value_of(flags, "-fa", "--flash-attn");
  if (flash == "off" || flash == "0") return false;
  const auto in_tiles = [](std::string_view type) { return type == "f16" || type == "f32"; };
  return in_tiles(value_of(flags, "-ctk", "--cache-type-k").value_or("f16")) &&
         in_tiles(value_of(flags, "-ctv", "--cache-type-v").value_or("f16"));
}

std::optional<std::size_t> number_in(std::optional<std::string_view> text, std::size_t otherwise) {
  if (!text) return otherwise;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<BatchRule> batch_rule(const BatchFacts& facts) {
  const auto is_cpu = [](const std::string& backend) { return backend.starts_with("cpu"); };
  if (facts.build != kComparedBuild || !facts.plain_model || !facts.slots || facts.backends.empty() ||
      !std::ranges::all_of(facts.backends, is_cpu))
    return std::nullopt;
  const auto is_unknown = [](const std::string& flag) {
    return std::ranges::find(kUnknown, flag) != kUnknown.end() || flag.starts_with("--spec") ||
           flag.find('=') != flag.npos;
  };
  if (std::ranges::any_of(facts.flags, is_unknown)) return std::nullopt;
  BatchRule rule;
  const auto batch = number_in(value_of(facts.flags, "-b", "--batch-size"), 2048);
  const auto micro = number_in(value_of(facts.flags, "-ub", "--ubatch-size"), rule.batch);
  if (!batch || !micro) return std::nullopt;
  rule.batch = *micro;
  if (!attends_in_tiles(facts.flags)) rule.many = kManyForKernels;
  // The last batch of a round ends at --batch-size too.
  if (rule.batch < kLeastBatch || rule.batch % rule.group != 0 || *batch % rule.batch != 0) return std::nullopt;
  return rule;
}

ExactFlags exact_flags(const BatchFacts& facts) {
  const auto chosen = [&](std::string_view brief, std::string_view full) {
    return value_of(facts.flags, brief, full).has_value();
  };
  if (!batch_rule(facts) || !attends_in_tiles(facts.flags) || chosen("-ctk", "--cache-type-k") ||
      chosen("-ctv", "--cache-type-v"))
    return {};
  return {{"--cache-type-k", "bf16"},
          "--cache-type-k bf16, with which a few tokens after a prefix are computed like many ([prefix] exact)"};
}

std::size_t computed_alike(const BatchRule& rule, std::size_t from, std::size_t prompt) {
  if (prompt <= from) return from;
  const std::size_t last = (prompt - from) % rule.batch;
  return last < rule.many ? prompt - last : prompt - last % rule.group;
}

ExactReuse exact_reuse(const std::optional<BatchRule>& rule, std::size_t prompt, std::size_t held) {
  if (!rule) return {0, "what this engine computes for a token may depend on the tokens beside it"};
  held = std::min(held, prompt);
  const std::size_t last = prompt % rule->batch;
  if (last > 0 && last < rule->many) {
    // The uncached run's last batch is small; only from a batch's end on are the same batches made.
    const std::size_t whole = down_to(std::min(held, prompt - last), rule->batch);
    return {whole, whole < held ? "the prompt's last batch is a small one" : ""};
  }
  if (prompt < rule->many) return {};
  std::size_t tokens = down_to(std::min(held, prompt - rule->many), rule->group);
  const std::size_t rest = (prompt - tokens) % rule->batch;
  if (rest > 0 && rest < rule->many) tokens = down_to(tokens - std::min(tokens, rule->many - rest), rule->group);
  return {tokens, tokens < held ? "enough of the prompt must be left for a batch like an uncached run's" : ""};
}

}  // namespace hearth::prefix
