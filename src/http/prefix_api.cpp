#include "http/prefix_api.h"

#include "http/respond.h"

namespace hearth::http {
namespace {

using base::ErrorCode;
using beast::http::verb;
using domain::Json;
constexpr auto kNative = domain::Api::native;
constexpr std::size_t kLongestName = 200;

struct Declaration {
  domain::ModelId model;
  std::string name;
  Json request;
};

bool is_text(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() && !json[key].get_ref<const std::string&>().empty();
}

base::Result<Json> request_in(const Json& json) {
  const bool messages = json.contains("messages") && json["messages"].is_array() && !json["messages"].empty();
  if (messages == is_text(json, "text"))
    return base::fail(ErrorCode::bad_request,
                      "a prefix is declared with one of \"messages\" (an array) and \"text\" (a string)");
  Json request = Json::object();
  if (!messages) {
    request["prompt"] = json["text"];
    return request;
  }
  for (const char* key : {"messages", "tools", "chat_template_kwargs"}) {
    if (json.contains(key)) request[key] = json[key];
  }
  return request;
}

base::Result<Declaration> declaration_in(const std::string& body) {
  constexpr int kDeepest = 100;
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= kDeepest; };
  const Json json = Json::parse(body, shallow, false);
  if (!json.is_object() || !is_text(json, "model") || !is_text(json, "name"))
    return base::fail(ErrorCode::bad_request,
                      "a prefix is declared with a JSON object of \"model\", \"name\", and \"messages\" or \"text\"");
  auto model = domain::ModelId::parse(json["model"].get_ref<const std::string&>());
  if (!model) return base::pass(model);
  auto name = json["name"].get<std::string>();
  if (name.size() > kLongestName)
    return base::fail(ErrorCode::bad_request, "the \"name\" of a prefix has at most 200 bytes");
  auto request = request_in(json);
  if (!request) return base::pass(request);
  return Declaration{std::move(*model), std::move(name), std::move(*request)};
}

Json listed(const std::vector<domain::PrefixView>& prefixes) {
  Json array = Json::array();
  for (const auto& prefix : prefixes)
    array.push_back(domain::to_json(prefix));
  return {{"prefixes", std::move(array)}};
}

Json removal_of(const std::string& id) { return {{"removed", id}}; }

rt::Task<void> answer(Exchange& exchange, unsigned status, base::Result<domain::PrefixView> view) {
  if (view)
    co_await respond_json(exchange, status, domain::to_json(*view));
  else
    co_await respond_error(exchange, kNative, std::move(view.error()));
}

rt::Task<void> list(Exchange& exchange, PrefixShelf& shelf) {
  const auto prefixes = co_await shelf.list();
  co_await respond_json(exchange, 200, listed(prefixes));
}

rt::Task<void> show(Exchange& exchange, PrefixShelf& shelf) {
  auto view = co_await shelf.find(exchange.part("id"));
  co_await answer(exchange, 200, std::move(view));
}

rt::Task<void> declare(Exchange& exchange, PrefixShelf& shelf) {
  auto body = co_await exchange.read_body();
  if (!body) {
    co_await respond_error(exchange, kNative, std::move(body.error()));
    co_return;
  }
  auto wanted = declaration_in(*body);
  if (!wanted) {
    co_await respond_error(exchange, kNative, std::move(wanted.error()));
    co_return;
  }
  auto view = co_await shelf.declare(std::move(wanted->model), std::move(wanted->name), std::move(wanted->request));
  co_await answer(exchange, 201, std::move(view));
}

rt::Task<void> remove(Exchange& exchange, PrefixShelf& shelf) {
  auto removed = co_await shelf.remove(exchange.part("id"));
  if (!removed) {
    co_await respond_error(exchange, kNative, std::move(removed.error()));
    co_return;
  }
  co_await respond_json(exchange, 200, removal_of(exchange.part("id")));
}

rt::Task<void> verify(Exchange& exchange, PrefixShelf& shelf) {
  auto view = co_await shelf.verify(exchange.part("id"));
  co_await answer(exchange, 200, std::move(view));
}

}  // namespace

void add_prefix_routes(Router& router, PrefixShelf& shelf) {
  const auto add = [&](verb method, const char* path, auto* work) {
    router.add(method, path, [&shelf, work](Exchange& exchange) { return work(exchange, shelf); });
  };
  add(verb::get, "/hearth/v1/prefixes", list);
  add(verb::post, "/hearth/v1/prefixes", declare);
  add(verb::get, "/hearth/v1/prefixes/{id}", show);
  add(verb::delete_, "/hearth/v1/prefixes/{id}", remove);
  add(verb::post, "/hearth/v1/prefixes/{id}/verify", verify);
}

}  // namespace hearth::http
