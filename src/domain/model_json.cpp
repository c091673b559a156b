#include "domain/json.h"

namespace hearth::domain {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json instant_or_null(const std::optional<base::Wall>& instant) {
  return instant ? Json(base::rfc3339(*instant)) : Json(nullptr);
}

Json state_of(const LayerReading& reading) { return reading.warmth ? Json(name_of(*reading.warmth)) : Json(nullptr); }

Json sized(const LayerReading& reading) {
  return {{"state", state_of(reading)}, {"bytes", or_null(reading.bytes)}, {"total", or_null(reading.total)}};
}

Json layers_of(const ModelView& model) {
  Json artifact = sized(at(model.layers, Layer::artifact));
  artifact["verified"] = model.artifact_verified;
  Json packed = sized(at(model.layers, Layer::packed));
  packed["key"] = or_null(model.packed_key);
  Json weights = sized(at(model.layers, Layer::weights));
  weights["locked"] = or_null(at(model.layers, Layer::weights).locked);
  Json device = sized(at(model.layers, Layer::device));
  device["devices"] = nullptr;
  device["layers_on_device"] = nullptr;
  return {{"artifact", artifact},
          {"pages", sized(at(model.layers, Layer::pages))},
          {"packed", packed},
          {"process",
           {{"state", state_of(at(model.layers, Layer::process))},
            {"pid", or_null(model.pid)},
            {"started_at", instant_or_null(model.process_started_at)}}},
          {"weights", weights},
          {"device", device},
          {"kernels",
           {{"state", state_of(at(model.layers, Layer::kernels))},
            {"fingerprint", nullptr},
            {"hits", nullptr},
            {"misses", nullptr}}},
          {"prefix",
           {{"state", state_of(at(model.layers, Layer::prefix))},
            {"tokens_memory", model.prefix ? Json(model.prefix->tokens_memory) : Json(nullptr)},
            {"tokens_disk", model.prefix ? Json(model.prefix->tokens_disk) : Json(nullptr)},
            {"bytes_disk", model.prefix ? Json(model.prefix->bytes_disk) : Json(nullptr)}}}};
}

Json until_of(bool forever, const std::optional<base::Wall>& until) {
  return forever ? Json("forever") : instant_or_null(until);
}

Json keep_of(const Keep& keep) {
  Json votes = Json::array();
  for (const auto& vote : keep.votes) {
    votes.push_back({{"owner", vote.owner},
                     {"keep_alive", text_of(vote.wish)},
                     {"source", name_of(vote.source)},
                     {"until", until_of(!vote.until, vote.until)}});
  }
  return {{"until", until_of(keep.forever, keep.until)},
          {"source", keep.source ? Json(name_of(*keep.source)) : Json(nullptr)},
          {"votes", std::move(votes)}};
}

Json expected_of(const std::optional<ExpectedUse>& expected) {
  if (!expected) return nullptr;
  return {{"reuse", expected->reuse},
          {"horizon_ms", expected->horizon_ms},
          {"next_prewarm_at", instant_or_null(expected->next)},
          {"why", or_null(expected->why)},
          {"prewarms", expected->prewarms},
          {"used", expected->used},
          {"wasted", expected->wasted}};
}

Json failure_of(const std::optional<Failure>& failure) {
  if (!failure) return nullptr;
  return {{"reason", failure->reason},
          {"at", base::rfc3339(failure->at)},
          {"retry_at", instant_or_null(failure->retry_at)}};
}

}  // namespace

Json to_json(const ColdStart& cold) {
  return {
      {"expected_ms", cold.expected_ms}, {"limit_ms", or_null(cold.limit_ms)}, {"kept", cold.kept}, {"why", cold.why}};
}

Json to_json(const ModelView& model) {
  return {{"id", model.id.text()},
          {"engine", model.engine},
          {"class", name_of(model.service_class)},
          {"pinned", model.pinned},
          {"state", name_of(model.state)},
          {"failure", failure_of(model.failure)},
          {"layers", layers_of(model)},
          {"memory",
           {{"reserved", or_null(model.memory_reserved)},
            {"measured", or_null(model.memory_measured)},
            {"estimated", or_null(model.memory_estimated)},
            {"reread_per_token", or_null(model.reread_per_token)},
            {"locked", or_null(at(model.layers, Layer::weights).locked)}}},
          {"keep", keep_of(model.keep)},
          {"expected", expected_of(model.expected)},
          {"cold_start", model.cold_start ? to_json(*model.cold_start) : Json(nullptr)},
          {"thrashing", or_null(model.thrashing)},
          {"ready_in_ms", {{"estimate", or_null(model.ready_in_ms)}, {"basis", model.ready_basis}}},
          {"last_used_at", instant_or_null(model.last_used_at)},
          {"requests", model.requests},
          {"evictions", model.evictions},
          {"details",
           {{"architecture", or_null(model.architecture)},
            {"quantisation", or_null(model.quantisation)},
            {"parameters", or_null(model.parameters)},
            {"context_length", or_null(model.context_length)},
            {"digest", or_null(model.digest)},
            {"imported_at", instant_or_null(model.imported_at)}}}};
}

