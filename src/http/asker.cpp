#include "http/asker.h"

#include "base/text.h"

namespace hearth::http {

std::string owner_name(std::string_view user_agent, std::string_view address) {
  const std::string_view product = user_agent.substr(0, user_agent.find_first_of("/ ;("));
  const std::string name = product.empty() ? "a client" : base::printable(product, 32);
  return name + " at " + base::printable(address, 42);
}

base::Status check_class(std::string_view name) {
  if (name.empty() || domain::service_class_named(name)) return {};
  return base::fail(base::ErrorCode::bad_request,
                    "the header " + std::string(kClassHeader) + " must be voice, interactive or background");
}

domain::Asker asker_of(const Exchange& exchange, std::optional<domain::KeepAlive> keep_alive) {
  return {.owner = owner_name(exchange.head()[beast::http::field::user_agent], exchange.peer_address()),
          .keep_alive = keep_alive,
          .service_class = domain::service_class_named(exchange.head()[kClassHeader])};
}

}  // namespace hearth::http
