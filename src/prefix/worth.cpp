#include "prefix/worth.h"

#include <algorithm>
#include <cmath>

namespace hearth::prefix {

double worth_per_byte(const WorthFacts& facts) {
  constexpr double kWeekMs = 7.0 * 24 * 3600 * 1000;
  const double idle = static_cast<double>(std::max<std::int64_t>(facts.idle_ms, 0));
  const double reuse = static_cast<double>(facts.uses) * std::exp2(-idle / kWeekMs) + 0.5;
  const double saved = static_cast<double>(facts.tokens) * facts.prefill_ms_per_token.value_or(kUnmeasuredMsPerToken);
  return saved * reuse / static_cast<double>(std::max<base::Bytes>(facts.bytes, 1));
}

}  // namespace hearth::prefix
