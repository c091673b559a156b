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

// The class in which a request asks to be served; it can only lower what the configuration gives the model.
inline constexpr std::string_view kClassHeader = "x-hearth-class";
// Errors: bad_request, naming the classes. Empty: nothing is asked.
[[nodiscard]] base::Status check_class(std::string_view name);

[[nodiscard]] domain::Asker asker_of(const Exchange& exchange, std::optional<domain::KeepAlive> keep_alive = {});

}  // namespace hearth::http
