#include "domain/cold_time.h"

#include <algorithm>
#include <array>

namespace hearth::domain {

double cold_ms_of(const RequestRecord& record) {
  static constexpr std::array kStages = {Stage::artifact_fetch, Stage::storage_read,  Stage::process_start,
                                         Stage::weights_load,   Stage::device_upload, Stage::kernel_compile};
  double sum = 0;
  for (const auto& span : record.stages) {
    if (std::ranges::find(kStages, span.stage) != kStages.end()) sum += span.critical_ms;
  }
  return sum;
}

}  // namespace hearth::domain
