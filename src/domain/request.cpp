#include "domain/request.h"

#include "domain/named.h"

namespace hearth::domain {

std::string_view name_of(Api api) {
  switch (api) {
    case Api::openai:
      return "openai";
    case Api::ollama:
      return "ollama";
    case Api::anthropic:
      return "anthropic";
    case Api::native:
      return "native";
  }
  return "";
}

std::optional<Api> api_named(std::string_view name) {
  return find_named(std::array{Api::openai, Api::ollama, Api::anthropic, Api::native}, name);
}

std::string_view name_of(Confidence confidence) { return confidence == Confidence::measured ? "measured" : "inferred"; }

std::optional<Confidence> confidence_named(std::string_view name) {
  return find_named(std::array{Confidence::measured, Confidence::inferred}, name);
}

std::string_view name_of(RemedyAction action) {
  switch (action) {
    case RemedyAction::pin:
      return "pin";
    case RemedyAction::keep_longer:
      return "keep_longer";
    case RemedyAction::prefetch:
      return "prefetch";
    case RemedyAction::pages_headroom:
      return "pages_headroom";
    case RemedyAction::packed:
      return "packed";
    case RemedyAction::kernels:
      return "kernels";
    case RemedyAction::prefix:
      return "prefix";
    case RemedyAction::quantise:
      return "quantise";
    case RemedyAction::accept:
      return "accept";
  }
  return "";
}

std::optional<RemedyAction> remedy_action_named(std::string_view name) {
  using enum RemedyAction;
  return find_named(std::array{pin, keep_longer, prefetch, pages_headroom, packed, kernels, prefix, quantise, accept},
                    name);
}

}  // namespace hearth::domain
