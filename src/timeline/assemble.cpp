#include "timeline/assemble.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "timeline/stage_sheet.h"

namespace hearth::timeline {
namespace {

using base::Duration;
using domain::Source;
using domain::Stage;
using Instant = std::optional<Duration>;

// The instants of one request since it was received, in order and within 0..finished.
struct Instants {
  Instant asked, admitted, sent, prefill_began, first_token;
  Duration finished{};
};

Instants instants_of(const domain::RequestObservation& seen) {
  Instants at;
  at.finished = std::max(Duration::zero(), seen.finished - seen.received);
  const auto limited = [&seen](const std::optional<base::Mono>& instant, Duration low, Duration high) -> Instant {
    if (!instant) return std::nullopt;
    return std::clamp(*instant - seen.received, low, high);
  };
  at.first_token = limited(seen.first_token, Duration::zero(), at.finished);
  const Duration end = at.first_token.value_or(at.finished);
  Duration low{};
  const auto next = [&](const std::optional<base::Mono>& instant) {
    const Instant placed = limited(instant, low, end);
    low = placed.value_or(low);
    return placed;
  };
  at.asked = next(seen.asked);
  at.admitted = next(seen.admitted);
  at.sent = next(seen.sent);
  at.prefill_began = next(seen.prefill_began);
  return at;
}

// The first of the instants that is known.
Duration next_of(std::initializer_list<Instant> instants, Duration last) {
  for (const auto& instant : instants) {
    if (instant) return *instant;
  }
  return last;
}

// What an engine says of itself, which may be anything, within the span that we measured.
Duration limited_ms(double ms, Duration most) {
  if (!(ms > 0)) return Duration::zero();
  return ms >= base::to_ms(most) ? most : std::min(most, base::from_ms(ms));
}

Duration scaled(Duration whole, double factor) { return limited_ms(base::to_ms(whole) * factor, whole); }

// An engine start as one request saw it: its instants, cut to the time the request waited.
struct SeenStart {
  Duration spawned, listening, ready;
  double fraction = 1;  // of the whole start
};

SeenStart seen_of(const domain::StartObservation& start, base::Mono received, Duration from, Duration to) {
  SeenStart seen{};
  seen.spawned = std::clamp(start.spawned - received, from, to);
  const Instant listening = start.listening ? Instant(*start.listening - received) : std::nullopt;
  const Instant ready = start.ready ? Instant(*start.ready - received) : std::nullopt;
  seen.ready = std::clamp(ready.value_or(to), seen.spawned, to);
  seen.listening = std::clamp(listening.value_or(seen.ready), seen.spawned, seen.ready);
  const Duration whole = ready.value_or(to) - (start.spawned - received);
  const Duration part = seen.ready - seen.spawned;
  seen.fraction = whole > part ? base::to_ms(part) / base::to_ms(whole) : 1;
  return seen;
}

void add_start(StageSheet& sheet, const domain::StartObservation& start, const SeenStart& seen) {
  const Duration loading = seen.ready - seen.listening;
  const Duration starting = seen.listening - seen.spawned;
  const Duration blocked =
      std::clamp(start.blocked_on_storage.value_or(Duration::zero()), Duration::zero(), Duration::max());
  const Duration storage = std::min(scaled(blocked, seen.fraction), loading + starting);
  const Duration from_load = std::min(storage, loading);
  sheet.add_span(Stage::process_start, seen.spawned, starting, starting - (storage - from_load), Source::hearth);
  sheet.add_span(Stage::weights_load, seen.listening, loading, loading - from_load, Source::hearth);
  sheet.add_span(Stage::storage_read, std::min(seen.listening, seen.ready - storage), storage, storage, Source::kernel);
  if (start.bytes_read && seen.fraction >= 1 && loading + starting > Duration::zero()) {
    sheet.set_bytes(Stage::storage_read, *start.bytes_read);
  }
}

void add_wait(StageSheet& sheet, const domain::RequestObservation& observation, Duration from, Duration to) {
  if (!observation.start) {
    sheet.add(Stage::queue, from, to, Source::hearth);
    return;
  }
  const SeenStart seen = seen_of(*observation.start, observation.received, from, to);
  sheet.add(Stage::queue, from, seen.spawned, Source::hearth);
  add_start(sheet, *observation.start, seen);
  sheet.add(Stage::queue, seen.ready, to, Source::hearth);
}

struct Prefill {
  Duration duration;
  Source source;
};

// The probe saw the computing itself; without it the engine's own figure counts.
Prefill prefill_of(const domain::RequestObservation& observation, Duration most) {
  if (observation.probe && observation.probe->prefill_ms)
    return {limited_ms(*observation.probe->prefill_ms, most), Source::tier};
  return {limited_ms(observation.timings->prompt_ms, most), Source::engine};
}

// The time in front of the prefill. Its pieces have a length and an order, not an instant of their own.
void add_before_prefill(StageSheet& sheet, const domain::RequestObservation& observation, Stage rest, Duration from,
                        Duration to) {
  if (observation.probe) {
    const Duration tokenize = limited_ms(observation.probe->tokenize_ms.value_or(0), to - from);
    sheet.add(Stage::tokenize, from, from + tokenize, Source::tier);
    from += tokenize;
    const Duration restore = limited_ms(observation.probe->restore_ms.value_or(0), to - from);
    sheet.add(Stage::prefix_restore, from, from + restore, Source::tier);
    from += restore;
  }
  sheet.add(rest, from, to, Source::hearth);
}

// What the engine did between `from` (its prefill began) and `to`.
void add_prefill_then(StageSheet& sheet, Duration from, Duration to, bool token_came,
                      const domain::RequestObservation& observation) {
  const Duration decode = token_came ? Duration::zero() : limited_ms(observation.timings->generated_ms, to - from);
  const Prefill prefill = prefill_of(observation, to - from - decode);
  sheet.add(Stage::prefill, from, from + prefill.duration, prefill.source);
  sheet.add(token_came ? Stage::first_decode : Stage::other, from + prefill.duration, to - decode, Source::hearth);
  sheet.add(Stage::decode, to - decode, to, Source::engine);
}

// The same where only the end of the span is known.
void add_split_from_end(StageSheet& sheet, const domain::RequestObservation& observation, const Instants& at,
                        Duration from, Duration to) {
  const auto& timings = *observation.timings;
  const Duration seen_generating = at.first_token ? at.finished - *at.first_token : Duration::zero();
  const Duration generated = limited_ms(timings.generated_ms, seen_generating + (to - from));
  const Duration tail = std::max(Duration::zero(), generated - seen_generating);
  const Prefill prefill = prefill_of(observation, to - from - tail);
  const Duration began = to - tail - prefill.duration;
  add_before_prefill(sheet, observation, observation.engine_was_busy ? Stage::queue : Stage::other, from, began);
  sheet.add(Stage::prefill, began, to - tail, prefill.source);
  sheet.add(at.first_token ? Stage::first_decode : Stage::decode, to - tail, to, Source::engine);
}

bool at_least(Duration span, double ms) { return !(ms > base::to_ms(span)); }

// Between the engine being ready and the request being sent: what was done for the prompt's beginning.
void add_preparation(StageSheet& sheet, const domain::RequestObservation& observation, Duration from, Duration to) {
  const auto& prefix = observation.prefix;
  Duration at = from;
  const auto until = [&](Stage stage, const std::optional<base::Mono>& instant) {
    if (!instant) return;
    const Duration end = std::clamp(*instant - observation.received, at, to);
    sheet.add(stage, at, end, Source::hearth);
    at = end;
  };
  until(Stage::other, prefix.template_began);
  until(Stage::chat_template, prefix.tokenize_began);
  until(Stage::tokenize, prefix.tokenized);
  until(Stage::other, prefix.restore_began);
  until(Stage::prefix_restore, prefix.restored);
  if (prefix.restored) {
    sheet.set_bytes(Stage::prefix_restore, prefix.restored_bytes);
    sheet.set_restored(prefix.restored_tokens, prefix.saved_ms);
  }
  sheet.add(Stage::other, at, to, Source::hearth);
}

void add_engine_work(StageSheet& sheet, const domain::RequestObservation& observation, const Instants& at,
                     Duration to) {
  if (at.sent) {
    // An answer that comes at once shows us both instants at once: then the engine's own figure is the better witness.
    const bool seen_late =
        at.prefill_began && observation.timings && !at_least(to - *at.prefill_began, observation.timings->prompt_ms);
    const bool unseen = !at.prefill_began && observation.timings;
    if (unseen || seen_late) return add_split_from_end(sheet, observation, at, *at.sent, to);
    const bool queued = observation.engine_was_busy && at.prefill_began;
    add_before_prefill(sheet, observation, queued ? Stage::queue : Stage::other, *at.sent,
                       at.prefill_began.value_or(to));
  }
  if (!at.prefill_began) return;
  if (observation.timings) {
    add_prefill_then(sheet, *at.prefill_began, to, at.first_token.has_value(), observation);
  } else {
    sheet.add(Stage::prefill, *at.prefill_began, to, Source::hearth);
  }
}

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  return a > std::numeric_limits<std::int64_t>::max() - b ? std::numeric_limits<std::int64_t>::max() : a + b;
}

std::optional<domain::TokenCounts> tokens_of(const std::optional<domain::EngineTimings>& timings) {
  if (!timings) return std::nullopt;
  const auto cached = std::max<std::int64_t>(0, timings->cached_tokens);
  return domain::TokenCounts{.prompt = sum_of(cached, std::max<std::int64_t>(0, timings->prompt_tokens)),
                             .cached = cached,
                             .generated = std::max<std::int64_t>(0, timings->generated_tokens)};
}

// Tokens after the first, over the time they took: the first one is the work of the prefill.
std::optional<double> decode_rate(const std::optional<domain::EngineTimings>& timings) {
  if (!timings || timings->generated_tokens <= 1 || !(timings->generated_ms > 0)) return std::nullopt;
  const double rate = static_cast<double>(timings->generated_tokens - 1) * 1000 / timings->generated_ms;
  return std::isfinite(rate) && rate > 0 ? std::optional(rate) : std::nullopt;
}

std::vector<domain::StageSpan> stages_of(const domain::RequestObservation& observation, const Instants& at) {
  StageSheet sheet(at.first_token, at.finished);
  const Duration to = at.first_token.value_or(at.finished);
  sheet.add(Stage::admission, Duration::zero(), next_of({at.asked, at.admitted, at.sent, at.prefill_began}, to),
            Source::hearth);
  if (at.asked) add_wait(sheet, observation, *at.asked, next_of({at.admitted, at.sent, at.prefill_began}, to));
  if (at.admitted) add_preparation(sheet, observation, *at.admitted, next_of({at.sent, at.prefill_began}, to));
  add_engine_work(sheet, observation, at, to);
  if (at.first_token) sheet.add(Stage::decode, *at.first_token, at.finished, Source::hearth);
  return sheet.told();
}

}  // namespace

domain::RequestRecord assemble(const domain::RequestObservation& observation) {
  const Instants at = instants_of(observation);
  domain::RequestRecord record;
  record.id = observation.id;
  if (observation.model) record.model = observation.model->text();
  record.api = observation.api;
  record.service_class = observation.service_class;
  record.cold_start = observation.cold_start;
  record.status = observation.status;
  record.error = observation.error;
  record.started_at = base::rfc3339(observation.started_at);
  if (at.first_token) record.ttft_ms = base::to_ms(*at.first_token);
  record.total_ms = base::to_ms(at.finished);
  record.tokens = tokens_of(observation.timings);
  record.decode_tokens_per_s = decode_rate(observation.timings);
  record.stages = stages_of(observation, at);
  record.before = observation.before;
  record.host = observation.host;
  if (observation.start) record.start_flags = observation.start->flags;
  return record;
}

}  // namespace hearth::timeline
