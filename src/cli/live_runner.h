#pragma once
// Replays a trace against a running server: each request at its time, and what came of it from the server's own
// timelines and events. Private to src/cli.
//
// Voice models are wished to be kept for ever, interactive ones for five minutes, as the simulation has it. An answer
// has a thread of its own while it comes, at most kMostAtOnce of them; a request beyond that is sent late. What the
// server answers with an error is counted, as refused where it can never fit, else as unfinished.
#include <atomic>
#include <list>
#include <thread>

#include "cli/live_server.h"
#include "cli/progress.h"
#include "lab/runner.h"

namespace hearth::cli {

class LiveRunner final : public lab::Runner {
 public:
  static constexpr std::size_t kMostAtOnce = 256;

  // `memory`: what the server has for the models of the trace. Both outlive the runner.
  LiveRunner(const LiveServer& server, base::Bytes memory, Console& console)
      : server_(server), memory_(memory), console_(console) {}

  // Errors: those of the server's timelines and events; cancelled.
  [[nodiscard]] base::Result<lab::ReplayResult> run(const lab::Trace& trace) override;

  // The longest that a request was sent after its time.
  [[nodiscard]] base::Duration latest() const { return latest_; }
  // Why the first one failed that did not end as it should; empty: none.
  [[nodiscard]] const std::string& first_failure() const { return first_failure_; }

 private:
  struct Call {
    std::uint32_t model = 0;
    std::atomic<bool> done = false;
    base::Result<std::string> id;  // of the request; valid once done
    std::optional<base::Mono> seen_done;
    std::jthread thread;  // last: it uses the others
  };
  base::Status send_all(const lab::Trace& trace, lab::Tally& tally);
  // False when it is to stop.
  bool wait_until(base::Mono when, const lab::Trace& trace, lab::Tally& tally);
  void send(const lab::Trace& trace, std::size_t index);
  base::Status take_finished(const lab::Trace& trace, lab::Tally& tally, base::Duration age);
  base::Status take(const lab::Trace& trace, lab::Tally& tally, Call& call);
  void look_at_memory(lab::Tally& tally);
  base::Status count_events(const lab::Trace& trace, lab::ReplayResult& result) const;

  const LiveServer& server_;
  base::Bytes memory_;
  Console& console_;
  std::list<Call> calls_;
  base::Mono began_{};
  base::Mono looked_{};
  std::uint64_t last_event_ = 0;
  base::Duration latest_{};
  std::string first_failure_;
  ProgressLine* progress_ = nullptr;
};

}  // namespace hearth::cli