Json to_json(const EngineInfo& engine) {
  return {{"id", engine.id},
          {"kind", engine.kind},
          {"version", engine.version},
          {"build", or_null(engine.build)},
          {"origin", engine.origin},
          {"command", engine.command},
          {"backends", engine.backends},
          {"tier",
           {{"available", engine.tier.available}, {"present", engine.tier.present}, {"missing", engine.tier.missing}}}};
}

namespace {

Json owners_of(const MemoryPlan& plan) {
  Json owners = Json::array();
  for (const auto& share : plan.owners) {
    owners.push_back(
        {{"owner", share.owner}, {"kind", share.kind}, {"bytes", share.bytes}, {"phase", or_null(share.phase)}});
  }
  return owners;
}

Json memory_of(const MachineView& machine) {
  Json memory = {{"total", or_null(machine.memory_total)},
                 {"available", or_null(machine.memory_available)},
                 {"pages", or_null(machine.page_cache)}};
  if (!machine.plan) return memory;
  memory["budget"] = machine.plan->budget;
  memory["reserve"] = machine.plan->reserve;
  memory["reserved"] = machine.plan->reserved;
  memory["free"] = machine.plan->free;
  memory["waiting_requests"] = machine.plan->waiting;
  memory["owners"] = owners_of(*machine.plan);
  return memory;
}

}  // namespace

Json to_json(const LoadPlan& plan) {
  Json demotions = Json::array();
  for (const auto& one : plan.demotions) {
    demotions.push_back(
        {{"model", one.model.text()}, {"from", one.from}, {"to", one.to}, {"frees", one.frees}, {"why", one.why}});
  }
  return {{"what", "load"},
          {"action", plan.action},
          {"why", plan.why},
          {"needed", plan.needed},
          {"available", plan.available},
          {"estimate_basis", plan.basis},
          {"demotions", std::move(demotions)},
          {"waits_for", plan.waits_for},
          {"largest_context", or_null(plan.largest_context)},
          {"smaller_quantisations", plan.smaller_quantisations},
          {"ready_in_ms", or_null(plan.ready_in_ms)},
          {"wait_ms", or_null(plan.wait_ms)}};
}

Json to_json(const MachineView& machine) {
  Json capabilities = Json::array();
  for (const auto& capability : machine.capabilities) {
    capabilities.push_back({{"name", capability.name},
                            {"state", name_of(capability.state)},
                            {"why", capability.why},
                            {"fix", or_null(capability.fix)}});
  }
  return {{"memory", memory_of(machine)},
          {"swap", {{"total", or_null(machine.swap_total)}, {"free", or_null(machine.swap_free)}}},
          {"pressure",
           {{"memory_some_avg10", or_null(machine.psi_memory_some_avg10)},
            {"io_some_avg10", or_null(machine.psi_io_some_avg10)},
            {"text", machine.plan ? Json(machine.plan->pressure) : Json(nullptr)}}},
          {"load", or_null(machine.load)},
          {"processors", machine.processors},
          {"capabilities", capabilities}};
}

Json to_json(const Event& event) {
  return {{"id", event.id},
          {"at", base::rfc3339(event.at)},
          {"what", event.what},
          {"model", or_null(event.model)},
          {"layer", event.layer ? Json(name_of(*event.layer)) : Json(nullptr)},
          {"bytes", or_null(event.bytes)},
          {"by", or_null(event.by)},
          {"why", or_null(event.why)}};
}

Json to_json(const base::Error& error) {
  Json details = Json::parse(error.details, nullptr, false);
  if (!details.is_object()) details = Json::object();
  return {{"error", {{"code", name_of(error.code)}, {"message", error.message}, {"details", std::move(details)}}}};
}

}  // namespace hearth::domain
