#include "http/native_api.h"

#include <fmt/format.h>

#include <charconv>

#include "http/asker.h"
#include "http/keep_alive_field.h"
#include "http/respond.h"

namespace hearth::http {
namespace {

using base::ErrorCode;
using beast::http::verb;
using domain::Json;
constexpr auto kNative = domain::Api::native;
constexpr std::string_view kBase = "/hearth/v1";

// A handler of this API says what it answers; telling an error is the same everywhere.
struct Answer {
  Answer(unsigned with_status, Json with_json) : status(with_status), json(std::move(with_json)) {}
  unsigned status;
  Json json;
};
using Work = rt::Task<base::Result<Answer>> (*)(Exchange&, NativePorts);

rt::Task<void> run(Work work, Exchange& exchange, NativePorts ports) {
  auto answer = co_await work(exchange, ports);
  if (answer) {
    co_await respond_json(exchange, answer->status, std::move(answer->json));
  } else {
    co_await respond_error(exchange, kNative, std::move(answer.error()));
  }
}

// JSON is made in plain functions: GCC 12 cannot keep a braced list alive across a suspension.
template <typename Values>
Json listed(const char* name, const Values& values) {
  Json array = Json::array();
  for (const auto& value : values)
    array.push_back(domain::to_json(value));
  return {{name, std::move(array)}};
}

Json removal_of(const domain::ModelId& id) { return {{"removed", id.text()}}; }

// A whole number in the query, `otherwise` when it is not given.
base::Result<std::uint64_t> number_in_query(const Exchange& exchange, std::string_view key, std::uint64_t otherwise) {
  const std::string_view text = exchange.query(key);
  if (text.empty()) return otherwise;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return base::fail(ErrorCode::bad_request, fmt::format("?{}= must be a whole number", key));
}

rt::Task<base::Result<Answer>> list_models(Exchange&, NativePorts ports) {
  auto models = co_await ports.shelf.list();
  if (!models) co_return base::pass(models);
  co_return Answer{200, listed("models", *models)};
}

rt::Task<base::Result<Answer>> show_model(Exchange& exchange, NativePorts ports) {
  auto id = domain::ModelId::parse(exchange.part("id"));
  if (!id) co_return base::pass(id);
  auto model = co_await ports.shelf.find(*id);
  if (!model) co_return base::pass(model);
  co_return Answer{200, domain::to_json(*model)};
}

rt::Task<base::Result<Answer>> remove_model(Exchange& exchange, NativePorts ports) {
  auto id = domain::ModelId::parse(exchange.part("id"));
  if (!id) co_return base::pass(id);
  if (auto removed = co_await ports.shelf.remove(*id); !removed) co_return base::pass(removed);
  co_return Answer{200, removal_of(*id)};
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
rt::Task<base::Result<Answer>> upload_model(Exchange& exchange, NativePorts ports) {
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
rt::Task<base::Result<Answer>> change_layer(Exchange& exchange, NativePorts ports, domain::LayerAction action) {
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

// POST /models/{id}/verify: answers when all is read.
rt::Task<base::Result<Answer>> verify_model(Exchange& exchange, NativePorts ports) {
  auto id = domain::ModelId::parse(exchange.part("id"));
  if (!id) co_return base::pass(id);
  auto found = co_await ports.shelf.verify(*id);
  if (!found) co_return base::pass(found);
  for (const auto& why : found->packed_faults)
    ports.journal.tell(fault_event(*id, why));
  Json json = domain::to_json(*found);
  json["id"] = id->text();
  co_return Answer{200, std::move(json)};
}

template <domain::LayerAction action>
rt::Task<base::Result<Answer>> change_by(Exchange& exchange, NativePorts ports) {
  return change_layer(exchange, ports, action);
}

base::Status check_plan(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (json.is_object() && json.contains("what") && json["what"] == "load") return {};
  return base::fail(ErrorCode::bad_request, "the body must be {\"what\": \"load\"}");
}

// POST /models/{id}/plan {"what": "load"}: what would happen; nothing does.
rt::Task<base::Result<Answer>> plan_load(Exchange& exchange, NativePorts ports) {
  auto id = domain::ModelId::parse(exchange.part("id"));
  if (!id) co_return base::pass(id);
  auto body = co_await exchange.read_body();
  if (!body) co_return base::pass(body);
  if (auto checked = check_plan(*body); !checked) co_return base::pass(checked);
  auto plan = co_await ports.shelf.plan(*id, asker_of(exchange));
  if (!plan) co_return base::pass(plan);
  co_return Answer{200, domain::to_json(*plan)};
}

rt::Task<base::Result<Answer>> list_requests(Exchange& exchange, NativePorts ports) {
  auto count = number_in_query(exchange, "last", 20);
  if (!count) co_return base::pass(count);
  co_return Answer{200, listed("requests", ports.journal.last(static_cast<std::size_t>(*count)))};
}

rt::Task<base::Result<Answer>> show_request(Exchange& exchange, NativePorts ports) {
  const auto record = ports.journal.find(exchange.part("id"));
  if (!record)
    co_return base::fail(ErrorCode::not_found, "no such request is remembered; `hearth explain` lists the last ones");
  co_return Answer{200, domain::to_json(*record)};
}

rt::Task<base::Result<Answer>> list_events(Exchange& exchange, NativePorts ports) {
  auto since = number_in_query(exchange, "since", 0);
  if (!since) co_return base::pass(since);
  co_return Answer{200, listed("events", ports.journal.events_since(*since))};
}

rt::Task<base::Result<Answer>> show_machine(Exchange&, NativePorts ports) {
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

rt::Task<base::Result<Answer>> show_health(Exchange&, NativePorts ports) {
  co_return answer_of(ports.machine.health());
}

}  // namespace

void add_native_routes(Router& router, NativePorts ports) {
  const auto add = [&](verb method, std::string_view path, Work work) {
    router.add(method, fmt::format("{}{}", kBase, path),
               [work, ports](Exchange& exchange) { return run(work, exchange, ports); });
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
