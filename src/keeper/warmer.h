#pragma once
// Warms what is expected to be used, and holds it until then: a vote for as long as the expectation lasts, and a load
// where memory is there or can be had for less than it is worth (policy::plan_warming).
//
// Bounded: one load at a time, none while requests wait for memory or the machine is short of it, what waits for its
// use together at most `memory`, wasted loads by policy::Demand, swaps by the eviction policy. Events: prewarm,
// prewarm_used, prewarm_wasted.
//
// Thread: the I/O thread. Owned by the Keeper, whose group runs it.
#include <deque>
#include <functional>

#include "keeper/expectations.h"
#include "keeper/room.h"
#include "policy/warming.h"
#include "rt/notice.h"

namespace hearth::keeper {

class Warmer {
 public:
  struct Parts {
    rt::asio::any_io_executor executor;
    const base::Clock& clock;
    const Residents& residents;
    Room& room;
    Demands& demands;
    Expectations& expectations;
    base::Bytes memory;  // for what was loaded because of learnt demand and is not used yet
    std::function<domain::ServiceClass(const domain::ModelId&)> class_of;
    // Every model in the store.
    std::function<rt::Task<std::vector<domain::ModelId>>()> stored;
    // What serves it, made where that is missing. Errors: as Keeper::acquire.
    std::function<rt::Task<base::Result<std::shared_ptr<Resident>>>(domain::ModelId)> resident;
    // Starts its engine, or wakes it. REQUIRES: its memory is promised.
    std::function<rt::Task<base::Status>(domain::ModelId, std::shared_ptr<Resident>)> bring_up;
    std::function<void()> on_vote;                // until when a model is kept may have changed; may be empty
    std::function<void(domain::Event)> on_event;  // may be empty
  };
  explicit Warmer(Parts parts) : parts_(std::move(parts)), changed_(parts_.executor) {}

  // Looks every 15 seconds until cancelled.
  [[nodiscard]] rt::Task<void> run();
  // Looks once, and warms what is to be warmed now. Never fails: what could not be warmed is told, and left for a
  // while.
  [[nodiscard]] rt::Task<void> look();

  // What is expected may have changed: looks again now.
  void look_soon() { changed_.notify_all(); }

  // A use of that model begins.
  void used(const domain::ModelId& id);

 private:
  struct Expected {
    domain::ModelId id;
    Expectation expectation;
  };
  [[nodiscard]] rt::Task<std::vector<Expected>> expected_now();
  [[nodiscard]] bool anything_promised() const;
  [[nodiscard]] rt::Task<bool> is_promised(domain::ModelId id);
  [[nodiscard]] base::Duration lead_of(const domain::ModelId& id) const;
  void judge_outcomes();
  // The one that is worth most, which then is out of `expected`; false when there is none.
  [[nodiscard]] rt::Task<bool> warm_one(std::vector<Expected>& expected);
  [[nodiscard]] std::optional<policy::Promotion> plan(const std::vector<Expected>& expected);
  [[nodiscard]] bool within_memory(const policy::Held& model, const std::vector<policy::Held>& all) const;
  [[nodiscard]] rt::Task<void> carry_out(policy::Promotion promotion, Expectation expectation);
  void vote(const Expected& expected);
  void tell(const char* what, const domain::ModelId& id, domain::KeepSource source, std::string why) const;

  Parts parts_;
  std::deque<base::Mono> swaps_;  // loads for which others had to go, the oldest first
  rt::Notice changed_;
};

}  // namespace hearth::keeper
