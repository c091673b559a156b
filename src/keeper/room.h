#pragma once
// Who may load now, who waits, and whose memory is given to whom: carries out what policy::decide says.
//
// A request for a model that is loaded, or on its way, passes at once. Any other load needs its memory promised in the
// Books first: where it is free it is promised, where idle models have it they are demoted one after the other, where
// models in use have it the request waits in its class's turn, and where it can never be there it is refused. Turns:
// policy::order_of. Only the first in the order may have others demoted; one behind it may pass it, a bounded number of
// times, where its memory is free anyway. At most one plan is carried out at a time. A plan goes on when the client for
// whom it was made leaves.
//
// While models that do not fit together push each other out (thrashing), those that policy::find_thrashing names are
// held on purpose: a request of their class or a lower one gets their memory no sooner than half a minute after their
// last use, or after it has waited that long. A request that could only be loaded in the place of what is kept forever
// for a higher class is refused at once: nothing that it could wait for will happen.
//
// Weights that hibernate for a load keep their pages where the kernel has room for it beside them: then they are back
// without reading. Under pressure those pages go first.
//
// Never demoted: a model that a request uses, that is starting or promised, that is pinned; one that others wait for
// only where nobody uses anything and they would otherwise wait for each other.
//
// Thread: the I/O thread. Owned by the Keeper; stop() before it goes. Nothing here sleeps without a deadline.
#include <functional>
#include <list>
#include <memory>

#include "domain/asker.h"
#include "domain/load_plan.h"
#include "keeper/books.h"
#include "keeper/demoter.h"
#include "policy/pressure.h"
#include "policy/residency.h"
#include "policy/warming.h"
#include "rt/notice.h"
#include "rt/task_group.h"

namespace hearth::keeper {

struct RoomConfig {
  static constexpr base::Bytes kUnlimited = ~base::Bytes{0} / 4;
  base::Bytes budget = kUnlimited;  // host memory that models may have together
  base::Bytes reserve = 0;          // host memory left to the rest of the machine
  policy::ResidencyConfig policy = {};
  base::Duration longest_wait = std::chrono::minutes(10);  // in the queue
  // The same where nothing of ours has the memory: what else runs here is not ours to wait for.
  base::Duration longest_wait_for_others = std::chrono::seconds(30);
};

class Room {
 public:
  struct Parts {
    rt::asio::any_io_executor executor;
    const base::Clock& clock;
    const sys::Memory& memory;
    const sys::ProcStats& stats;
    const Residents& residents;
    Demands& demands;
    std::function<rt::Task<WorkResult>(std::shared_ptr<Resident>, Pages)> hibernate;
    std::function<bool(const Resident&)> can_hibernate;
    std::function<bool(const domain::ModelId&)> pinned;
    std::function<domain::ServiceClass(const domain::ModelId&)> class_of;  // by the configuration
    // Smaller files of the same model, for a refusal.
    std::function<rt::Task<std::vector<policy::Quantisation>>(domain::ModelId, std::string family)> smaller;
    // waiting_for_memory, memory_reserved, load_refused, hibernated, evicted, eviction_failed, pressure, thrashing.
    std::function<void(domain::Event)> on_event;  // may be empty
    rt::TaskGroup::CrashHandler on_crash;
    RoomConfig config;
    std::function<void(const policy::Learnt&)> on_learnt = {};  // what a load took; may be empty
  };
  explicit Room(Parts parts);

  // Memory for one load, promised until this goes; by then the engine has it, or the start has failed.
  class Promise {
   public:
    Promise(Room& room, domain::ModelId id);
    ~Promise();
    Promise(const Promise&) = delete;
    Promise& operator=(const Promise&) = delete;

   private:
    Room& room_;
    domain::ModelId id_;
  };
  using Admission = std::unique_ptr<Promise>;

  // Waits until the model may be loaded (or woken). `asked`: the class that the request wishes; the lower of it and the
  // model's counts. REQUIRES: the caller has a claim on the resident. Cancel: the caller leaves the queue.
  // Errors: does_not_fit, pinned_conflict, queue_full, loading (refusal.h); cancelled.
  [[nodiscard]] rt::Task<base::Result<Admission>> admit(domain::ModelId id, std::shared_ptr<Resident> resident,
                                                        std::optional<domain::ServiceClass> asked);
  // What admit would do now.
  [[nodiscard]] rt::Task<domain::LoadPlan> plan(domain::ModelId id, std::shared_ptr<Resident> resident,
                                                std::optional<domain::ServiceClass> asked);

  // Memory for a load that nobody waits for: its demotions are carried out, then it is promised. Errors: does_not_fit,
  // loading (requests wait, or another plan is under way: they go first); cancelled.
  [[nodiscard]] rt::Task<base::Result<Admission>> promote(policy::Promotion promotion,
                                                          std::shared_ptr<Resident> resident, std::string by);
  // Whether such a load may be thought of: nobody waits, nothing is under way, and the machine is not short of memory.
  [[nodiscard]] bool may_grow() const { return queue_.empty() && !carrying_ && !stopping_ && may_grow_; }
  // Somebody waits for memory, is being given some, or the machine is short of it.
  [[nodiscard]] bool memory_is_wanted() const {
    return !queue_.empty() || carrying_ || level_ != policy::PressureLevel::calm;
  }
  // Every model with what it holds now.
  [[nodiscard]] std::vector<policy::Held> held();

