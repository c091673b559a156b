#include "keeper/prefix_session.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "domain/json_text.h"
#include "engine/engine_call.h"
#include "keeper/prompt_text.h"
#include "prefix/change.h"
#include "prefix/worth.h"

namespace hearth::keeper {

using domain::Json;
using prefix::Match;
using prefix::Tokens;

namespace {

// On the way of a request nothing may take long; a template and a tokenizer take a few milliseconds.
constexpr std::chrono::milliseconds kQuick{250};
constexpr std::chrono::seconds kRestoring{10};
// Bytes of prompt that are not in a slot, from which it is worth a question to the tokenizer to evaluate fewer of them.
constexpr std::size_t kManyBytes = 1024;
// So are fewer where they take so long, but for those that no state is kept of.
constexpr double kLongMs = 50;
constexpr std::size_t kFewBytes = 256;
// A question to template and tokenizer, and a restore.
constexpr double kAskingMs = 15;
constexpr double kBytesPerToken = 4;        // of a usual text
constexpr std::size_t kLeastRestored = 64;  // tokens
// Tokens by which a state that ends with a prefix may be longer: the one that was saved with it.
constexpr std::size_t kExactEnd = 1;
constexpr const char* kCutBack = " (states cut back)";
constexpr std::size_t kUnreadKept = 16;
constexpr std::size_t kRecentKept = 8;
constexpr std::size_t kTold = 100;
constexpr std::size_t kLongestRecent = 256U << 10;
constexpr std::size_t kWantedKept = 4;
constexpr base::Bytes kMostPrefetched = 256'000'000;

std::size_t common_bytes(std::string_view one, std::string_view other) {
  const auto [end, ignored] = std::ranges::mismatch(one, other);
  return static_cast<std::size_t>(end - one.begin());
}

std::size_t scaled(std::size_t part, std::size_t whole, std::size_t bytes) {
  return whole == 0 ? 0
                    : static_cast<std::size_t>(static_cast<double>(part) / static_cast<double>(whole) *
                                               static_cast<double>(bytes));
}

std::string tokenize_body(const std::string& text) {
  const Json json = {{"content", text}, {"add_special", true}, {"parse_special", true}};
  return domain::text_of(json);
}

base::Result<Tokens> tokens_in(const Json& json) {
  const auto tokens = json.find("tokens");
  const bool usable = tokens != json.end() && tokens->is_array() &&
                      std::ranges::all_of(*tokens, [](const Json& token) { return token.is_number_integer(); });
  if (!usable) return base::fail(base::ErrorCode::engine_failed, "the engine's tokens cannot be read");
  return tokens->get<Tokens>();
}

}  // namespace

PromptUse::~PromptUse() {
  if (session_) session_->release(*this);
}

PrefixSession::PrefixSession(PrefixPlan plan, Parts parts) : plan_(std::move(plan)), parts_(std::move(parts)) {
  slots_.resize(plan_.slots);
}

void PrefixSession::attach(std::string socket_path, std::uint64_t generation) {
  socket_ = std::move(socket_path);
  if (generation == generation_) return;
  generation_ = generation;
  ours_.reset();
  for (auto& slot : slots_)
    slot = {};
  unassigned_ = 0;
  failures_.clear();
}

std::string PrefixSession::leave_to_engine(PromptUse& use, std::string_view path, std::string body) {
  if (use.generation_ == generation_) {  // otherwise its engine is gone
    use.unassigned_ = true;
    ++unassigned_;
    ++strangers_;
    forget_slots();
  }
  return plan_.exact ? without_reuse(path, std::move(body)) : body;
}

void PrefixSession::forget_slots() {
  for (auto& slot : slots_) {
    if (slot.busy) continue;
    slot.forget();
  }
}

void PrefixSession::tell(std::string what, std::string why, std::optional<base::Bytes> bytes) const {
  domain::Event event;
  event.at = parts_.clock.wall();
  event.what = std::move(what);
  event.model = plan_.model.text();
  event.layer = domain::Layer::prefix;
  event.bytes = bytes;
  event.why = std::move(why);
  parts_.on_event(std::move(event));
}

void PrefixSession::tell_once(std::string of, std::string what, std::string why) {
  if (told_.size() < kTold && told_.insert(std::move(of)).second) tell(std::move(what), std::move(why));
}

rt::Task<void> PrefixSession::prefetch() {
  if (ineffective() || reuses_nothing()) co_return;
  const std::string fingerprint = plan_.fingerprint;
  co_await parts_.pool.run([&] {
    base::Bytes left = kMostPrefetched;
    for (const auto& row : parts_.store.list()) {
      if (row.record.fingerprint != fingerprint || row.record.state_bytes > left) continue;
      left -= row.record.state_bytes;
      // What cannot be read ahead is read when it is needed.
      (void)parts_.pages.read_ahead(parts_.store.path_of(row.key));
    }
    return true;
  });
}

// The fingerprint was made of what the engine said of itself when it was found; a program replaced since then computes
// something else.
rt::Task<bool> PrefixSession::engine_is_ours() {
  if (ours_) co_return *ours_;
  const std::uint64_t generation = generation_;
  const auto props = co_await engine::call_engine(socket_, "/props", {}, kQuick);
  if (!props || generation != generation_) co_return false;  // asked again by the next request
  const auto build = props->value("build_info", std::string());
  const auto slots = props->value("total_slots", 0U);
  ours_ = build.find(plan_.engine_build) != std::string::npos && slots > 0;
  if (!*ours_)
    tell("prefix_engine_changed",
         fmt::format("the running engine calls itself {}, not {}; restart hearth", build, plan_.engine_build));
  // A slot beyond the last would be another one under a wrong name.
  if (*ours_ && slots < slots_.size()) slots_.resize(slots);
  co_return *ours_;
}

rt::Task<base::Result<PrefixSession::Rendered>> PrefixSession::render(std::string path, std::string body,
                                                                      std::chrono::milliseconds limit,
                                                                      domain::PrefixObservation* seen) {
  if (seen != nullptr) seen->template_began = seen->tokenize_began = parts_.clock.now();
  Rendered rendered;
  if (path == "/v1/chat/completions") {
    auto prompt = co_await engine::call_engine(socket_, "/apply-template", std::move(body), limit);
    if (!prompt) co_return base::pass(prompt);
    const auto text = prompt->find("prompt");
    if (text == prompt->end() || !text->is_string())
      co_return base::fail(base::ErrorCode::engine_failed, "the engine's template gives no text");
    rendered.text = text->get<std::string>();
    if (seen != nullptr) seen->tokenize_began = parts_.clock.now();
  } else {
    rendered.text = Json::parse(body).value("prompt", std::string());
  }
  std::string question = tokenize_body(rendered.text);
  auto answer = co_await engine::call_engine(socket_, "/tokenize", std::move(question), limit);
  if (!answer) co_return base::pass(answer);
  auto tokens = tokens_in(*answer);
  if (!tokens) co_return base::pass(tokens);
  if (seen != nullptr) seen->tokenized = parts_.clock.now();
  rendered.tokens = std::move(*tokens);
  co_return rendered;
}

// Asking for the tokens costs a few milliseconds: only where no slot holds most of the prompt and evaluating it takes
// longer, or the slot that does hold it would lose something that takes longer to make again, and where there is
// something to compare the tokens with.
bool PrefixSession::worth_asking(const std::string& text) const {
  if (plan_.exact) return plan_.rule && text.size() > kFewBytes;  // without tokens nothing is reused
  if (parts_.store.size() == 0 && recent_.empty()) return false;
  std::size_t most = 0;
  std::size_t lost = 0;
  for (const auto& slot : slots_) {
    const std::size_t common = common_bytes(slot.text, text);
    if (slot.busy || common < most) continue;
    lost = slot.text.size() - common;
    most = common;
  }
  const double ms_per_byte = speed_.ms_per_token().value_or(prefix::kUnmeasuredMsPerToken) / kBytesPerToken;
  const std::size_t lacking = text.size() - most;
  const double lost_ms = static_cast<double>(lost) * ms_per_byte;
  return lacking > kManyBytes || (lacking > kFewBytes && static_cast<double>(lacking) * ms_per_byte > kLongMs) ||
         prefix::tail_need(continued_, requests_) * lost_ms > kAskingMs;
}

// Engines with a sliding window or a recurrent state can go on from a state's end, not from before it.
bool PrefixSession::cannot_cut_back() const {
  return parts_.store.ineffective(plan_.model_digest, plan_.engine + kCutBack).has_value();
}

std::optional<Match> PrefixSession::look_up(const Tokens& tokens, std::size_t least) const {
  if (tokens.empty() || ineffective()) return std::nullopt;
  if (cannot_cut_back()) return parts_.store.find(plan_.fingerprint, tokens, least, kExactEnd);
  return parts_.store.find(plan_.fingerprint, tokens, least);
}

std::vector<prefix::SlotView> PrefixSession::views(const PromptUse& use) const {
  std::vector<prefix::SlotView> views;
  for (const auto& slot : slots_) {
    prefix::SlotView view{.busy = slot.busy,
                          .held = slot.text.size(),
                          .common = common_bytes(slot.text, use.text_),
                          .last_used = slot.last_used};
    if (!use.tokens_.empty() && !slot.tokens.empty()) {
      const std::size_t common = prefix::common_prefix(slot.tokens, use.tokens_);
      view.common = scaled(common, use.tokens_.size(), use.text_.size());
      view.held = view.common + scaled(slot.tokens.size() - common, use.tokens_.size(), use.text_.size());
    }
    if (plan_.exact) view.common = std::min(view.common, scaled(slot.alike, use.tokens_.size(), use.text_.size()));
    views.push_back(view);
  }
  return views;
}

rt::Task<std::string> PrefixSession::fit(std::string path, std::string body, PromptUse& use,
                                         domain::PrefixObservation& seen) {
  use.session_ = shared_from_this();
  use.generation_ = generation_;
  ++open_;
  auto text = prompt_text(path, body);
  bool ours = text.has_value() && unassigned_ == 0;
  if (ours) ours = co_await engine_is_ours();
  if (!ours) co_return leave_to_engine(use, path, std::move(body));
  use.text_ = std::move(*text);
  use.path_ = path;
  if (worth_asking(use.text_)) {
    auto rendered = co_await render(path, body, kQuick, &seen);
    if (rendered) {
      use.rendered_ = std::move(rendered->text);
      use.tokens_ = std::move(rendered->tokens);
    } else {
      spdlog::debug("{}: the prompt's tokens are not known: {}", plan_.model.text(), rendered.error().message);
    }
  }
  if (use.tokens_.empty()) use.body_ = body;
  const auto match = look_up(use.tokens_, kLeastRestored);
  const std::size_t usable_tokens = match ? usable(*match, use.tokens_.size()) : 0;
  const std::size_t restorable = scaled(usable_tokens, use.tokens_.size(), use.text_.size());
  // Nothing is awaited from here until the slot is taken.
  const auto choice =
      unassigned_ > 0 || use.generation_ != generation_
          ? std::nullopt
          : prefix::choose_slot(views(use), use.text_.size(), restorable, prefix::tail_need(continued_, requests_));
  if (!choice) co_return leave_to_engine(use, path, std::move(body));
  HeldSlot& slot = slots_[choice->slot];
  use.slot_ = choice->slot;
  use.strangers_ = strangers_;
  slot.busy = true;
  slot.last_used = ++uses_;
  ++requests_;
  if (!slot.text.empty() && use.text_.starts_with(slot.text)) ++continued_;
  if (match && restorable > choice->common + kFewBytes) co_await restore_for(use, *match, seen);
  if (plan_.exact) body = co_await fit_exactly(path, std::move(body), use);
  if (plan_.exact && use.match_) {
    seen.restored = parts_.clock.now();
    seen.restored_tokens = static_cast<std::int64_t>(*use.exact_);
    use.restore_ms_ = base::to_ms(*seen.restored - *seen.restore_began);
  }
  co_return with_slot(std::move(body), choice->slot);
}

rt::Task<void> PrefixSession::restore_for(PromptUse& use, Match match, domain::PrefixObservation& seen) {
  seen.restore_began = parts_.clock.now();
  const bool restored = co_await restore(*use.slot_, match);
  seen.restored = parts_.clock.now();
  if (!restored) co_return;
  seen.restored_tokens = static_cast<std::int64_t>(match.tokens);
  seen.restored_bytes = match.bytes;
  use.restore_ms_ = base::to_ms(*seen.restored - *seen.restore_began);
  use.match_ = std::move(match);
}

// The state is compared with its checksum first; a failed restore leaves the slot empty.
rt::Task<bool> PrefixSession::restore(unsigned slot, Match match) {
  const std::uint64_t generation = generation_;
  const auto file = co_await parts_.pool.run([&] { return parts_.store.verify(match.key); });
  if (!file || generation != generation_) co_return false;
  std::string body = engine::slot_file(*file);
  const auto answer =
      co_await engine::call_engine(socket_, engine::slot_target(slot, "restore"), std::move(body), kRestoring);
  if (generation != generation_) co_return false;
  slots_[slot].forget();
  if (answer && answer->value("n_restored", std::size_t{0}) == match.state_tokens) co_return true;
  tell("prefix_restore_failed", answer ? "the engine restored another number of tokens" : answer.error().message);
  co_return false;
}

void PrefixSession::conclude(PromptUse& use, domain::RequestObservation& observation) {
  if (!use.session_ || use.concluded_) return;
  use.concluded_ = true;
  const auto& timings = observation.timings;
  if (timings) speed_.learn(*timings);
  if (!use.slot_ || use.generation_ != generation_) return;
  HeldSlot& slot = slots_[*use.slot_];
  slot.forget();
  if (!timings) return;  // given up midway: what the slot holds is not known
  judge_restore(use, observation);
  tell_change(use, observation);
  const std::size_t alike = alike_after(use, *timings);
  if (use.strangers_ == strangers_) {
    slot.text = use.text_;
    slot.tokens = use.tokens_;
    slot.alike = alike;
  }
  remember(use);
}

// The engine evaluates at least one token of every prompt, and more where a state's end falls within what it had not
// computed; half of it unused is another thing: it does not use what it restored.
void PrefixSession::judge_restore(PromptUse& use, domain::RequestObservation& observation) {
  if (!use.match_) return;
  const auto used = observation.timings->cached_tokens;
  const auto expected =
      static_cast<std::int64_t>(std::min(use.match_->tokens, use.exact_.value_or(use.match_->tokens)));
  if (used * 2 < expected) {
    if (use.strangers_ != strangers_) return;  // another request may have had the slot in between
    const bool cut = use.match_->state_tokens > use.match_->tokens + kExactEnd;
    const std::string why =
        fmt::format("{} with {} does not use restored states{}: {} tokens were restored and {} of them used; {}",
                    plan_.model.text(), plan_.engine, cut ? " that go on differently" : "", expected, used,
                    cut ? "only states that end with a prefix are restored for it"
                        : "prefixes are neither restored nor saved for it");
    parts_.store.set_ineffective(plan_.model_digest, plan_.engine + (cut ? kCutBack : ""), why);
    observation.prefix.broken = why;
    return;
  }
  const auto known = speed_.ms_per_token();
  const auto speed = known ? known : use.match_->prefill_ms_per_token;
  if (speed) observation.prefix.saved_ms = *speed * static_cast<double>(std::min(used, expected)) - use.restore_ms_;
  used_.push_back(use.match_->key);
}

// Where most of a prompt was evaluated though an earlier one is almost the same: what stands in between.
void PrefixSession::tell_change(const PromptUse& use, domain::RequestObservation& observation) {
  const auto& timings = *observation.timings;
  if (observation.prefix.broken) return;  // an engine that does not use its states is the nearer cause
  if (use.tokens_.empty() || timings.cached_tokens >= timings.prompt_tokens) return;
  const Recent* nearest = nullptr;
  std::size_t most = 0;
  for (const auto& recent : recent_) {
    const std::size_t common = prefix::common_prefix(recent.tokens, use.tokens_);
    if (common < most) continue;
    most = common;
    nearest = &recent;
  }
  if (nearest == nullptr) return;
  const auto change = prefix::find_change(nearest->rendered, nearest->tokens, use.rendered_, use.tokens_);
  if (!change) return;
  const double ms = timings.prompt_ms / static_cast<double>(std::max<std::int64_t>(timings.prompt_tokens, 1)) *
                    static_cast<double>(change->tokens);
  observation.prefix.broken = fmt::format(
      "your prompt changes at token {}: {} (\"{}\" became \"{}\"); move it to the end, {} tokens after it were "
      "evaluated again",
      change->token, prefix::phrase_of(change->kind), change->before, change->after, change->tokens);
  observation.prefix.broken_ms = ms;
  tell_once(fmt::format("{} {}", change->token, prefix::phrase_of(change->kind)), "prefix_broken",
            fmt::format("{}, which took {:.0f} ms", *observation.prefix.broken, ms));
}

// For idle moments: what passed, to find out what repeats.
void PrefixSession::remember(PromptUse& use) {
  if (!use.tokens_.empty()) {
    if (use.rendered_.size() <= kLongestRecent) keep_recent(std::move(use.rendered_), use.tokens_);
    note_tokens(std::move(use.tokens_));
    return;
  }
  const bool again = std::ranges::any_of(unread_, [&](const Unread& unread) { return unread.text == use.text_; });
  // The second of two equal prompts says that they repeat; more of them say no more.
  if (again && std::ranges::count(unread_, use.text_, &Unread::text) > 1) return;
  unread_.push_back({use.path_, std::move(use.body_), use.text_});
  if (unread_.size() > kUnreadKept) unread_.pop_front();
}

void PrefixSession::keep_recent(std::string rendered, Tokens tokens) {
  recent_.push_back({std::move(rendered), std::move(tokens)});
  if (recent_.size() > kRecentKept) recent_.pop_front();
}

void PrefixSession::note_tokens(Tokens tokens) {
  Tokens prompt = tokens;
  const auto repeated = discovery_.note(std::move(tokens));
  if (!repeated || ineffective()) return;
  prompt.resize(*repeated);
  if (is_stored(prompt)) return;
  wanted_.push_back(std::move(prompt));
  if (wanted_.size() > kWantedKept) wanted_.pop_front();
}

void PrefixSession::release(PromptUse& use) {
  --open_;
  if (use.generation_ != generation_) return;
  if (use.unassigned_) --unassigned_;
  if (!use.slot_) return;
  HeldSlot& slot = slots_[*use.slot_];
  slot.busy = false;
  if (use.concluded_ && use.strangers_ == strangers_) return;
  slot.forget();
}

domain::PrefixHeld PrefixSession::held() const {
  const auto totals = parts_.store.totals(plan_.fingerprint);
  domain::PrefixHeld held{.tokens_memory = 0, .tokens_disk = totals.tokens, .bytes_disk = totals.bytes};
  for (const auto& slot : slots_)
    held.tokens_memory += slot.tokens.size();
  return held;
}

std::optional<std::string> PrefixSession::why_not_stored(const std::string& declared_id) const {
  const auto failure = failures_.find(declared_id);
  if (failure == failures_.end()) return std::nullopt;
  return failure->second.why;
}

std::optional<Match> PrefixSession::stored(const std::string& declared_id) const {
  const auto tokens = declared_tokens_.find(declared_id);
  if (tokens == declared_tokens_.end()) return std::nullopt;
  auto match = look_up(tokens->second, 1);
  if (match && match->tokens == tokens->second.size()) return match;
  return std::nullopt;
}

}  // namespace hearth::keeper
