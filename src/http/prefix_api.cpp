#include "http/prefix_api.h"

#include "http/native_answer.h"

namespace hearth::http {
namespace {

using base::ErrorCode;
using beast::http::verb;
using domain::Json;
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

NativeWork list(Exchange&, PrefixShelf& shelf) {
  const auto prefixes = co_await shelf.list();
  co_return NativeAnswer{200, listed("prefixes", prefixes)};
}

NativeWork show(Exchange& exchange, PrefixShelf& shelf) {
  auto view = co_await shelf.find(exchange.part("id"));
  if (!view) co_return base::pass(view);
  co_return NativeAnswer{200, domain::to_json(*view)};
}

NativeWork declare(Exchange& exchange, PrefixShelf& shelf) {
  auto body = co_await exchange.read_body();
  if (!body) co_return base::pass(body);
  auto wanted = declaration_in(*body);
  if (!wanted) co_return base::pass(wanted);
  auto view = co_await shelf.declare(std::move(wanted->model), std::move(wanted->name), std::move(wanted->request));
  if (!view) co_return base::pass(view);
  co_return NativeAnswer{201, domain::to_json(*view)};
}

NativeWork remove(Exchange& exchange, PrefixShelf& shelf) {
  if (auto removed = co_await shelf.remove(exchange.part("id")); !removed) co_return base::pass(removed);
  co_return NativeAnswer{200, removal_of(exchange.part("id"))};
}

NativeWork verify(Exchange& exchange, PrefixShelf& shelf) {
  auto view = co_await shelf.verify(exchange.part("id"));
  if (!view) co_return base::pass(view);
  co_return NativeAnswer{200, domain::to_json(*view)};
}

}  // namespace

void add_prefix_routes(Router& router, PrefixShelf& shelf) {
  const auto add = [&](verb method, const char* path, auto* work) {
    add_native_route(router, method, path, [&shelf, work](Exchange& exchange) { return work(exchange, shelf); });
  };
  add(verb::get, "/prefixes", list);
  add(verb::post, "/prefixes", declare);
  add(verb::get, "/prefixes/{id}", show);
  add(verb::delete_, "/prefixes/{id}", remove);
  add(verb::post, "/prefixes/{id}/verify", verify);
}

}  // namespace hearth::http
