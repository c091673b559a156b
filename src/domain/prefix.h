#pragma once
// A beginning of prompts, stored or declared, as the world is told about it (native API: PREFIX).
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "domain/json.h"

namespace hearth::domain {

struct PrefixView {
  std::string id;
  std::string model;
  std::string name;                // of a declared one
  std::string origin;              // "declared" | "discovered"
  std::string state;               // "stored" | "pending" | "ineffective"
  std::optional<std::string> why;  // it is not stored
  std::optional<std::string> key;  // of the stored state
  std::optional<std::uint64_t> tokens;
  std::optional<base::Bytes> bytes;
  std::optional<double> prefill_ms_per_token;
  std::uint64_t uses = 0;
  std::optional<base::Wall> saved_at;
  std::optional<base::Wall> last_used_at;
};

[[nodiscard]] inline Json to_json(const PrefixView& prefix) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  const auto instant = [](const std::optional<base::Wall>& at) {
    return at ? Json(base::rfc3339(*at)) : Json(nullptr);
  };
  return {{"id", prefix.id},
          {"model", prefix.model},
          {"name", prefix.name},
          {"origin", prefix.origin},
          {"state", prefix.state},
          {"why", or_null(prefix.why)},
          {"key", or_null(prefix.key)},
          {"tokens", or_null(prefix.tokens)},
          {"bytes", or_null(prefix.bytes)},
          {"prefill_ms_per_token", or_null(prefix.prefill_ms_per_token)},
          {"uses", prefix.uses},
          {"saved_at", instant(prefix.saved_at)},
          {"last_used_at", instant(prefix.last_used_at)}};
}

}  // namespace hearth::domain