  // Requests, engines or wishes have changed: those who wait look again.
  void look_again() {
    books_.follow();
    changed_.notify_all();
  }
  // The class that counts for a request of that wish.
  [[nodiscard]] domain::ServiceClass class_of(const domain::ModelId& id,
                                              std::optional<domain::ServiceClass> asked) const;
  // Gives back memory when the machine is short of it; run() does so every two seconds while an engine is up.
  void look_at_pressure();
  [[nodiscard]] rt::Task<void> run();
  [[nodiscard]] rt::Task<void> stop();

  [[nodiscard]] Books& books() { return books_; }
  [[nodiscard]] const RoomConfig& config() const { return parts_.config; }
  [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
  void describe(const domain::ModelId& id, const Resident& resident, domain::ModelView& view);
  [[nodiscard]] domain::MemoryPlan memory_plan();

 private:
  struct Place {
    policy::Waiting waiting;
    std::size_t passed = 0;  // by others behind it
  };
  using Queue = std::list<Place>;
  struct Look {
    policy::ResidencyDecision decision;
    bool its_turn = false;
  };

  [[nodiscard]] rt::Task<base::Result<Admission>> wait_in(Queue::iterator place, std::shared_ptr<Resident> resident);
  [[nodiscard]] std::optional<base::Result<Admission>> try_now(Queue::iterator place, const Resident& resident,
                                                               Look& look);
  [[nodiscard]] Look look(const policy::Waiting& who, const Resident& resident,
                          std::vector<policy::Quantisation> smaller = {}) const;
  [[nodiscard]] policy::ResidencyDecision decision_for(const policy::Waiting& who, const Resident& resident,
                                                       const policy::FitAsk& ask, bool spare_waiting) const;
  [[nodiscard]] policy::FitAsk ask_of(const policy::Waiting& who, const Resident& resident) const;
  // Every model with what it holds, as this request may ask for it. Some are held on purpose while models push each
  // other out: they count as in use for a turn.
  [[nodiscard]] std::vector<policy::Held> held_for(const policy::Waiting& who, const Resident& resident,
                                                   bool spare_waiting) const;
  [[nodiscard]] bool held_on_purpose(const policy::Held& model, const policy::Waiting& who, base::Duration turn) const;
  [[nodiscard]] bool may_pass(const policy::Waiting& who, const policy::ResidencyDecision& decision);
  [[nodiscard]] std::vector<const Place*> ahead_of(const policy::Waiting& who) const;
  [[nodiscard]] bool everything_idle() const;
  [[nodiscard]] policy::QueueVerdict judge(const policy::Waiting& who) const;
  [[nodiscard]] std::vector<policy::Waiting> others(std::uint64_t ticket) const;
  [[nodiscard]] std::vector<domain::ModelId> warm() const;
  [[nodiscard]] Books::Waiters waiters() const;
  [[nodiscard]] std::size_t waiters_of(const domain::ModelId& id) const;
  [[nodiscard]] rt::Task<base::Error> refusal(policy::Waiting who, std::shared_ptr<Resident> resident);
  void begin(policy::EvictionPlan plan, std::string by, Pages pages);
  [[nodiscard]] rt::Task<void> carry_out(policy::EvictionPlan plan, std::string by, Pages pages);
  // What becomes of the pages of those that hibernate for this load.
  [[nodiscard]] Pages pages_for(const domain::ModelId& id, const Resident& resident) const;
  [[nodiscard]] rt::Task<void> relieve(policy::EvictionPlan plan);
  void note_load(const domain::ModelId& id, const Resident& resident);
  void look_at_thrashing();
  [[nodiscard]] policy::PressureReading read_pressure();
  void tell(const char* what, const std::optional<domain::ModelId>& id, std::string why,
            std::optional<base::Bytes> bytes = std::nullopt) const;

  Parts parts_;
  Books books_;
  Demoter demoter_;
  Queue queue_;
  std::uint64_t tickets_ = 0;
  bool carrying_ = false;
  bool stopping_ = false;
  bool may_grow_ = true;  // by what pressure was seen last
  std::vector<policy::Reload> reloads_;
  std::optional<policy::Thrashing> thrashing_;
  policy::PressureMemory pressure_;
  policy::PressureLevel level_ = policy::PressureLevel::calm;
  std::string pressure_text_ = "not looked at yet";
  struct Counters {
    base::Mono at;
    std::optional<base::Bytes> swapped_in;
    std::optional<std::uint64_t> refaults;
    std::optional<std::uint64_t> reclaim_scans;
  };
  std::optional<Counters> counters_;
  rt::Notice changed_;
  rt::TaskGroup tasks_;
};

}  // namespace hearth::keeper
