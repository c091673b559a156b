#pragma once
// What the composition root decides of a model's prefixes before its engine starts. Plain values.
#include <optional>
#include <string>

#include "domain/json.h"
#include "domain/model_id.h"
#include "prefix/exact_reuse.h"

namespace hearth::keeper {

struct PrefixPlan {
  domain::ModelId model;
  std::string model_digest;
  std::string engine;        // its id
  std::string engine_build;  // what the running engine's build_info must contain
  std::string fingerprint;
  unsigned slots = 1;
  bool exact = false;                     // answers are to be those of an uncached run, bit for bit
  std::optional<prefix::BatchRule> rule;  // for that; empty: not known, so that nothing is reused where `exact`
};

// The beginning of a prompt that somebody declared.
struct DeclaredPrefix {
  std::string id;  // 16 hexadecimal digits
  domain::ModelId model;
  std::string name;
  // What is rendered: {"messages": […], "tools": […]} or {"prompt": "…"}.
  domain::Json request;
  bool from_config = false;
};

}  // namespace hearth::keeper
