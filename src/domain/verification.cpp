#include "domain/verification.h"

namespace hearth::domain {

Json to_json(const Verification& found) {
  return {{"sound", found.sound()},
          {"ms", found.ms},
          {"artifact",
           {{"bytes", found.artifact_bytes},
            {"fault", found.artifact_fault ? Json(*found.artifact_fault) : Json(nullptr)}}},
          {"packed", {{"files", found.packed_files}, {"bytes", found.packed_bytes}, {"faults", found.packed_faults}}}};
}

}  // namespace hearth::domain
