#include "http/ollama_api.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "http/body_json.h"
#include "http/ollama_models.h"
#include "http/respond.h"

namespace hearth::http {
namespace {

using base::ErrorCode;
using beast::http::verb;
using domain::Json;

rt::Task<void> refuse(Exchange& exchange, base::Error error, std::string model) {
  auto told = co_await exchange.reply(ollama_error_reply(error, model));
  if (!told) spdlog::debug("request {}: {}", exchange.id(), told.error().message);
}

rt::Task<void> respond_text(Exchange& exchange, std::string text) {
  Reply reply{.status = 200, .content_type = "text/plain; charset=utf-8", .body = std::move(text), .headers = {}};
  auto told = co_await exchange.reply(std::move(reply));
  if (!told) spdlog::debug("request {}: {}", exchange.id(), told.error().message);
}

Json version_json() { return {{"version", kOllamaVersion}}; }

Json models_json(Json models) { return {{"models", std::move(models)}}; }

Json tags_json(std::vector<domain::ModelView> models) {
  std::ranges::stable_sort(models, std::greater{}, &domain::ModelView::imported_at);
  Json tags = Json::array();
  for (const auto& model : models)
    tags.push_back(ollama_tag(model));
  return models_json(std::move(tags));
}

Json processes_json(std::vector<domain::ModelView> models, base::Wall now) {
  std::erase_if(models, [](const auto& model) { return !is_loaded(model); });
  std::ranges::stable_sort(models, std::greater{}, [now](const auto& model) { return expiry_of(model, now); });
  Json processes = Json::array();
  for (const auto& model : models)
    processes.push_back(ollama_process(model, now));
  return models_json(std::move(processes));
}

rt::Task<void> list_tags(Exchange& exchange, ModelShelf& shelf) {
  auto models = co_await shelf.list();
  if (!models) {
    co_await refuse(exchange, std::move(models.error()), "");
    co_return;
  }
  co_await respond_json(exchange, 200, tags_json(std::move(*models)));
}

rt::Task<void> list_processes(Exchange& exchange, ModelShelf& shelf, const base::Clock& clock) {
  auto models = co_await shelf.list();
  if (!models) {
    co_await refuse(exchange, std::move(models.error()), "");
    co_return;
  }
  co_await respond_json(exchange, 200, processes_json(std::move(*models), clock.wall()));
}

// The name in the body; old clients call it "name".
base::Result<std::string> name_in(const std::string& body) {
  if (body.empty()) return base::fail(ErrorCode::bad_request, "missing request body");
  const auto json = parse_body(body);
  if (!json) return std::unexpected(json.error());
  for (const char* key : {"model", "name"}) {
    const auto found = json->find(key);
    if (found != json->end() && found->is_string() && !found->get_ref<const std::string&>().empty())
      return found->get<std::string>();
  }
  return base::fail(ErrorCode::bad_request, "model is required");
}

rt::Task<base::Result<domain::ModelView>> find(ModelShelf& shelf, std::string name) {
  base::Error error(ErrorCode::model_not_found, "no such model");
  for (const auto& model : models_named(name)) {
    auto found = co_await shelf.find(model);
    if (found) co_return found;
    error = std::move(found.error());
    if (error.code != ErrorCode::model_not_found) break;
  }
  co_return std::unexpected(std::move(error));
}

rt::Task<void> show_model(Exchange& exchange, ModelShelf& shelf) {
  auto body = co_await exchange.read_body();
  auto name = body ? name_in(*body) : base::Result<std::string>(std::unexpected(body.error()));
  if (!name) {
    co_await refuse(exchange, std::move(name.error()), "");
    co_return;
  }
  auto model = co_await find(shelf, *name);
  if (!model) {
    co_await refuse(exchange, std::move(model.error()), *name);
    co_return;
  }
  auto card = co_await shelf.card(model->id);
  if (!card) {
    co_await refuse(exchange, std::move(card.error()), *name);
    co_return;
  }
  co_await respond_json(exchange, 200, ollama_show(*model, *card));
}

}  // namespace

void add_ollama_routes(Router& router, OllamaRelay& relay, ModelShelf& shelf, const base::Clock& clock) {
  router.add(verb::post, "/api/generate",
             [&relay](Exchange& exchange) { return relay.serve(OllamaCall::generate, exchange); });
  router.add(verb::post, "/api/chat", [&relay](Exchange& exchange) { return relay.serve(OllamaCall::chat, exchange); });
  router.add(verb::get, "/api/tags", [&shelf](Exchange& exchange) { return list_tags(exchange, shelf); });
  router.add(verb::get, "/api/ps",
             [&shelf, &clock](Exchange& exchange) { return list_processes(exchange, shelf, clock); });
  router.add(verb::post, "/api/show", [&shelf](Exchange& exchange) { return show_model(exchange, shelf); });
  router.add(verb::get, "/api/version", [](Exchange& exchange) { return respond_json(exchange, 200, version_json()); });
  router.add(verb::get, "/", [](Exchange& exchange) { return respond_text(exchange, "Ollama is running"); });
}

}  // namespace hearth::http
