// What a PrefixSession does when its model is idle: reading what passed, saving what repeats, computing what was
// declared.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/scope_exit.h"
#include "domain/json_text.h"
#include "engine/engine_call.h"
#include "keeper/prefix_session.h"
#include "keeper/prefix_tier.h"
#include "prefix/worth.h"

namespace hearth::keeper {

using base::ErrorCode;
using domain::Json;
using prefix::Match;
using prefix::Tokens;

namespace {

constexpr std::chrono::seconds kAsking{5};
constexpr std::chrono::seconds kSaving{60};
constexpr std::chrono::minutes kEvaluating{10};
constexpr std::chrono::seconds kGivingWay{30};  // the longest step: 128 tokens, or a file
// How many tokens are evaluated in one go: a request that comes meanwhile waits for so many at most.
constexpr std::size_t kStep = 128;
// With fewer tokens in one go the engine's flash attention on a CPU computes in another way, whose results differ in
// their last bits (llama-server b11669, found by comparing). No step is shorter, so that a state that was computed for
// a declared prefix is, bit for bit, what a whole prompt leaves behind.
constexpr std::size_t kLeastStep = 64;
// A stored state that lacks so few tokens of a prefix serves it as well.
constexpr std::size_t kCloseEnough = 16;
// What follows the prefix in its slot is put aside and brought back when evaluating it again would take longer.
constexpr double kTailWorthKeepingMs = 300;

constexpr const char* kAnswering = "the model is answering; its prefixes can go when it is done";

std::string evaluate_body(prefix::TokenView tokens, unsigned slot) {
  const Json json = {{"prompt", std::vector<prefix::Token>(tokens.begin(), tokens.end())},
                     {"n_predict", 0},
                     {"cache_prompt", true},
                     {"id_slot", slot}};
  return json.dump();
}

// The declared messages, and then one more that begins unlike any other variant's.
std::string variant_of(const Json& request, std::string_view more) {
  Json json = request;
  if (json.contains("messages")) {
    const Json user = {{"role", "user"}, {"content", more}};
    json["messages"].push_back(user);
  } else {
    json["prompt"] = json.value("prompt", std::string()) + std::string(more);
  }
  return domain::text_of(json);
}

std::unexpected<base::Error> gave_way() {
  return base::fail(ErrorCode::in_use, "a request came, which goes first; the prefix is saved when the model is idle");
}

}  // namespace

rt::Task<void> PrefixSession::settle(bool hurry) {
  if (hurry && settling_) {
    pause_work();
    const base::ScopeExit resumed([this] { resume_work(); });
    co_await work_ended();
  }
  co_await do_idle_work(hurry);
}

rt::Task<void> PrefixSession::work_ended() {
  const auto limit = std::chrono::steady_clock::now() + kGivingWay;
  if (!settled_) settled_.emplace(co_await rt::asio::this_coro::executor);
  while (settling_) {
    const bool told = co_await settled_->wait_until(limit);
    if (!told) co_return;
  }
}

rt::Task<void> PrefixSession::do_idle_work(bool hurry) {
  if (settling_ || socket_.empty()) co_return;
  settling_ = true;
  const base::ScopeExit settled([this] {
    settling_ = false;
    gave_way_ = open_ == 0 && !quiet();
    if (settled_) settled_->notify_all();
  });
  if (std::vector<std::string> used = std::exchange(used_, {}); !used.empty()) {
    co_await parts_.pool.run([this, &used] {
      for (const auto& key : used)
        parts_.store.note_use(key);
      return true;
    });
  }
  if (ineffective() || reuses_nothing() || !(hurry || quiet())) co_return;
  const bool ours = co_await engine_is_ours();
  if (!ours) co_return;
  co_await learn(hurry);
  co_await save_wanted(hurry);
  if (hurry) co_return;
  co_await compute_declared();
  co_await preload();
}

// The tokens of what passed without anybody asking for them.
rt::Task<void> PrefixSession::learn(bool hurry) {
  while (!unread_.empty() && (hurry || quiet())) {
    Unread unread = std::move(unread_.front());
    unread_.pop_front();
    auto rendered = co_await render(unread.path, unread.body, kAsking, nullptr);
    if (!rendered) {
      spdlog::debug("{}: a prompt cannot be read: {}", plan_.model.text(), rendered.error().message);
      co_return;
    }
    for (auto& slot : slots_) {
      if (!slot.text.empty() && slot.text == unread.text && !slot.busy) slot.tokens = rendered->tokens;
    }
    keep_recent(std::move(rendered->text), rendered->tokens);
    note_tokens(std::move(rendered->tokens));
  }
}

bool PrefixSession::is_stored(const Tokens& tokens) const {
  const auto match = look_up(tokens, 1);
  return match && match->tokens + kCloseEnough >= tokens.size();
}

rt::Task<void> PrefixSession::save_wanted(bool hurry) {
  while (!wanted_.empty() && (hurry || quiet())) {
    Tokens tokens = std::move(wanted_.back());
    wanted_.pop_back();
    if (is_stored(tokens)) continue;
    Tokens again = tokens;
    auto saving = co_await plan_saving(std::move(tokens), prefix::Origin::discovered, {});
    if (!saving) {
      tell_failure({}, saving.error());
      continue;
    }
    auto saved = co_await save(std::move(*saving), hurry);
    if (saved) continue;
    if (saved.error().code != ErrorCode::in_use) {
      tell_failure({}, saved.error());
      continue;
    }
    wanted_.push_back(std::move(again));
    co_return;
  }
}

rt::Task<base::Result<Tokens>> PrefixSession::tokens_of(DeclaredPrefix declared) {
  if (const auto known = declared_tokens_.find(declared.id); known != declared_tokens_.end()) co_return known->second;
  const std::string path = declared.request.contains("messages") ? "/v1/chat/completions" : "/v1/completions";
  std::string first = variant_of(declared.request, "\nA");
  std::string second = variant_of(declared.request, " 9");
  auto one = co_await render(path, std::move(first), kAsking, nullptr);
  if (!one) co_return base::pass(one, "reading the declared prefix " + declared.name);
  auto other = co_await render(path, std::move(second), kAsking, nullptr);
  if (!other) co_return base::pass(other, "reading the declared prefix " + declared.name);
  Tokens tokens = std::move(one->tokens);
  tokens.resize(whole_groups(prefix::common_prefix(tokens, other->tokens)));
  if (tokens.empty())
    co_return base::fail(ErrorCode::bad_request,
                         "the declared prefix " + declared.name + " is not the beginning of a prompt");
  declared_tokens_[declared.id] = tokens;
  co_return tokens;
}

rt::Task<void> PrefixSession::compute_declared() {
  const std::vector<DeclaredPrefix> all = parts_.declared();
  for (const auto& declared : all) {
    if (!quiet()) co_return;
    if (const auto failed = failures_.find(declared.id); failed != failures_.end() && failed->second.final) continue;
    auto tokens = co_await tokens_of(declared);
    if (!quiet()) co_return;
    if (!tokens) {
      note_failure(declared.id, tokens.error(), false);
      continue;
    }
    if (stored(declared.id)) continue;
    auto saving = co_await plan_saving(std::move(*tokens), prefix::Origin::declared, declared.name);
    if (!saving) {
      note_failure(declared.id, saving.error(), false);
      continue;
    }
    auto saved = co_await save(std::move(*saving), false);
    if (!saved && saved.error().code == ErrorCode::in_use) co_return;
    if (saved)
      failures_.erase(declared.id);
    else
      note_failure(declared.id, saved.error(), true);  // after all of it was evaluated
  }
}

void PrefixSession::note_failure(const std::string& declared_id, base::Error error, bool final) {
  tell_failure(declared_id, error);
  failures_[declared_id] = {std::move(error.message), final};
}

// The words have sizes in them, which change.
void PrefixSession::tell_failure(const std::string& declared_id, const base::Error& error) {
  tell_once(fmt::format("{} {}", declared_id, name_of(error.code)), "prefix_save_failed", error.message);
}

// What was declared in other words before, or is kept under another fingerprint, is nobody's any more.
bool PrefixSession::is_of_declaration(const prefix::IndexRow& row) const {
  const auto& record = row.record;
  if (record.origin != prefix::Origin::declared || !parts_.is_declared(record.model, record.name)) return false;
  if (record.model != plan_.model.text()) return true;
  if (record.fingerprint != plan_.fingerprint) return false;
  const std::string id = PrefixTier::id_of(plan_.model, record.name);
  if (!declared_tokens_.contains(id)) return true;
  const auto match = stored(id);
  return match && match->key == row.key;
}

rt::Task<prefix::Keys> PrefixSession::declared_keys() {
  const auto rows = co_await parts_.pool.run([this] { return parts_.store.list(); });
  prefix::Keys keys;
  for (const auto& row : rows) {
    if (is_of_declaration(row)) keys.insert(row.key);
  }
  co_return keys;
}

rt::Task<base::Result<prefix::Saving>> PrefixSession::plan_saving(Tokens tokens, prefix::Origin origin,
                                                                  std::string name) {
  prefix::Saving saving;
  saving.fingerprint = plan_.fingerprint;
  saving.tokens = std::move(tokens);
  saving.tokens.resize(whole_groups(saving.tokens.size()));
  saving.origin = origin;
  saving.name = std::move(name);
  saving.model = plan_.model.text();
  saving.engine = plan_.engine;
  saving.spared = co_await declared_keys();
  auto room = co_await parts_.pool.run(
      [&] { return parts_.store.room_for(saving.fingerprint, saving.tokens.size() + 1, saving.spared); });
  if (!room) co_return base::pass(room);
  co_return saving;
}

// After a start every slot is empty: what is worth most is put there before anybody asks.
rt::Task<void> PrefixSession::preload() {
  const bool empty = std::ranges::all_of(
      slots_, [](const HeldSlot& slot) { return !slot.busy && slot.last_used == 0 && slot.tokens.empty(); });
  if (!empty || slots_.empty() || !quiet()) co_return;
  const auto rows = co_await parts_.pool.run([this] { return parts_.store.list(); });
  const auto best =
      std::ranges::find(rows, plan_.fingerprint, [](const prefix::IndexRow& row) { return row.record.fingerprint; });
  if (best == rows.end() || !quiet() || slots_[0].busy) co_return;
  auto row = co_await parts_.pool.run([&] { return parts_.store.row(best->key); });
  if (!row || !quiet() || slots_[0].busy) co_return;
  const Moment begun = moment();
  slots_[0].busy = true;
  const base::ScopeExit free([this, begun] {
    if (begun.generation == generation_) slots_[0].busy = false;
  });
  Match match{row->key, row->record.tokens.size(), row->record.tokens.size(), row->record.state_bytes,
              row->record.prefill_ms_per_token};
  const bool restored = co_await restore(0, std::move(match));
  if (!restored || !still(begun)) co_return;
  slots_[0].tokens = std::move(row->record.tokens);
  slots_[0].alike = plan_.exact ? alike_in(slots_[0].tokens.size()) : 0;
}

// The free slot that holds most of these tokens; of those that hold none, the one used longest ago.
std::optional<unsigned> PrefixSession::slot_for(const Tokens& tokens) const {
  std::optional<unsigned> best;
  std::size_t most = 0;
  for (unsigned index = 0; index < slots_.size(); ++index) {
    const HeldSlot& slot = slots_[index];
    if (slot.busy) continue;
    const std::size_t common = prefix::common_prefix(slot.tokens, tokens);
    if (best && (common < most || (common == most && slot.last_used >= slots_[*best].last_used))) continue;
    best = index;
    most = common;
  }
  return best;
}

// One token more than the prefix is evaluated and saved, one that does not follow it: the engine always evaluates the
// last token of a prompt anew, by itself, and nothing that is reused is to be computed in another way than a request
// would. Its own last token again rarely follows a prefix.
rt::Task<base::Status> PrefixSession::save(prefix::Saving saving, bool hurry) {
  if (saving.tokens.empty()) co_return base::Status{};
  if (!hurry && !quiet()) co_return gave_way();
  const auto slot = slot_for(saving.tokens);
  if (!slot) co_return gave_way();
  const std::size_t held = prefix::common_prefix(slots_[*slot].tokens, saving.tokens);
  const bool there = held == saving.tokens.size() && (!plan_.exact || slots_[*slot].alike >= held);
  if (hurry && !there) co_return base::Status{};  // no time to compute anything anew
  saving.tokens.push_back(saving.tokens.back());
  const Moment begun = moment();
  slots_[*slot].busy = true;
  const base::ScopeExit free([this, begun, index = *slot] {
    if (begun.generation == generation_) slots_[index].busy = false;
  });
  auto saved = co_await save_from(*slot, std::move(saving), hurry);
  // Whoever came in between, or took the engine away, may be all that was wrong.
  if (!saved && !may_go_on(begun)) co_return gave_way();
  co_return saved;
}

// The slot is cut back to the prefix, saved, and given back what it held beyond it where that is worth two file copies.
rt::Task<base::Status> PrefixSession::save_from(unsigned slot, prefix::Saving saving, bool hurry) {
  const Moment begun = moment();
  const std::size_t held = prefix::common_prefix(slots_[slot].tokens, saving.tokens);
  const std::size_t tail = slots_[slot].tokens.size() - held;
  const bool keeps_tail =
      !hurry &&
      static_cast<double>(tail) * speed_.ms_per_token().value_or(prefix::kUnmeasuredMsPerToken) > kTailWorthKeepingMs;
  const std::string fingerprint = saving.fingerprint;
  std::string aside;
  if (keeps_tail) {
    auto part = co_await parts_.pool.run(
        [&] { return parts_.store.begin_save(fingerprint, slots_[slot].tokens.size(), saving.spared); });
    if (part) aside = std::move(*part);  // without room for it it is evaluated again, when it is needed
  }
  if (!aside.empty()) {
    std::string body = engine::slot_file(aside);
    const auto put_aside =
        co_await engine::call_engine(socket_, engine::slot_target(slot, "save"), std::move(body), kSaving);
    if (!put_aside || !may_go_on(begun)) {
      co_await parts_.pool.run([&] { return parts_.store.give_up(fingerprint, aside), true; });
      if (!put_aside) co_return std::unexpected(put_aside.error());
      co_return gave_way();
    }
  }
  HeldSlot before = slots_[slot];
  const Tokens tokens = saving.tokens;
  base::Status done;
  const std::size_t start = plan_.exact ? exact_start(before, held, tokens.size()) : held;
  // Behind what is known of the slot lies an answer, which these tokens may go on with.
  const bool more = plan_.exact && start + 1 < tokens.size() && held == before.tokens.size();
  if (start < held || more) done = co_await cut_back(slot, tokens, start);
  if (done) done = co_await evaluate(slot, tokens, start, hurry);
  if (done) done = co_await store_slot(slot, std::move(saving));
  const bool known = done && still(begun);
  if (begun.generation == generation_) {
    // As much of the text as the tokens are of it: it is only compared, to choose.
    const bool cut = known && tokens.size() < before.tokens.size();
    slots_[slot].text = cut ? before.text.substr(0, before.text.size() * tokens.size() / before.tokens.size()) : "";
    slots_[slot].tokens = known ? tokens : Tokens{};
    slots_[slot].alike = known && plan_.exact ? alike_in(tokens.size()) : 0;
  }
  if (aside.empty()) co_return done;
  std::string body = engine::slot_file(aside);
  const auto back =
      co_await engine::call_engine(socket_, engine::slot_target(slot, "restore"), std::move(body), kSaving);
  co_await parts_.pool.run([&] { return parts_.store.give_up(fingerprint, aside), true; });
  if (begun.generation != generation_) co_return done;
  slots_[slot].forget();
  if (back && still(begun)) {
    slots_[slot].text = std::move(before.text);
    slots_[slot].tokens = std::move(before.tokens);
    slots_[slot].alike = before.alike;
  }
  co_return done;
}

// Evaluates what the slot does not hold yet, in steps, and cuts it back to exactly these tokens.
rt::Task<base::Status> PrefixSession::evaluate(unsigned slot, const Tokens& tokens, std::size_t held, bool hurry) {
  const Moment begun = moment();
  std::size_t at = held;
  do {
    at = std::min(at + kStep, tokens.size());
    if (tokens.size() - at < kLeastStep) at = tokens.size();
    std::string body = evaluate_body(prefix::TokenView(tokens).first(at), slot);
    const auto answer = co_await engine::call_engine(socket_, "/completion", std::move(body), kEvaluating);
    if (!answer) co_return std::unexpected(answer.error());
    if (begun.generation != generation_)
      co_return base::fail(ErrorCode::cancelled, "the engine was stopped while a prefix was computed");
    if (const auto timings = answer->find("timings"); timings != answer->end() && timings->is_object()) {
      domain::EngineTimings seen;
      seen.prompt_tokens = timings->value("prompt_n", std::int64_t{0});
      seen.prompt_ms = timings->value("prompt_ms", 0.0);
      speed_.learn(seen);
    }
    if (!hurry && !may_go_on(begun)) co_return gave_way();
  } while (at < tokens.size());
  co_return base::Status{};
}

rt::Task<base::Status> PrefixSession::store_slot(unsigned slot, prefix::Saving saving) {
  saving.prefill_ms_per_token = speed_.ms_per_token();
  const std::string fingerprint = saving.fingerprint;
  const std::size_t count = saving.tokens.size();
  auto part = co_await parts_.pool.run([&] { return parts_.store.begin_save(fingerprint, count, saving.spared); });
  if (!part) co_return base::pass(part);
  const base::Mono begun = parts_.clock.now();
  std::string body = engine::slot_file(*part);
  const auto answer =
      co_await engine::call_engine(socket_, engine::slot_target(slot, "save"), std::move(body), kSaving);
  if (!answer || answer->value("n_saved", std::size_t{0}) != count) {
    co_await parts_.pool.run([&] { return parts_.store.give_up(fingerprint, *part), true; });
    if (!answer) co_return std::unexpected(answer.error());
    co_return base::fail(ErrorCode::engine_failed,
                         "the engine saved another number of tokens than it was told to evaluate");
  }
  const auto written = answer->value("n_written", base::Bytes{0});
  auto kept = co_await parts_.pool.run([&] { return parts_.store.commit(*part, std::move(saving), written); });
  if (!kept) co_return base::pass(kept);
  spdlog::debug("{}: a prefix of {} tokens was saved in {:.0f} ms", plan_.model.text(), count,
                base::to_ms(parts_.clock.now() - begun));
  co_return base::Status{};
}

rt::Task<base::Result<domain::LayerWork>> PrefixSession::warm() {
  const base::Mono begun = parts_.clock.now();
  if (const auto why = ineffective()) co_return base::fail(ErrorCode::unsupported, *why);
  ++on_purpose_;
  const base::ScopeExit done([this] { --on_purpose_; });
  failures_.clear();
  co_await settle(false);
  domain::LayerWork work;
  work.ms = base::to_ms(parts_.clock.now() - begun);
  work.bytes = held().bytes_disk;
  co_return work;
}

// Nobody is given the slot meanwhile.
rt::Task<base::Status> PrefixSession::erase(unsigned slot) {
  const std::uint64_t generation = generation_;
  slots_[slot].busy = true;
  slots_[slot].forget();
  const base::ScopeExit free([this, generation, slot] {
    if (generation == generation_) slots_[slot].busy = false;
  });
  auto erased = co_await engine::call_engine(socket_, engine::slot_target(slot, "erase"), "{}", kAsking);
  if (!erased) co_return base::pass(erased);
  co_return base::Status{};
}

rt::Task<base::Result<domain::LayerWork>> PrefixSession::cool() {
  const base::Mono begun = parts_.clock.now();
  if (open_ > 0) co_return base::fail(ErrorCode::in_use, kAnswering);
  wanted_.clear();
  unread_.clear();
  for (unsigned index = 0; index < slots_.size() && !socket_.empty(); ++index) {
    if (slots_[index].busy || unassigned_ > 0) co_return base::fail(ErrorCode::in_use, kAnswering);
    auto erased = co_await erase(index);
    if (!erased) co_return base::pass(erased);
  }
  domain::LayerWork work;
  work.bytes = held().bytes_disk;
  const std::string fingerprint = plan_.fingerprint;
  const auto removed = co_await parts_.pool.run([&]() -> base::Status {
    for (const auto& row : parts_.store.list()) {
      if (row.record.fingerprint != fingerprint) continue;
      if (auto gone = parts_.store.remove(row.key); !gone) return base::pass(gone);
    }
    return {};
  });
  if (!removed) co_return std::unexpected(removed.error());
  work.ms = base::to_ms(parts_.clock.now() - begun);
  co_return work;
}

}  // namespace hearth::keeper
