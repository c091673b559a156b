#pragma once
// The prefix tier of one model: which slot of its engine holds what, what is restored before a request and saved after
// it.
//
// Before a request it chooses a slot and, where a stored state spares most of the prompt, restores it there; none of
// this can fail the request, and each question to the engine has its deadline. When the model is idle it looks at what
// passed, saves the beginnings that repeat and those that were declared, and gives way as soon as a request comes. What
// it believes of the slots is only ever used to choose: whether a state was used is read from the engine's own count
// (cache_n). A request whose slot the engine chose may land in any: what was believed of one, or was to be judged of
// it, ends with such a request.
//
// Thread: the I/O thread; disk work runs on the pool. Shared by the Resident and by every request's use of it.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "domain/json.h"
#include "domain/layer_work.h"
#include "domain/request.h"
#include "keeper/prefill_speed.h"
#include "keeper/prefix_plan.h"
#include "prefix/discovery.h"
#include "prefix/slot_choice.h"
#include "prefix/store.h"
#include "rt/blocking_pool.h"
#include "rt/notice.h"
#include "sys/pages.h"

namespace hearth::keeper {

class PrefixSession;

// One request's use of the session; letting go of it frees its slot.
class PromptUse {
 public:
  PromptUse() = default;
  ~PromptUse();
  PromptUse(const PromptUse&) = delete;
  PromptUse& operator=(const PromptUse&) = delete;

 private:
  friend class PrefixSession;
  std::shared_ptr<PrefixSession> session_;
  std::uint64_t generation_ = 0;
  std::optional<unsigned> slot_;      // empty: the engine chooses, or none is chosen yet
  bool unassigned_ = false;           // the engine chooses
  std::uint64_t strangers_ = 0;       // of the session, when the slot was taken
  std::optional<std::size_t> exact_;  // tokens that it may reuse; empty: as many as there are
  bool concluded_ = false;
  std::string path_;
  std::string body_;      // kept where its tokens are not known yet
  std::string text_;      // prompt_text()
  std::string rendered_;  // with its tokens, where the engine was asked for them
  prefix::Tokens tokens_;
  std::optional<prefix::Match> match_;  // what was restored for it
  double restore_ms_ = 0;
};

class PrefixSession : public std::enable_shared_from_this<PrefixSession> {
 public:
  struct Parts {
    prefix::Store& store;
    rt::BlockingPool& pool;
    sys::Pages& pages;
    const base::Clock& clock;
    std::function<std::vector<DeclaredPrefix>()> declared;  // of this model, as they are now
    // Whether a prefix of that model and name is declared now.
    std::function<bool(const std::string& model, const std::string& name)> is_declared;
    std::function<void(domain::Event)> on_event;
  };
  PrefixSession(PrefixPlan plan, Parts parts);

  [[nodiscard]] const PrefixPlan& plan() const { return plan_; }
  // Where the engine is now. Another generation is another process: its slots are empty.
  void attach(std::string socket_path, std::uint64_t generation);
  // The engine is gone.
  void detach() { attach({}, 0); }

  // Reads what will probably be restored into the page cache, worth most first.
  [[nodiscard]] rt::Task<void> prefetch();
  // The body to send. Always gives one.
  [[nodiscard]] rt::Task<std::string> fit(std::string path, std::string body, PromptUse& use,
                                          domain::PrefixObservation& seen);
  // The engine's answer was seen to its end, or not: what its timings say of the slot and of a restored state.
  void conclude(PromptUse& use, domain::RequestObservation& observation);

  // The work of idle moments. `hurry`: the engine is about to go, so only what would be lost with it.
  [[nodiscard]] rt::Task<void> settle(bool hurry);
  // The work of idle moments gives way as soon as this says no, which is asked between its steps.
  void work_only_while(std::function<bool()> may_work) { may_work_ = std::move(may_work); }
  // What was done last of it gave way, and not to a request of this model, whose end brings another moment.
  [[nodiscard]] bool gave_way_to_others() const { return gave_way_; }
  // No work of idle moments until it is told to go on, as often; what is under way gives way.
  void pause_work() { ++paused_; }
  void resume_work() { --paused_; }
  // Until what is under way has given way, for half a minute at most. REQUIRES: paused.
  [[nodiscard]] rt::Task<void> work_ended();
  // On purpose: the state that is worth most into a slot, and the declared ones computed; everything dropped.
  [[nodiscard]] rt::Task<base::Result<domain::LayerWork>> warm();
  [[nodiscard]] rt::Task<base::Result<domain::LayerWork>> cool();

