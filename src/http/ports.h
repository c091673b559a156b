#pragma once
// What the HTTP side needs of the rest of Hearth, in its own words. The composition root joins these to the keeper, the
// store and the timeline. All of it is called on the I/O thread; a Task may be cancelled at any wait, which gives up
// the caller's wait and nothing else.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "domain/asker.h"
#include "domain/event.h"
#include "domain/json.h"
#include "domain/layer_work.h"
#include "domain/machine.h"
#include "domain/model.h"
#include "domain/model_card.h"
#include "domain/request.h"
#include "domain/verification.h"
#include "rt/asio.h"

namespace hearth::http {

// A ready engine, held for one request. While it lives the model counts as busy. Letting go is the destructor.
class EngineLease {
 public:
  virtual ~EngineLease() = default;
  // The Unix socket on which the engine listens.
  [[nodiscard]] virtual const std::string& socket_path() const = 0;
  // Tokens of context that one request may have; empty where that is the engine's choice and the file does not say.
  [[nodiscard]] virtual std::optional<std::uint64_t> context() const = 0;
  // Fills in what was seen while it was acquired: the start that was waited for, whether every slot was taken.
  virtual void describe(domain::RequestObservation& observation) const = 0;
  // The request has been written to the engine: notes what conclude() compares with. Not before, because each of the
  // kernel's counters that is read would put off the first token.
  virtual void note_sent() = 0;
  // What to send to the engine at that path instead of `body`: the same, or with the slot named that suits its prompt.
  // What the engine had computed for the prompt's beginning earlier is brought back first; the observation says so.
  [[nodiscard]] virtual rt::Task<std::string> fit(std::string path, std::string body,
                                                  domain::RequestObservation& observation) {
    (void)path;
    (void)observation;
    co_return body;
  }
  // At the end of the request: fills in the layers as they were before it, what the kernel counted for the engine
  // meanwhile, and the state of the host. `answered`: the engine's answer was whole.
  virtual void conclude(domain::RequestObservation& observation, bool answered) = 0;
  // The engine went away under the request: why, with its last words. Waits a moment for the process to be reaped.
  [[nodiscard]] virtual rt::Task<base::Error> why_gone() = 0;
};

class EngineGate {
 public:
  virtual ~EngineGate() = default;
  // Waits until an engine with this model can take a request, starting one when there is none. The start belongs to the
  // gate: a cancelled caller does not stop it. The model is kept as the asker wishes, from the end of the lease on.
  // Waits for memory too, where other models have it, in its class's turn.
  // Errors: model_not_found, engine_failed (retry_after when a pause is kept), cancelled; does_not_fit, pinned_conflict
  // (it could only fit without what is pinned), queue_full and loading (memory did not come free in time), with details
  // and retry_after where that may help.
  [[nodiscard]] virtual rt::Task<base::Result<std::unique_ptr<EngineLease>>> acquire(domain::ModelId model,
                                                                                     domain::Asker asker) = 0;
  // Ends every wish to keep the model: its engine is stopped, now or when its running requests are done. A model that
  // is not loaded is no error. Errors: model_not_found, pinned_conflict, timeout.
  [[nodiscard]] virtual rt::Task<base::Status> unload(domain::ModelId model, domain::Asker asker) = 0;
};

// A model file on its way in. Destroying it before finish() leaves nothing behind.
class ModelUpload {
 public:
  virtual ~ModelUpload() = default;
  [[nodiscard]] virtual rt::Task<base::Status> write(std::span<const char> bytes) = 0;
  // Verifies and publishes. True when the model is new, false when the same was there already.
  [[nodiscard]] virtual rt::Task<base::Result<bool>> finish() = 0;
};

class ModelShelf {
 public:
  virtual ~ModelShelf() = default;
  [[nodiscard]] virtual rt::Task<base::Result<std::vector<domain::ModelView>>> list() = 0;
  // Errors: model_not_found.
  [[nodiscard]] virtual rt::Task<base::Result<domain::ModelView>> find(domain::ModelId model) = 0;
  // Reads it from the model's file. Errors: model_not_found, corrupt, io.
  [[nodiscard]] virtual rt::Task<base::Result<domain::ModelCard>> card(domain::ModelId model) = 0;
  // Stops its engine first when it is idle. Errors: model_not_found, in_use.
  [[nodiscard]] virtual rt::Task<base::Status> remove(domain::ModelId model) = 0;
  // Changes one layer on purpose; without a layer, the weights. What was warmed is kept as the asker wishes. Errors:
  // model_not_found, unsupported, in_use, loading.
  [[nodiscard]] virtual rt::Task<base::Result<domain::LayerWork>> change(domain::ModelId model,
                                                                         domain::LayerAction action,
                                                                         std::optional<domain::Layer> layer,
                                                                         domain::Asker asker) = 0;
  // Reads all that is kept of it on disk and sets aside what is damaged. Errors: model_not_found, io, cancelled (it was
  // given up half-way, by a cancelled caller or the server's stop).
  [[nodiscard]] virtual rt::Task<base::Result<domain::Verification>> verify(domain::ModelId model) = 0;
  // What would happen if this asker asked for it now; does nothing. Errors: model_not_found, engine_failed (there is
  // none).
  [[nodiscard]] virtual rt::Task<base::Result<domain::LoadPlan>> plan(domain::ModelId model, domain::Asker asker) = 0;
  // Errors: no_space, already_exists (other content under that name), io.
  [[nodiscard]] virtual rt::Task<base::Result<std::unique_ptr<ModelUpload>>> upload(domain::ModelId model,
                                                                                    std::uint64_t bytes) = 0;
};

// Takes what was observed and answers for it later.
class RequestJournal {
 public:
  virtual ~RequestJournal() = default;
  [[nodiscard]] virtual std::string new_id() = 0;
  // The Server-Timing value for what is known so far; empty when there is nothing to say.
  [[nodiscard]] virtual std::string header_timing(const domain::RequestObservation& so_far) = 0;
  virtual void record(domain::RequestObservation observation) = 0;
  [[nodiscard]] virtual std::optional<domain::RequestRecord> find(std::string_view id) = 0;
  [[nodiscard]] virtual std::vector<domain::RequestRecord> last(std::size_t count) = 0;
  [[nodiscard]] virtual std::vector<domain::Event> events_since(std::uint64_t id) = 0;
  // Adds an event; its id and instant are given here.
  virtual void tell(domain::Event event) = 0;
};

struct HealthCheck {
  std::string name;
  bool ok = true;
  std::string detail;
};

struct Health {
  std::optional<double> oldest_queued_ms;  // the longest wait for an engine that is going on
  std::vector<HealthCheck> checks;
};

class MachineProbe {
 public:
  virtual ~MachineProbe() = default;
  [[nodiscard]] virtual rt::Task<domain::MachineView> look() = 0;
  [[nodiscard]] virtual Health health() = 0;
};

}  // namespace hearth::http
