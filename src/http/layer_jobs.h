#pragma once
// Layer changes that nobody waits for: each runs on its own and tells in the event log how it ended.
//
// Thread: the I/O thread. stop() before it goes; the ports outlive it.
#include <string>

#include "http/ports.h"
#include "rt/task_group.h"

namespace hearth::http {

class LayerJobs {
 public:
  LayerJobs(rt::asio::any_io_executor executor, ModelShelf& shelf, RequestJournal& journal);

  void begin(std::string job, domain::ModelId model, domain::LayerAction action, std::optional<domain::Layer> layer,
             domain::Asker asker);
  // Cancels what still runs and waits.
  [[nodiscard]] rt::Task<void> stop();

 private:
  [[nodiscard]] rt::Task<void> run(std::string job, domain::ModelId model, domain::LayerAction action,
                                   std::optional<domain::Layer> layer, domain::Asker asker);

  ModelShelf& shelf_;
  RequestJournal& journal_;
  rt::TaskGroup tasks_;
};

}  // namespace hearth::http