  [[nodiscard]] domain::PrefixHeld held() const;
  // Why states are not used with this model and engine; empty where they are.
  [[nodiscard]] std::optional<std::string> ineffective() const {
    return parts_.store.ineffective(plan_.model_digest, plan_.engine);
  }
  // The key of the stored state that covers a declared prefix; empty while there is none.
  [[nodiscard]] std::optional<prefix::Match> stored(const std::string& declared_id) const;
  // Why there is none, where it was tried.
  [[nodiscard]] std::optional<std::string> why_not_stored(const std::string& declared_id) const;
  // It was declared anew: its tokens are to be found out again.
  void forget_declared(const std::string& declared_id) {
    declared_tokens_.erase(declared_id);
    failures_.erase(declared_id);
  }

 private:
  friend class PromptUse;
  struct HeldSlot {
    bool busy = false;
    std::string text;       // prompt_text of what it holds; empty: nothing, or not known
    prefix::Tokens tokens;  // the same as tokens, where they are known
    std::size_t alike = 0;  // of these, the first ones, that were computed as an uncached run computes them (exact)
    std::uint64_t last_used = 0;
    void forget() { text.clear(), tokens.clear(), alike = 0; }
  };
  struct Unread {  // a prompt that passed and whose tokens nobody asked for yet
    std::string path, body, text;
  };
  struct Recent {
    std::string rendered;
    prefix::Tokens tokens;
  };
  struct Rendered {
    std::string text;
    prefix::Tokens tokens;
  };
  // What the slots hold is as it was, but for what was done on purpose, while this is so.
  struct Moment {
    std::uint64_t generation = 0;
    std::uint64_t strangers = 0;
    friend bool operator==(const Moment&, const Moment&) = default;
  };
  struct Failure {
    std::string why;
    bool final = false;  // not tried again with this process
  };

  // Requests (prefix_session.cpp)
  [[nodiscard]] rt::Task<bool> engine_is_ours();
  [[nodiscard]] rt::Task<base::Result<Rendered>> render(std::string path, std::string body,
                                                        std::chrono::milliseconds limit,
                                                        domain::PrefixObservation* seen);
  [[nodiscard]] bool worth_asking(const std::string& text) const;
  // What of the stored states this engine would use for these tokens.
  [[nodiscard]] std::optional<prefix::Match> look_up(const prefix::Tokens& tokens, std::size_t least) const;
  [[nodiscard]] bool cannot_cut_back() const;
  [[nodiscard]] std::vector<prefix::SlotView> views(const PromptUse& use) const;
  [[nodiscard]] rt::Task<bool> restore(unsigned slot, prefix::Match match);
  [[nodiscard]] rt::Task<void> restore_for(PromptUse& use, prefix::Match match, domain::PrefixObservation& seen);
  void judge_restore(PromptUse& use, domain::RequestObservation& observation);

  // Exact answers (prefix_exact.cpp)
  [[nodiscard]] bool reuses_nothing() const { return plan_.exact && !plan_.rule; }
  // Of so many tokens those that a state for exact answers may end with.
  [[nodiscard]] std::size_t whole_groups(std::size_t tokens) const {
    return plan_.exact && plan_.rule ? tokens - tokens % plan_.rule->group : tokens;
  }
  // How much of this match an exact answer may reuse; otherwise all of it.
  [[nodiscard]] std::size_t usable(const prefix::Match& match, std::size_t prompt) const;
  // The same of what a slot holds, and what the engine would reuse by itself; empty: not known.
  struct SlotReuse {
    std::size_t exact = 0;
    std::optional<std::size_t> own;
  };
  [[nodiscard]] SlotReuse slot_reuse(const PromptUse& use) const;
  // Cuts the slot back to what may be reused; the body to send.
  [[nodiscard]] rt::Task<std::string> fit_exactly(std::string path, std::string body, PromptUse& use);
  // The slot holds exactly so many of these tokens afterwards, fewer than all, and one that follows otherwise; or
  // nothing. What was known of it is forgotten. Errors: of the engine; bad_request where no token is another.
  [[nodiscard]] rt::Task<base::Status> cut_back(unsigned slot, const prefix::Tokens& tokens, std::size_t count);
  // Of a state of so many tokens that was made for exact answers, those that are alike: not its last, which follows
  // none.
  [[nodiscard]] static std::size_t alike_in(std::size_t state_tokens) { return state_tokens - (state_tokens > 0); }
  // Where evaluating these tokens may go on from, of `held` ones.
  [[nodiscard]] std::size_t exact_start(const HeldSlot& slot, std::size_t held, std::size_t tokens) const;
  // What the slot holds once the request was seen to its end; an answer that reused another number of tokens is told.
  [[nodiscard]] std::size_t alike_after(const PromptUse& use, const domain::EngineTimings& timings);
  void tell_change(const PromptUse& use, domain::RequestObservation& observation);
  void remember(PromptUse& use);
  void keep_recent(std::string rendered, prefix::Tokens tokens);
  void note_tokens(prefix::Tokens tokens);
  void release(PromptUse& use);
  void forget_slots();
  // The engine chooses the slot of this request; the body as it goes there.
  [[nodiscard]] std::string leave_to_engine(PromptUse& use, std::string_view path, std::string body);
  [[nodiscard]] Moment moment() const { return {generation_, strangers_}; }
  [[nodiscard]] bool still(Moment before) const { return before == moment() && unassigned_ == 0; }
  // Nobody needs the engine or its memory for anything else.
  [[nodiscard]] bool quiet() const {
    return open_ == 0 && paused_ == 0 && (on_purpose_ > 0 || !may_work_ || may_work_());
  }
  [[nodiscard]] bool may_go_on(Moment begun) const { return quiet() && still(begun); }
  void tell(std::string what, std::string why, std::optional<base::Bytes> bytes = std::nullopt) const;
  // The first time that it is told of this, and of so many things at most.
  void tell_once(std::string of, std::string what, std::string why);

