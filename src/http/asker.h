#pragma once
// Who asks, told from the head of a request: clients share one model, and each one's wish to keep it is its own.
#include <string>
#include <string_view>

#include "domain/asker.h"
#include "http/exchange.h"

namespace hearth::http {

// The name of a client: what it calls itself in `User-Agent`, less its version, and the address that it asks from:
// "ollama-python at 192.168.1.5". Printable, at most 80 bytes.
[[nodiscard]] std::string owner_name(std::string_view user_agent, std::string_view address);

[[nodiscard]] domain::Asker asker_of(const Exchange& exchange, std::optional<domain::KeepAlive> keep_alive = {});

}  // namespace hearth::http
