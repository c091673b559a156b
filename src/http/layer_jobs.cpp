#include "http/layer_jobs.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "rt/crash_log.h"

namespace hearth::http {

LayerJobs::LayerJobs(rt::asio::any_io_executor executor, ModelShelf& shelf, RequestJournal& journal)
    : shelf_(shelf), journal_(journal), tasks_(std::move(executor), rt::log_crash_of("a layer change")) {}

void LayerJobs::begin(std::string job, domain::ModelId model, domain::LayerAction action,
                      std::optional<domain::Layer> layer, domain::Asker asker) {
  tasks_.spawn(run(std::move(job), std::move(model), action, layer, std::move(asker)));
}

rt::Task<void> LayerJobs::run(std::string job, domain::ModelId model, domain::LayerAction action,
                              std::optional<domain::Layer> layer, domain::Asker asker) {
  auto work = co_await shelf_.change(model, action, layer, std::move(asker));
  domain::Event event;
  event.what = fmt::format("{}_{}", name_of(action), work ? "done" : "failed");
  event.model = model.text();
  event.layer = layer.value_or(domain::Layer::weights);
  event.by = "job " + job;
  if (work) {
    event.bytes = work->bytes;
    event.why = fmt::format("it took {:.0f} ms", work->ms);
  } else {
    event.why = work.error().message;
  }
  journal_.tell(std::move(event));
}

rt::Task<void> LayerJobs::stop() {
  tasks_.cancel_all();
  const bool ended = co_await tasks_.join(std::chrono::seconds(15));
  if (!ended) spdlog::error("{} layer changes did not end when cancelled", tasks_.size());
}

}  // namespace hearth::http
