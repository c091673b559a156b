#pragma once
// What a check of everything that is kept of one model found (native API: verify).
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "domain/json.h"

namespace hearth::domain {

struct Verification {
  base::Bytes artifact_bytes = 0;
  std::optional<std::string> artifact_fault;  // it has been set aside
  std::size_t packed_files = 0;
  base::Bytes packed_bytes = 0;
  std::vector<std::string> packed_faults;  // each has been set aside, and is packed again at the next start
  double ms = 0;

  [[nodiscard]] bool sound() const { return !artifact_fault && packed_faults.empty(); }
};

[[nodiscard]] Json to_json(const Verification& found);

}  // namespace hearth::domain
