#pragma once
// A change of one layer of one model: what, when, bytes, who, why (native API: /events).
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "domain/layer.h"

namespace hearth::domain {

struct Event {
  std::uint64_t id = 0;  // ascending, given by the log
  base::Wall at;
  std::string what;  // "process_started", "process_stopped", "process_failed", "artifact_imported", …
  std::optional<std::string> model;
  std::optional<Layer> layer;
  std::optional<base::Bytes> bytes;
  std::optional<std::string> by;  // "request 01h…", "server", "engine"
  std::optional<std::string> why;
};

}  // namespace hearth::domain
