#pragma once
// Who asks for a model, and how long it is to stay for them afterwards.
#include <optional>
#include <string>

#include "domain/keep_alive.h"

namespace hearth::domain {

struct Asker {
  std::string owner;                    // the client, told from others: whose keep-alive it is; fit for a log line
  std::optional<KeepAlive> keep_alive;  // empty: nothing said
};

}  // namespace hearth::domain
