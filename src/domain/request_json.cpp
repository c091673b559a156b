// REQUEST of the native API, both ways.
#include <fmt/format.h>

#include <limits>

#include "domain/json.h"

namespace hearth::domain {
namespace {

// ---- writing ----

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json written(const StageSpan& span) {
  Json json = {{"stage", name_of(span.stage)},    {"start_ms", span.start_ms},    {"ms", span.ms},
               {"critical_ms", span.critical_ms}, {"bytes", or_null(span.bytes)}, {"source", name_of(span.source)}};
  if (span.stage != Stage::prefix_restore) return json;
  json["tokens"] = or_null(span.tokens);
  json["saved_ms"] = or_null(span.saved_ms);
  return json;
}

// Every stage once, in order; a record that carries only some of them is filled up with zeroes.
Json written(const std::vector<StageSpan>& stages) {
  Json list = Json::array();
  for (const Stage stage : kAllStages) {
    StageSpan shown;
    shown.stage = stage;
    for (const auto& span : stages) {
      if (span.stage == stage) shown = span;
    }
    list.push_back(written(shown));
  }
  return list;
}

Json written(const LayerReadings& readings) {
  Json layers = Json::object();
  for (const Layer layer : kAllLayers) {
    const auto& reading = at(readings, layer);
    Json& shown = layers[std::string(name_of(layer))];
    shown = {{"state", reading.warmth ? Json(name_of(*reading.warmth)) : Json(nullptr)},
             {"bytes", or_null(reading.bytes)},
             {"total", or_null(reading.total)}};
    if (layer == Layer::weights) shown["locked"] = or_null(reading.locked);
  }
  return layers;
}

Json written(const std::vector<CausalEvent>& events) {
  Json list = Json::array();
  for (const auto& event : events) {
    list.push_back(
        {{"event", event.event}, {"at", event.at}, {"by", or_null(event.by)}, {"for", or_null(event.for_whom)}});
  }
  return list;
}

Json written(const std::optional<Cause>& cause) {
  if (!cause) return nullptr;
  return {{"layer", name_of(cause->layer)},
          {"ms", cause->ms},
          {"share", cause->share},
          {"confidence", name_of(cause->confidence)},
          {"because", written(cause->because)},
          {"evidence", {{"bytes_read", or_null(cause->bytes_read)}, {"major_faults", or_null(cause->major_faults)}}},
          {"remedy",
           {{"action", name_of(cause->remedy.action)},
            {"detail", cause->remedy.detail},
            {"saves_ms", or_null(cause->remedy.saves_ms)}}}};
}

Json written(const std::optional<TokenCounts>& tokens) {
  if (!tokens) return nullptr;
  return {{"prompt", tokens->prompt}, {"cached", tokens->cached}, {"generated", tokens->generated}};
}

Json written(const HostReading& host) {
  return {{"cpu_mhz", or_null(host.cpu_mhz)},
          {"gpu_mhz", or_null(host.gpu_mhz)},
          {"load", or_null(host.load)},
          {"psi_memory_some_avg10", or_null(host.psi_memory_some_avg10)},
          {"swap_in_bytes", or_null(host.swap_in_bytes)}};
}

// ---- reading ----

// Some 30,000 years: what lies beyond is damage, and would only overflow where it is drawn.
constexpr double kLongestMs = 1e15;

// One object of the text that is read, with the place it stands at. The first failure is kept for all of them, and what
// is read after it does not matter, so that a caller reads field after field and asks once.
class Fields {
 public:
  Fields(const Json& object, std::string place, std::optional<base::Error>& failure)
      : object_(object), place_(std::move(place)), failure_(failure) {
    if (!object_.is_object()) refuse(place_, "must be an object");
  }

  [[nodiscard]] const Json* find(std::string_view key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] std::string place_of(std::string_view key) const { return fmt::format("{}.{}", place_, key); }
  [[nodiscard]] bool failed() const { return failure_.has_value(); }

  [[nodiscard]] const Json* needed(std::string_view key) {
    const Json* value = find(key);
    if (value == nullptr) refuse(place_of(key), "is missing");
    return value;
  }

  [[nodiscard]] std::optional<std::string> maybe_text(std::string_view key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    return refuse(place_of(key), "must be a text");
  }
  [[nodiscard]] std::string text(std::string_view key) {
    if (needed(key) == nullptr) return {};
    return maybe_text(key).value_or("");
  }

