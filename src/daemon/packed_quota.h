#pragma once
// Keeps packed weights within their quota, and the notes that the choice is made from. Hears what happens to engines;
// reads and removes on the pool.
//
// Thread: the I/O thread. stop() before it goes.
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "domain/event.h"
#include "rt/blocking_pool.h"
#include "rt/task_group.h"

namespace hearth::daemon {

class PackedQuota {
 public:
  struct Parts {
    rt::asio::any_io_executor executor;
    rt::BlockingPool& pool;  // these two outlive it
    const base::Clock& clock;
    std::string root;                  // <data dir>/packed
    std::optional<base::Bytes> quota;  // empty: half of what is free there and what they hold already
    std::function<std::string(const std::string& model)> key_of;  // empty: none is known
    std::function<std::set<std::string>()> keys_in_use;           // of engines that run
    std::function<void(domain::Event)> tell;                      // packed_evicted
    rt::TaskGroup::CrashHandler on_crash;
  };
  explicit PackedQuota(Parts parts);

  // Keeps the quota. Called when the server starts, as the quota may be less than it was, and what is free too; later
  // it is kept by itself (hear()).
  void look();
  // Of an engine. After packed_published and packed_attached the key's use is noted; after the first, and when an
  // engine has ended, the quota is kept.
  void hear(const domain::Event& event);
  // How much a start of this model may add: the quota less what cannot go, which is the weights of engines that run and
  // what other models pack now. Lists the folders, so it blocks for a moment.
  [[nodiscard]] base::Bytes allowance(const std::string& model) const;
  [[nodiscard]] rt::Task<void> stop();

 private:
  void hear_placed(const domain::Event& event);
  [[nodiscard]] rt::Task<void> note_use(std::string key, std::optional<double> pack_ms, bool grown);
  [[nodiscard]] rt::Task<void> keep_within();
  [[nodiscard]] rt::Task<void> remove_worst();

  Parts parts_;
  std::map<std::string, base::Wall> packing_since_;  // by model
  std::map<std::string, double> packed_in_ms_;
  std::map<std::string, base::Bytes> packing_;  // by model: in files that have no name yet
  bool keeping_ = false;
  bool again_ = false;  // something changed while the quota was being kept
  rt::TaskGroup tasks_;
};

}  // namespace hearth::daemon
