#include "http/openai_api.h"

#include "http/respond.h"

namespace hearth::http {
namespace {

using beast::http::verb;
using domain::Json;

Json model_json(const domain::ModelView& model) {
  return {{"id", model.id.text()}, {"object", "model"}, {"created", 0}, {"owned_by", "hearth"}};
}

rt::Task<void> list_models(Exchange& exchange, ModelShelf& shelf) {
  auto models = co_await shelf.list();
  if (!models) {
    co_await respond_error(exchange, domain::Api::openai, models.error());
    co_return;
  }
  Json data = Json::array();
  for (const auto& model : *models)
    data.push_back(model_json(model));
  Json list = {{"object", "list"}, {"data", std::move(data)}};
  co_await respond_json(exchange, 200, std::move(list));
}

rt::Task<void> show_model(Exchange& exchange, ModelShelf& shelf) {
  auto id = domain::ModelId::parse(exchange.part("id"));
  if (!id) {
    co_await respond_error(exchange, domain::Api::openai, id.error());
    co_return;
  }
  auto model = co_await shelf.find(*id);
  if (!model) {
    co_await respond_error(exchange, domain::Api::openai, model.error());
  } else {
    co_await respond_json(exchange, 200, model_json(*model));
  }
}

}  // namespace

void add_openai_routes(Router& router, Relay& relay, ModelShelf& shelf) {
  for (const Endpoint endpoint : {Endpoint::chat, Endpoint::completions, Endpoint::embeddings}) {
    router.add(verb::post, path_of(endpoint),
               [&relay, endpoint](Exchange& exchange) { return relay.serve(endpoint, exchange); });
  }
  router.add(verb::get, "/v1/models", [&shelf](Exchange& exchange) { return list_models(exchange, shelf); });
  router.add(verb::get, "/v1/models/{id}", [&shelf](Exchange& exchange) { return show_model(exchange, shelf); });
}

}  // namespace hearth::http
