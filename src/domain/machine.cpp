#include "domain/machine.h"

#include <array>

#include "domain/named.h"

namespace hearth::domain {

std::string_view name_of(CapabilityState state) {
  switch (state) {
    case CapabilityState::works:
      return "works";
    case CapabilityState::degraded:
      return "degraded";
    case CapabilityState::absent:
      return "absent";
  }
  return "";
}

std::optional<CapabilityState> capability_state_named(std::string_view name) {
  return find_named(std::array{CapabilityState::works, CapabilityState::degraded, CapabilityState::absent}, name);
}

}  // namespace hearth::domain
