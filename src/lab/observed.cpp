#include "lab/observed.h"

#include <algorithm>

#include "domain/cold_time.h"

namespace hearth::lab {
namespace {

using domain::Stage;

constexpr double kFastest = 1e6;  // tokens a second

double queued_s(const domain::RequestRecord& record) {
  double ms = 0;
  for (const auto& span : record.stages)
    ms += span.stage == Stage::queue ? span.critical_ms : 0;
  return ms / 1000;
}

// A start was paid for, or a wake; a limit that is not kept is told of warm requests too.
bool has_paid(const domain::RequestRecord& record) {
  if (!record.cold_start) return false;
  if (!record.cold_start->limit_ms || record.cold_start->kept) return true;
  const auto& weights = at(record.before, domain::Layer::weights).warmth;
  return weights && *weights != domain::Warmth::warm;
}

double evaluated(const domain::RequestRecord& record) {
  return record.tokens ? static_cast<double>(record.tokens->prompt - record.tokens->cached) : 0;
}

base::Error lacks(const char* what) {
  return {base::ErrorCode::bad_request, std::string("the timeline of a request lacks ") + what};
}

}  // namespace

Served served_of(const domain::RequestRecord& record, const ModelSize& size) {
  Served served{.service_class = record.service_class, .ttft_s = record.ttft_ms.value_or(record.total_ms) / 1000};
  served.load_s = domain::cold_ms_of(record) / 1000;
  served.cold = served.load_s > 0 || has_paid(record);
  if (!served.cold) return served;
  served.queued_s = queued_s(record);
  if (served.load_s > 0) return served;
  const double warm_s = size.measured ? first_token_s(size, {}, evaluated(record)) : 0;
  served.load_s = std::max(0.0, served.ttft_s - served.queued_s - warm_s);
  return served;
}

base::Result<Speeds> speeds_of(const domain::RequestRecord& brief, const domain::RequestRecord& lengthy) {
  if (!brief.ttft_ms || !lengthy.ttft_ms) return std::unexpected(lacks("a first token"));
  if (!lengthy.decode_tokens_per_s || *lengthy.decode_tokens_per_s <= 0)
    return std::unexpected(lacks("the speed of its answer"));
  const double tokens = evaluated(lengthy) - evaluated(brief);
  if (tokens <= 0) return std::unexpected(lacks("tokens that were evaluated"));
  const double seconds = (*lengthy.ttft_ms - *brief.ttft_ms) / 1000;
  Speeds speeds{.prefill_per_s = seconds > 0 ? std::min(kFastest, tokens / seconds) : kFastest};
  speeds.first_token_s = std::max(0.0, *brief.ttft_ms / 1000 - evaluated(brief) / speeds.prefill_per_s);
  speeds.decode_per_s = *lengthy.decode_tokens_per_s;
  return speeds;
}

}  // namespace hearth::lab
