#include "domain/model.h"

#include "domain/named.h"

namespace hearth::domain {

std::string_view name_of(ModelState state) {
  switch (state) {
    case ModelState::absent:
      return "absent";
    case ModelState::fetching:
      return "fetching";
    case ModelState::cold:
      return "cold";
    case ModelState::starting:
      return "starting";
    case ModelState::hibernated:
      return "hibernated";
    case ModelState::ready:
      return "ready";
    case ModelState::busy:
      return "busy";
    case ModelState::stopping:
      return "stopping";
    case ModelState::failed:
      return "failed";
  }
  return "";
}

std::optional<ModelState> model_state_named(std::string_view name) {
  using enum ModelState;
  return find_named(std::array{absent, fetching, cold, starting, hibernated, ready, busy, stopping, failed}, name);
}

std::string_view name_of(ServiceClass service_class) {
  switch (service_class) {
    case ServiceClass::voice:
      return "voice";
    case ServiceClass::interactive:
      return "interactive";
    case ServiceClass::background:
      return "background";
  }
  return "";
}

std::optional<ServiceClass> service_class_named(std::string_view name) {
  using enum ServiceClass;
  return find_named(std::array{voice, interactive, background}, name);
}

}  // namespace hearth::domain