  // Idle moments (prefix_settling.cpp)
  [[nodiscard]] rt::Task<void> do_idle_work(bool hurry);
  [[nodiscard]] rt::Task<void> learn(bool hurry);
  [[nodiscard]] rt::Task<void> save_wanted(bool hurry);
  [[nodiscard]] rt::Task<void> compute_declared();
  [[nodiscard]] rt::Task<void> preload();
  [[nodiscard]] rt::Task<base::Result<prefix::Tokens>> tokens_of(DeclaredPrefix declared);
  void note_failure(const std::string& declared_id, base::Error error, bool final);
  // For one declaration, or what was discovered, and each kind of error.
  void tell_failure(const std::string& declared_id, const base::Error& error);
  // Keys of the states of what is declared, which no save evicts.
  [[nodiscard]] rt::Task<prefix::Keys> declared_keys();
  [[nodiscard]] bool is_of_declaration(const prefix::IndexRow& row) const;
  // What is known of a state before anything is evaluated for it. Errors: no_space.
  [[nodiscard]] rt::Task<base::Result<prefix::Saving>> plan_saving(prefix::Tokens tokens, prefix::Origin origin,
                                                                   std::string name);
  // Errors: in_use (it gave way), and those of the engine and of the store.
  [[nodiscard]] rt::Task<base::Status> save(prefix::Saving saving, bool hurry);
  [[nodiscard]] rt::Task<base::Status> save_from(unsigned slot, prefix::Saving saving, bool hurry);
  [[nodiscard]] rt::Task<base::Status> evaluate(unsigned slot, const prefix::Tokens& tokens, std::size_t held,
                                                bool hurry);
  [[nodiscard]] rt::Task<base::Status> store_slot(unsigned slot, prefix::Saving saving);
  [[nodiscard]] rt::Task<base::Status> erase(unsigned slot);
  [[nodiscard]] std::optional<unsigned> slot_for(const prefix::Tokens& tokens) const;
  [[nodiscard]] bool is_stored(const prefix::Tokens& tokens) const;

  PrefixPlan plan_;
  Parts parts_;
  std::string socket_;
  std::uint64_t generation_ = 0;
  std::optional<bool> ours_;  // the engine is the one that the fingerprint was made for; empty: not asked yet
  std::vector<HeldSlot> slots_;
  std::uint64_t uses_ = 0;       // ascending, for last_used
  std::size_t open_ = 0;         // requests that have not let go
  std::size_t unassigned_ = 0;   // of these, in a slot that the engine chose
  std::uint64_t strangers_ = 0;  // begun so far in a slot that the engine chose
  std::size_t requests_ = 0;     // that were given a slot
  std::size_t continued_ = 0;    // of these, that continued what their slot held
  PrefillSpeed speed_;
  std::deque<Unread> unread_;
  std::deque<Recent> recent_;
  prefix::Discovery discovery_;
  std::deque<prefix::Tokens> wanted_;
  std::vector<std::string> used_;                          // keys whose use is yet to be noted
  std::map<std::string, prefix::Tokens> declared_tokens_;  // by id
  std::map<std::string, Failure> failures_;                // by id of the declaration
  std::set<std::string> told_;                             // what an event was told of
  std::function<bool()> may_work_;                         // may be empty
  std::size_t paused_ = 0;
  std::size_t on_purpose_ = 0;  // who asked for the work of idle moments now
  bool settling_ = false;
  std::optional<rt::Notice> settled_;  // since somebody waited for it
  bool gave_way_ = false;
};

}  // namespace hearth::keeper
