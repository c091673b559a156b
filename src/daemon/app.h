#pragma once
// The server: every part made in order, joined, run, and taken down in reverse.
//
// Thread: made and run on the main thread, which is the I/O thread; engines are spawned from it.
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <memory>

#include "daemon/adapters.h"
#include "daemon/journal.h"
#include "daemon/packed_quota.h"
#include "daemon/past.h"
#include "daemon/prefixes.h"
#include "engine/launch.h"
#include "engine/supervisor.h"
#include "http/native_api.h"
#include "http/ollama_api.h"
#include "http/openai_api.h"
#include "http/server.h"
#include "sys/files.h"
#include "sys/processes.h"

namespace hearth::daemon {

class App {
 public:
  // Binds, opens the store, clears away what a killed server left. Errors: one sentence each, with the mend.
  [[nodiscard]] static base::Result<std::unique_ptr<App>> make(config::Config config);
  ~App();

  [[nodiscard]] std::string address() const;
  // Serves until SIGTERM or SIGINT, then stops gracefully; a second signal cuts short what still runs. The exit status.
  int run();

 private:
  explicit App(config::Config config);
  base::Status open();
  [[nodiscard]] rt::Task<base::Result<keeper::Service>> serve_model(artifact::StoredModel model);
  [[nodiscard]] rt::Task<void> look_for_engine();
  [[nodiscard]] rt::Task<void> stop_on_signal();
  [[nodiscard]] std::string packed_key_of(const artifact::StoredModel& model) const;
  [[nodiscard]] std::string packed_folder_of(const artifact::StoredModel& model) const;
  // Of [prefix] exact; empty without it. The arguments outlive the task.
  [[nodiscard]] rt::Task<Exactness> exactness_for(const artifact::StoredModel& model, const domain::EngineInfo& engine,
                                                  const config::ModelConfig& config);
  // Turns the prefix tier on in what will be launched; null where it cannot be.
  [[nodiscard]] std::shared_ptr<keeper::PrefixSession> prefix_session(const artifact::StoredModel& model,
                                                                      const domain::EngineInfo& engine,
                                                                      const std::optional<prefix::BatchRule>& rule,
                                                                      engine::LaunchSpec& launch);
  [[nodiscard]] std::optional<domain::PrefixHeld> prefix_held(const artifact::StoredModel& model);
  void make_packed_quota();
  // Has the history opened, and what earlier runs saw learnt from it, beside the requests.
  void remember();
  [[nodiscard]] std::set<std::string> packed_in_use() const;
  void describe_configured(domain::ModelView& view) const;
  [[nodiscard]] keeper::KeepRule keep_rule_of(const domain::ModelId& id) const;
  void reap();

  const config::Config config_;
  base::SystemClock clock_;
  rt::asio::io_context io_{1};
  rt::asio::signal_set signals_{io_, SIGTERM, SIGINT};  // from the beginning: none may end us half made
  rt::BlockingPool pool_{2};
  sys::LinuxFiles files_;
  sys::LinuxProcesses processes_;
  sys::LinuxProcStats stats_;
  sys::LinuxPages pages_;
  sys::LinuxMemory memory_;
  sys::LinuxTimeZone zone_;
  artifact::StoreFiles store_files_;
  engine::RealPace pace_;
  std::string run_folder_;
  std::string tier_library_;                    // empty: engines run as stock
  std::unique_ptr<timeline::History> history_;  // null: none is kept
  Journal journal_{io_.get_executor(), clock_};
  EngineFinder engine_{config_, pool_, io_.get_executor()};
  std::unique_ptr<artifact::Store> store_;
  std::unique_ptr<keeper::PrefixTier> prefixes_;   // null: prompt states are not kept
  std::unique_ptr<keeper::EstimateDb> estimates_;  // null: what loads took is not kept
  std::unique_ptr<keeper::Keeper> keeper_;
  std::map<std::string, std::string> packed_keys_;  // of models that were served, by id
  std::unique_ptr<PackedQuota> packed_quota_;
  std::unique_ptr<KeeperGate> gate_;
  std::unique_ptr<StoreShelf> shelf_;
  std::unique_ptr<TierPrefixes> prefix_shelf_;
  std::unique_ptr<HostProbe> probe_;
  std::unique_ptr<http::LayerJobs> jobs_;
  std::unique_ptr<http::Relay> relay_;
  std::unique_ptr<http::OllamaRelay> ollama_relay_;
  http::Router router_;
  std::unique_ptr<http::Server> server_;
  rt::TaskGroup tasks_;
};

}  // namespace hearth::daemon
