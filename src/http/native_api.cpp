#include "http/native_api.h"

#include <fmt/format.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <charconv>

#include "http/asker.h"
#include "http/keep_alive_field.h"
#include "http/native_answer.h"

namespace hearth::http {
namespace {

using base::ErrorCode;
using beast::http::verb;
using domain::Json;
using Answer = NativeAnswer;
using Work = NativeWork (*)(Exchange&, NativePorts);

// A whole number in the query, `otherwise` when it is not given.
base::Result<std::uint64_t> number_in_query(const Exchange& exchange, std::string_view key, std::uint64_t otherwise) {
  const std::string_view text = exchange.query(key);
  if (text.empty()) return otherwise;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return base::fail(ErrorCode::bad_request, fmt::format("?{}= must be a whole number", key));
}

NativeWork list_models(Exchange&, NativePorts ports) {
  auto models = co_await ports.shelf.list();
  if (!models) co_return base::pass(models);
  co_return Answer{200, listed("models", *models)};
}

NativeWork show_model(Exchange& exchange, NativePorts ports) {
  auto id = domain::ModelId::parse(exchange.part("id"));
  if (!id) co_return base::pass(id);
  auto model = co_await ports.shelf.find(*id);
  if (!model) co_return base::pass(model);
  co_return Answer{200, domain::to_json(*model)};
}

NativeWork remove_model(Exchange& exchange, NativePorts ports) {
  auto id = domain::ModelId::parse(exchange.part("id"));
  if (!id) co_return base::pass(id);
  if (auto removed = co_await ports.shelf.remove(*id); !removed) co_return base::pass(removed);
  co_return Answer{200, removal_of(id->text())};
}

rt::Task<base::Status> copy_body(Exchange& exchange, ModelUpload& upload) {
  std::vector<char> piece(1U << 20);
  for (;;) {
    auto read = co_await exchange.read_some(piece);
    if (!read) co_return base::pass(read);
    if (*read == 0) co_return base::Status{};
    if (auto written = co_await upload.write(std::span(piece).first(*read)); !written) co_return written;
  }
}

// PUT /models/{id}/content: the bytes of a GGUF file become the model {id}.
NativeWork upload_model(Exchange& exchange, NativePorts ports) {
  auto id = domain::ModelId::parse(exchange.part("id"));
  if (!id) co_return base::pass(id);
  const auto length = exchange.content_length();
  if (!length) co_return base::fail(ErrorCode::bad_request, "an upload must say its size; send Content-Length");
  auto upload = co_await ports.shelf.upload(*id, *length);
  if (!upload) co_return base::pass(upload);
  if (auto copied = co_await copy_body(exchange, **upload); !copied) co_return base::pass(copied);
  auto fresh = co_await (*upload)->finish();
  if (!fresh) co_return base::pass(fresh);
  auto model = co_await ports.shelf.find(*id);
  if (!model) co_return base::pass(model);
  co_return Answer{*fresh ? 201U : 200U, domain::to_json(*model)};
}

// What the body of a change says.
struct ChangeBody {
  std::optional<domain::Layer> layer;
  std::optional<domain::KeepAlive> keep_alive;
};

base::Result<ChangeBody> change_in(const std::string& body) {
  ChangeBody change;
  if (body.empty()) return change;
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object())
    return base::fail(ErrorCode::bad_request, "the body must be a JSON object such as {\"layer\": \"weights\"}");
  auto keep_alive = keep_alive_in(json);
  if (!keep_alive) return base::pass(keep_alive);
  change.keep_alive = *keep_alive;
  if (!json.contains("layer") || json["layer"].is_null()) return change;
  if (json["layer"].is_string()) change.layer = domain::layer_named(json["layer"].get_ref<const std::string&>());
  if (!change.layer)
    return base::fail(ErrorCode::bad_request,
                      "\"layer\" must be the name of a layer: pages, process, weights or prefix");
  return change;
}

Json finished_json(const domain::ModelView& model, const domain::LayerWork& work) {
  Json json = domain::to_json(model);
  json["ms"] = work.ms;
  json["bytes"] = work.bytes ? Json(*work.bytes) : Json(nullptr);
  return json;
}

Json job_json(const std::string& id) { return {{"job", id}}; }

// POST /models/{id}/warm …: 202 with a job, or with ?wait=1 the MODEL and what was done, once it is.
NativeWork change_layer(Exchange& exchange, NativePorts ports, domain::LayerAction action) {
  auto id = domain::ModelId::parse(exchange.part("id"));
  if (!id) co_return base::pass(id);
  auto body = co_await exchange.read_body();
  if (!body) co_return base::pass(body);
  auto change = change_in(*body);
  if (!change) co_return base::pass(change);
  domain::Asker asker = asker_of(exchange, change->keep_alive);
  if (exchange.query("wait") != "1") {
    auto known = co_await ports.shelf.find(*id);
    if (!known) co_return base::pass(known);
    ports.jobs.begin(exchange.id(), *id, action, change->layer, std::move(asker));
    co_return Answer{202, job_json(exchange.id())};
  }
  auto work = co_await ports.shelf.change(*id, action, change->layer, std::move(asker));
  if (!work) co_return base::pass(work);
  auto model = co_await ports.shelf.find(*id);
  if (!model) co_return base::pass(model);
  co_return Answer{200, finished_json(*model, *work)};
}

// A damaged model file is told by the store.
domain::Event fault_event(const domain::ModelId& id, const std::string& why) {
  domain::Event event;
  event.what = "packed_set_aside";
  event.model = id.text();
  event.layer = domain::Layer::packed;
  event.by = "verify";
  event.why = why;
  return event;
}

rt::Task<base::Result<domain::Verification>> verify_for_client(Exchange& exchange, ModelShelf& shelf,
                                                               domain::ModelId id) {
  using namespace rt::asio::experimental::awaitable_operators;
  auto first = co_await (shelf.verify(std::move(id)) || exchange.client_left());
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  exchange.close_afterwards();
  co_return base::fail(ErrorCode::cancelled, "the client left while the model was verified");
}

// POST /models/{id}/verify: answers when all is read; nobody reads on for a client that left.
NativeWork verify_model(Exchange& exchange, NativePorts ports) {
  auto id = domain::ModelId::parse(exchange.part("id"));
  if (!id) co_return base::pass(id);
  if (auto body = co_await exchange.read_body(); !body) co_return base::pass(body);
  auto found = co_await verify_for_client(exchange, ports.shelf, *id);
  if (!found) co_return base::pass(found);
  for (const auto& why : found->packed_faults)
    ports.journal.tell(fault_event(*id, why));
  Json json = domain::to_json(*found);
  json["id"] = id->text();
  co_return Answer{200, std::move(json)};
}

template <domain::LayerAction action>
NativeWork change_by(Exchange& exchange, NativePorts ports) {
  return change_layer(exchange, ports, action);
}

base::Status check_plan(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (json.is_object() && json.contains("what") && json["what"] == "load") return {};
  return base::fail(ErrorCode::bad_request, "the body must be {\"what\": \"load\"}");
}

// POST /models/{id}/plan {"what": "load"}: what would happen; nothing does.
NativeWork plan_load(Exchange& exchange, NativePorts ports) {
  auto id = domain::ModelId::parse(exchange.part("id"));
  if (!id) co_return base::pass(id);
  auto body = co_await exchange.read_body();
  if (!body) co_return base::pass(body);
  if (auto checked = check_plan(*body); !checked) co_return base::pass(checked);
  auto plan = co_await ports.shelf.plan(*id, asker_of(exchange));
  if (!plan) co_return base::pass(plan);
  co_return Answer{200, domain::to_json(*plan)};
}

NativeWork list_requests(Exchange& exchange, NativePorts ports) {
  auto count = number_in_query(exchange, "last", 20);
  if (!count) co_return base::pass(count);
  co_return Answer{200, listed("requests", ports.journal.last(static_cast<std::size_t>(*count)))};
}

NativeWork show_request(Exchange& exchange, NativePorts ports) {
  const auto record = ports.journal.find(exchange.part("id"));
  if (!record)
    co_return base::fail(ErrorCode::not_found, "no such request is remembered; `hearth explain` lists the last ones");
  co_return Answer{200, domain::to_json(*record)};
}

NativeWork list_events(Exchange& exchange, NativePorts ports) {
  auto since = number_in_query(exchange, "since", 0);
  if (!since) co_return base::pass(since);
  co_return Answer{200, listed("events", ports.journal.events_since(*since))};
}

NativeWork show_machine(Exchange&, NativePorts ports) {
  co_return Answer{200, domain::to_json(co_await ports.machine.look())};
}

Answer answer_of(const Health& health) {
  bool ok = true;
  Json checks = Json::object();
  for (const auto& check : health.checks) {
    ok = ok && check.ok;
    checks[check.name] = {{"ok", check.ok}, {"detail", check.detail}};
  }
  return {ok ? 200U : 503U,
          {{"status", ok ? "ok" : "failing"},
           {"oldest_queued_ms", health.oldest_queued_ms ? Json(*health.oldest_queued_ms) : Json(nullptr)},
           {"checks", std::move(checks)}}};
}

NativeWork show_health(Exchange&, NativePorts ports) { co_return answer_of(ports.machine.health()); }

}  // namespace

void add_native_routes(Router& router, NativePorts ports) {
  const auto add = [&](verb method, std::string_view path, Work work) {
    add_native_route(router, method, path, [work, ports](Exchange& exchange) { return work(exchange, ports); });
  };
  add(verb::get, "/models", list_models);
  add(verb::get, "/models/{id}", show_model);
  add(verb::delete_, "/models/{id}", remove_model);
  add(verb::put, "/models/{id}/content", upload_model);
  add(verb::post, "/models/{id}/verify", verify_model);
  add(verb::post, "/models/{id}/warm", change_by<domain::LayerAction::warm>);
  add(verb::post, "/models/{id}/cool", change_by<domain::LayerAction::cool>);
  add(verb::post, "/models/{id}/pin", change_by<domain::LayerAction::pin>);
  add(verb::post, "/models/{id}/unpin", change_by<domain::LayerAction::unpin>);
  add(verb::post, "/models/{id}/plan", plan_load);
  add(verb::get, "/requests", list_requests);
  add(verb::get, "/requests/{id}", show_request);
  add(verb::get, "/events", list_events);
  add(verb::get, "/machine", show_machine);
  add(verb::get, "/health", show_health);
}

}  // namespace hearth::http
