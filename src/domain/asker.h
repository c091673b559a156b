#pragma once
// Who asks for a model, in what class, and how long it is to stay for them afterwards.
#include <optional>
#include <string>

#include "domain/keep_alive.h"
#include "domain/model.h"

namespace hearth::domain {

struct Asker {
  std::string owner;                    // the client, told from others: whose keep-alive it is; fit for a log line
  std::optional<KeepAlive> keep_alive;  // empty: nothing said
  // What the request asks to be treated as; it can only lower what the configuration gives the model.
  std::optional<ServiceClass> service_class = std::nullopt;
};

}  // namespace hearth::domain
