#include "policy/cause.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace hearth::policy {
namespace {

using domain::Confidence;
using domain::Layer;
using domain::RemedyAction;
using domain::Source;
using domain::Stage;

// A read of less than this is bookkeeping of the process, not weights that had left memory.
constexpr base::Bytes kLeastRead = 1 << 20;

struct Miss {
  Layer layer = Layer::process;
  Stage stage = Stage::process_start;
  double ms = 0;
  Confidence confidence = Confidence::inferred;
};

const domain::StageSpan* span_of(const std::vector<domain::StageSpan>& stages, Stage stage) {
  const auto found = std::ranges::find(stages, stage, &domain::StageSpan::stage);
  return found == stages.end() ? nullptr : &*found;
}

double ms_of(const std::vector<domain::StageSpan>& stages, Stage stage) {
  const auto* span = span_of(stages, stage);
  return span == nullptr ? 0 : span->critical_ms;
}

// The start that the request waited for; one that was over before it asked is none of its affair.
const domain::StartObservation* start_of(const domain::RequestObservation& observation) {
  const auto& start = observation.start;
  const bool waited = start && (!start->ready || *start->ready > observation.asked.value_or(observation.received));
  return waited ? &*start : nullptr;
}

// The request came when the start was already under way, so its share of the storage reads is a proportion.
bool joined_late(const domain::RequestObservation& observation) {
  const auto* start = start_of(observation);
  return start != nullptr && start->spawned < observation.asked.value_or(observation.received);
}

Confidence confidence_in(const domain::StageSpan& span, const domain::RequestObservation& observation) {
  const bool proportion = span.stage == Stage::storage_read || span.stage == Stage::weights_load;
  const bool storage_told = observation.start && observation.start->blocked_on_storage;
  if (span.stage == Stage::prefill || span.source == Source::engine) return Confidence::inferred;
  if (proportion && storage_told && joined_late(observation)) return Confidence::inferred;
  return Confidence::measured;
}

bool read_while_up(const domain::RequestObservation& observation) {
  return start_of(observation) == nullptr && observation.process && observation.process->bytes_read >= kLeastRead;
}

// The layer that a prefill is charged to, if it is a miss at all.
std::optional<Layer> layer_of_prefill(const domain::RequestObservation& observation) {
  if (read_while_up(observation)) return Layer::pages;
  const auto& timings = observation.timings;
  const bool missed =
      timings && timings->prompt_tokens >= kLongPrompt && timings->prompt_tokens > timings->cached_tokens;
  return missed ? std::optional(Layer::prefix) : std::nullopt;
}

std::optional<Layer> layer_of(Stage stage, const domain::RequestObservation& observation) {
  switch (stage) {
    case Stage::artifact_fetch:
      return Layer::artifact;
    case Stage::storage_read:
      return Layer::pages;
    case Stage::process_start:
      return Layer::process;
    case Stage::weights_load:
      return Layer::weights;
    case Stage::device_upload:
      return Layer::device;
    case Stage::kernel_compile:
      return Layer::kernels;
    case Stage::prefill:
      return layer_of_prefill(observation);
    case Stage::queue:
    case Stage::admission:
    case Stage::chat_template:
    case Stage::tokenize:
    case Stage::prefix_restore:
    case Stage::first_decode:
    case Stage::decode:
    case Stage::other:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Miss> worst_miss(const domain::RequestObservation& observation,
                               const std::vector<domain::StageSpan>& stages) {
  std::optional<Miss> worst;
  for (const auto& span : stages) {
    const auto layer = layer_of(span.stage, observation);
    if (!layer || (worst && span.critical_ms <= worst->ms)) continue;
    worst = Miss{
        .layer = *layer, .stage = span.stage, .ms = span.critical_ms, .confidence = confidence_in(span, observation)};
  }
  return worst;
}

// TTFT, or all but the decode where no token was seen to come.
double waited_ms(const std::vector<domain::StageSpan>& stages) {
  double waited = 0;
  for (const auto& span : stages) {
    if (span.stage != Stage::decode) waited += span.critical_ms;
  }
  return waited;
}

// ---- because ----

bool lives_in_process(Layer layer) {
  return layer == Layer::process || layer == Layer::weights || layer == Layer::device;
}

bool ends_process(const domain::Event& event) {
  return event.what == "process_stopped" || event.what == "process_failed";
}

bool cools(const domain::Event& event, Layer layer, bool started) {
  constexpr std::array<std::string_view, 6> kEnds = {"hibernated", "cooled",  "evicted",
                                                     "dropped",    "removed", "quarantined"};
  // "artifact_removed", "pages_dropped": writers may put the layer in front.
  const bool ends = std::ranges::any_of(kEnds, [&event](std::string_view end) { return event.what.ends_with(end); });
  if (event.layer == layer && ends) return true;
  // Who took the process took what lived in it.
  if (event.layer == Layer::process && ends && lives_in_process(layer)) return true;
  // The states of prompts go with the process; that only matters to a request that waited for the next one.
  return ends_process(event) && (lives_in_process(layer) || (layer == Layer::prefix && started));
}

// Who did it and why, in the two fields the API has: a request that needed the room is whom it was for.
domain::CausalEvent told(const domain::Event& event) {
  domain::CausalEvent causal{
      .event = event.what, .at = base::rfc3339(event.at), .by = event.by, .for_whom = std::nullopt};
  if (!event.why) return causal;
  const bool for_request = event.by && event.by->starts_with("request ");
  if (for_request) causal.for_whom = event.by;
  causal.by = event.by && !for_request ? *event.by + ", " + *event.why : *event.why;
  return causal;
}

// The wall clock and the monotonic one are read one after the other, so instants of the two compare to within a
// millisecond.
base::Wall decisive_instant(const domain::RequestObservation& observation) {
  const base::Wall received = observation.started_at + std::chrono::milliseconds(1);
  const auto* start = start_of(observation);
  if (start == nullptr) return received;
  const auto later = start->spawned - observation.received;
  return received + std::chrono::duration_cast<base::Wall::duration>(later);
}

std::vector<domain::CausalEvent> reasons(const domain::RequestObservation& observation, Layer layer,
                                         std::span<const domain::Event> history) {
  const base::Wall until = decisive_instant(observation);
  const bool started = start_of(observation) != nullptr;
  bool lived_before = false;
  for (auto event = history.rbegin(); event != history.rend(); ++event) {
    const bool ours = observation.model && event->model == observation.model->text() && event->at <= until;
    if (!ours) continue;
    if (cools(*event, layer, started)) return {told(*event)};
    lived_before = lived_before || ends_process(*event);
  }
  const bool complete = history.empty() || history.front().id == 1;
  const bool never_started = started && complete && !lived_before && observation.model;
  if (!never_started || layer == Layer::prefix) return {};
  return {{.event = std::string(kNeverStarted), .at = base::rfc3339(observation.started_at), .by = {}, .for_whom = {}}};
}

// ---- remedy ----

double start_ms(const std::vector<domain::StageSpan>& stages) {
  double ms = 0;
  for (const auto stage : {Stage::process_start, Stage::weights_load, Stage::storage_read, Stage::device_upload}) {
    ms += ms_of(stages, stage);
  }
  return ms;
}

// Pages that had been there and left need room; pages that nobody had read yet need a reader. Of a prefill that read
// pages, nobody knows how long it would have taken without.
domain::Remedy remedy_for_pages(const Miss& miss, const std::vector<domain::CausalEvent>& because) {
  const auto ms = miss.stage == Stage::storage_read ? std::optional(miss.ms) : std::nullopt;
  const bool never_read = !because.empty() && because.front().event == kNeverStarted;
  if (never_read) return {RemedyAction::prefetch, "read the model's file into memory before it is asked for", ms};
  return {RemedyAction::pages_headroom, "leave the page cache room for the model's file", ms};
}

// How much of the prompt had been evaluated before is not known unless something was seen to break it, so neither is
// what keeping it would save.
domain::Remedy remedy_for_prefix(const domain::PrefixObservation& prefix) {
  if (prefix.broken) return {RemedyAction::prefix, *prefix.broken, prefix.broken_ms};
  return {RemedyAction::prefix, "keep the state of the prompt's beginning", std::nullopt};
}

domain::Remedy remedy_for(const Miss& miss, const std::vector<domain::StageSpan>& stages,
                          const std::vector<domain::CausalEvent>& because, const domain::PrefixObservation& prefix) {
  switch (miss.layer) {
    case Layer::process:
    case Layer::weights:
    case Layer::device:
      return {RemedyAction::keep_longer, "keep the model loaded longer", start_ms(stages)};
    case Layer::pages:
      return remedy_for_pages(miss, because);
    case Layer::artifact:
      return {RemedyAction::prefetch, "fetch the model's file before it is asked for", miss.ms};
    case Layer::packed:
      return {RemedyAction::packed, "keep the packed weights", miss.ms};
    case Layer::kernels:
      return {RemedyAction::kernels, "keep the compiled kernels", miss.ms};
    case Layer::prefix:
      return remedy_for_prefix(prefix);
    case Layer::power:
      break;
  }
  return {RemedyAction::accept, "a bounded cold start", std::nullopt};
}

domain::Remedy worthwhile(domain::Remedy remedy, double cost_ms) {
  if (remedy.saves_ms.value_or(cost_ms) >= kWorthAvoidingMs) return remedy;
  return {RemedyAction::accept, "a bounded cold start", std::nullopt};
}

void add_evidence(domain::Cause& cause, const domain::RequestObservation& observation) {
  if (const auto* start = start_of(observation)) {
    cause.bytes_read = start->bytes_read;
    cause.major_faults = start->major_faults;
  } else if (observation.process) {
    cause.bytes_read = observation.process->bytes_read;
    cause.major_faults = observation.process->major_faults;
  }
}

bool failed(int status) { return status >= 400 && status != 499; }

}  // namespace

std::optional<domain::Cause> find_cause(const domain::RequestObservation& observation,
                                        const std::vector<domain::StageSpan>& stages,
                                        std::span<const domain::Event> history) {
  if (failed(observation.status)) return std::nullopt;
  const double waited = waited_ms(stages);
  const auto miss = worst_miss(observation, stages);
  if (!miss || miss->ms <= std::max(kLeastCauseMs, kLeastCauseShare * waited)) return std::nullopt;
  domain::Cause cause;
  cause.layer = miss->layer;
  cause.ms = miss->ms;
  cause.share = miss->ms / waited;
  cause.confidence = miss->confidence;
  cause.because = reasons(observation, miss->layer, history);
  cause.remedy = worthwhile(remedy_for(*miss, stages, cause.because, observation.prefix), miss->ms);
  add_evidence(cause, observation);
  return cause;
}

void add_cause(domain::RequestRecord& record, const domain::RequestObservation& observation,
               std::span<const domain::Event> history) {
  record.cause = find_cause(observation, record.stages, history);
}

}  // namespace hearth::policy