  [[nodiscard]] std::optional<double> maybe_number(std::string_view key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_number() && value->get<double>() >= 0 && value->get<double>() <= kLongestMs)
      return value->get<double>();
    return refuse(place_of(key), "must be a number of at least 0 and at most 1e15");
  }
  [[nodiscard]] double number(std::string_view key) {
    if (needed(key) == nullptr) return 0;
    return maybe_number(key).value_or(0);
  }

  template <typename Integer>
  [[nodiscard]] std::optional<Integer> maybe_count(std::string_view key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Integer>::max());
    // Neither a fraction nor a number beyond 64 bits is an "integer" to the parser.
    const bool whole = value->is_number_integer() && (value->is_number_unsigned() || value->get<std::int64_t>() >= 0);
    if (whole && value->get<std::uint64_t>() <= kMost) return value->get<Integer>();
    return refuse(place_of(key), fmt::format("must be a whole number of at least 0 and at most {}", kMost));
  }
  template <typename Integer>
  [[nodiscard]] Integer count(std::string_view key) {
    if (needed(key) == nullptr) return 0;
    return maybe_count<Integer>(key).value_or(0);
  }

  // A word of one of the domain's vocabularies, looked up with its own *_named function.
  template <typename Enum>
  [[nodiscard]] std::optional<Enum> maybe_word(std::string_view key, std::optional<Enum> (*named)(std::string_view)) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    const auto found = value->is_string() ? named(value->get_ref<const std::string&>()) : std::nullopt;
    if (found) return found;
    return refuse(place_of(key), "is not one of the words that are known here");
  }
  template <typename Enum>
  [[nodiscard]] Enum word(std::string_view key, std::optional<Enum> (*named)(std::string_view)) {
    if (needed(key) == nullptr) return Enum{};
    return maybe_word<Enum>(key, named).value_or(Enum{});
  }

  [[nodiscard]] Fields inside(std::string_view key, const Json& object) { return {object, place_of(key), failure_}; }

  // Calls `read(Fields)` for each element of an array that may be absent, until something fails.
  template <typename Read>
  void each(std::string_view key, Read read) {
    const Json* list = find(key);
    if (list == nullptr) return;
    if (!list->is_array()) {
      refuse(place_of(key), "must be an array");
      return;
    }
    for (std::size_t i = 0; i < list->size() && !failed(); ++i) {
      read(Fields((*list)[i], fmt::format("{}[{}]", place_of(key), i), failure_));
    }
  }

  std::nullopt_t refuse(std::string_view place, std::string_view why) {
    if (!failure_) failure_ = base::Error{base::ErrorCode::bad_request, fmt::format("{} {}", place, why)};
    return std::nullopt;
  }

 private:
  const Json& object_;
  std::string place_;
  std::optional<base::Error>& failure_;
};

StageSpan read_span(Fields from) {
  return {.stage = from.word<Stage>("stage", stage_named),
          .start_ms = from.number("start_ms"),
          .ms = from.number("ms"),
          .critical_ms = from.number("critical_ms"),
          .bytes = from.maybe_count<base::Bytes>("bytes"),
          .source = from.word<Source>("source", source_named),
          .tokens = from.maybe_count<std::int64_t>("tokens"),
          .saved_ms = from.maybe_number("saved_ms")};
}

// The stages in their order, each once, whatever the text leaves out.
std::vector<StageSpan> read_stages(Fields& from) {
  std::vector<StageSpan> stages;
  for (const Stage stage : kAllStages)
    stages.emplace_back().stage = stage;
  if (from.needed("stages") == nullptr) return stages;
  from.each("stages", [&stages](Fields element) {
    const StageSpan span = read_span(std::move(element));
    stages[static_cast<std::size_t>(span.stage)] = span;
  });
  return stages;
}

LayerReadings read_layers(Fields& from) {
  LayerReadings readings;
  const Json* before = from.find("before");
  if (before == nullptr) return readings;
  Fields layers = from.inside("before", *before);
  for (const Layer layer : kAllLayers) {
    const Json* found = layers.find(name_of(layer));
    if (found == nullptr) continue;
    Fields one = layers.inside(name_of(layer), *found);
    at(readings, layer) = {.warmth = one.maybe_word<Warmth>("state", warmth_named),
                           .bytes = one.maybe_count<base::Bytes>("bytes"),
                           .total = one.maybe_count<base::Bytes>("total"),
                           .locked = one.maybe_count<base::Bytes>("locked")};
  }
  return readings;
}

void read_evidence(Fields& from, Cause& cause) {
  const Json* found = from.find("evidence");
  if (found == nullptr) return;
  Fields evidence = from.inside("evidence", *found);
  cause.bytes_read = evidence.maybe_count<base::Bytes>("bytes_read");
  cause.major_faults = evidence.maybe_count<std::uint64_t>("major_faults");
}

