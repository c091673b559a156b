// How a PrefixSession keeps answers equal to those of an uncached run: what of a held prompt is reused is the decision
// of prefix/exact_reuse.h, and the engine, which reuses whatever a slot holds, is given a slot that holds no more.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "engine/engine_call.h"
#include "keeper/prefix_session.h"
#include "keeper/prompt_text.h"

namespace hearth::keeper {

using prefix::Match;
using prefix::Tokens;

namespace {
constexpr std::chrono::seconds kErasing{5};
}

std::size_t PrefixSession::usable(const Match& match, std::size_t prompt) const {
  if (!plan_.exact) return match.tokens;
  return prefix::exact_reuse(plan_.rule, prompt, std::min(match.tokens, alike_in(match.state_tokens))).tokens;
}

PrefixSession::SlotReuse PrefixSession::slot_reuse(const PromptUse& use) const {
  const std::size_t prompt = use.tokens_.size();
  // The engine evaluates the last token of a prompt always.
  if (use.match_) return {usable(*use.match_, prompt), std::min(use.match_->tokens, prompt - 1)};
  const HeldSlot& slot = slots_[*use.slot_];
  const std::size_t common = prefix::common_prefix(slot.tokens, use.tokens_);
  const auto reuse = prefix::exact_reuse(plan_.rule, prompt, std::min(common, slot.alike));
  if (!reuse.why.empty())
    spdlog::debug("{}: {} of {} tokens reused: {}", plan_.model.text(), reuse.tokens, common, reuse.why);
  // Behind what is known of a slot lies an answer, which the prompt may go on with.
  if (common == slot.tokens.size()) return {reuse.tokens, std::nullopt};
  return {reuse.tokens, std::min(common, prompt - 1)};
}

rt::Task<std::string> PrefixSession::fit_exactly(std::string path, std::string body, PromptUse& use) {
  use.exact_ = 0;
  if (use.tokens_.empty()) co_return without_reuse(path, std::move(body));
  const SlotReuse reuse = slot_reuse(use);
  bool ready = reuse.exact > 0 && reuse.own == reuse.exact;
  if (!ready && reuse.exact > 0) {
    const auto cut = co_await cut_back(*use.slot_, use.tokens_, reuse.exact);
    if (!cut) spdlog::debug("{}: a slot cannot be cut back: {}", plan_.model.text(), cut.error().message);
    ready = cut.has_value();
  }
  // Another request may have had the slot since it was looked at.
  if (!ready || use.strangers_ != strangers_) co_return without_reuse(path, std::move(body));
  use.exact_ = reuse.exact;
  co_return body;
}

rt::Task<base::Status> PrefixSession::cut_back(unsigned slot, const Tokens& tokens, std::size_t count) {
  slots_[slot].forget();
  if (count == 0) {
    const auto erased = co_await engine::call_engine(socket_, engine::slot_target(slot, "erase"), "{}", kErasing);
    if (!erased) co_return std::unexpected(erased.error());
    co_return base::Status{};
  }
  const auto other = std::ranges::find_if(tokens, [&](prefix::Token token) { return token != tokens[count]; });
  if (other == tokens.end())
    co_return base::fail(base::ErrorCode::bad_request, "the prompt is one token over and over");
  Tokens left(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
  left.push_back(*other);
  co_return co_await evaluate(slot, left, count, true);
}

// Every batch is to be one of many tokens, and to begin where a group does.
std::size_t PrefixSession::exact_start(const HeldSlot& slot, std::size_t held, std::size_t tokens) const {
  if (!plan_.rule) return 0;
  std::size_t start = std::min(held, slot.alike);
  if (start + 1 == tokens) return start;  // all of it is there
  if (tokens - start < plan_.rule->many) start = tokens - std::min(tokens, plan_.rule->many);
  return start - start % plan_.rule->group;
}

std::size_t PrefixSession::alike_after(const PromptUse& use, const domain::EngineTimings& timings) {
  if (!use.exact_ || !plan_.rule || use.tokens_.empty()) return 0;
  const auto reused = static_cast<std::size_t>(timings.cached_tokens);
  const auto prompt = reused + static_cast<std::size_t>(timings.prompt_tokens);
  if ((reused == *use.exact_ || reused == 0) && prompt == use.tokens_.size())
    return prefix::computed_alike(*plan_.rule, 0, prompt);
  if (told_.insert("inexact").second) {
    tell("prefix_inexact",
         fmt::format("{} reused {} of {} tokens where {} of {} keep an answer equal to an uncached one", plan_.engine,
                     reused, prompt, *use.exact_, use.tokens_.size()));
  }
  return 0;
}

}  // namespace hearth::keeper
