#pragma once
// What the composition root decides of a model's prefixes before its engine starts. Plain values.
#include <string>

#include "domain/json.h"
#include "domain/model_id.h"

namespace hearth::keeper {

struct PrefixPlan {
  domain::ModelId model;
  std::string model_digest;
  std::string engine;        // its id
  std::string engine_build;  // what the running engine's build_info must contain
  std::string fingerprint;
  unsigned slots = 1;
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