void read_remedy(Fields& from, Remedy& remedy) {
  const Json* found = from.needed("remedy");
  if (found == nullptr) return;
  Fields fields = from.inside("remedy", *found);
  remedy.action = fields.word<RemedyAction>("action", remedy_action_named);
  remedy.detail = fields.maybe_text("detail").value_or("");
  remedy.saves_ms = fields.maybe_number("saves_ms");
}

std::optional<Cause> read_cause(Fields& from) {
  const Json* found = from.find("cause");
  if (found == nullptr) return std::nullopt;
  Fields fields = from.inside("cause", *found);
  Cause cause;
  cause.layer = fields.word<Layer>("layer", layer_named);
  cause.ms = fields.number("ms");
  cause.share = fields.number("share");
  cause.confidence = fields.word<Confidence>("confidence", confidence_named);
  fields.each("because", [&cause](Fields event) {
    cause.because.push_back({.event = event.text("event"),
                             .at = event.text("at"),
                             .by = event.maybe_text("by"),
                             .for_whom = event.maybe_text("for")});
  });
  read_evidence(fields, cause);
  read_remedy(fields, cause.remedy);
  return cause;
}

std::optional<TokenCounts> read_tokens(Fields& from) {
  const Json* found = from.find("tokens");
  if (found == nullptr) return std::nullopt;
  Fields fields = from.inside("tokens", *found);
  return TokenCounts{.prompt = fields.count<std::int64_t>("prompt"),
                     .cached = fields.count<std::int64_t>("cached"),
                     .generated = fields.count<std::int64_t>("generated")};
}

std::optional<ColdStart> read_cold_start(Fields& from) {
  const Json* found = from.find("cold_start");
  if (found == nullptr) return std::nullopt;
  Fields fields = from.inside("cold_start", *found);
  const Json* kept = fields.find("kept");
  return ColdStart{.expected_ms = fields.number("expected_ms"),
                   .limit_ms = fields.maybe_number("limit_ms"),
                   .kept = kept != nullptr && kept->is_boolean() && kept->get<bool>(),
                   .why = fields.maybe_text("why").value_or("")};
}

HostReading read_host(Fields& from) {
  const Json* found = from.find("host");
  if (found == nullptr) return {};
  Fields fields = from.inside("host", *found);
  return {.cpu_mhz = fields.maybe_number("cpu_mhz"),
          .gpu_mhz = fields.maybe_number("gpu_mhz"),
          .load = fields.maybe_number("load"),
          .psi_memory_some_avg10 = fields.maybe_number("psi_memory_some_avg10"),
          .swap_in_bytes = fields.maybe_count<base::Bytes>("swap_in_bytes")};
}

}  // namespace

Json to_json(const RequestRecord& record) {
  return {{"id", record.id},
          {"model", or_null(record.model)},
          {"api", name_of(record.api)},
          {"class", name_of(record.service_class)},
          {"status", record.status},
          {"error", or_null(record.error)},
          {"started_at", record.started_at},
          {"ttft_ms", or_null(record.ttft_ms)},
          {"total_ms", record.total_ms},
          {"tokens", written(record.tokens)},
          {"decode_tokens_per_s", or_null(record.decode_tokens_per_s)},
          {"stages", written(record.stages)},
          {"before", written(record.before)},
          {"cause", written(record.cause)},
          {"start_flags", or_null(record.start_flags)},
          {"cold_start", record.cold_start ? to_json(*record.cold_start) : Json(nullptr)},
          {"host", written(record.host)}};
}

base::Result<RequestRecord> request_from_json(const Json& json) {
  std::optional<base::Error> failure;
  Fields from(json, "request", failure);
  if (failure) return std::unexpected(*failure);
  RequestRecord record;
  record.id = from.text("id");
  record.model = from.maybe_text("model");
  record.api = from.word<Api>("api", api_named);
  record.service_class = from.word<ServiceClass>("class", service_class_named);
  record.status = from.count<int>("status");
  record.error = from.maybe_text("error");
  record.started_at = from.text("started_at");
  record.ttft_ms = from.maybe_number("ttft_ms");
  record.total_ms = from.number("total_ms");
  record.tokens = read_tokens(from);
  record.decode_tokens_per_s = from.maybe_number("decode_tokens_per_s");
  record.stages = read_stages(from);
  record.before = read_layers(from);
  record.cause = read_cause(from);
  record.start_flags = from.maybe_text("start_flags");
  record.cold_start = read_cold_start(from);
  record.host = read_host(from);
  if (failure) return std::unexpected(*failure);
  return record;
}

}  // namespace hearth::domain
