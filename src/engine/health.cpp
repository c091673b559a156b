#include "engine/health.h"

#include "engine/engine_call.h"
#include "rt/deadline.h"

namespace hearth::engine {

rt::Task<Health> ask_health(std::string socket_path, std::chrono::steady_clock::duration limit) {
  constexpr std::size_t kLargestHealth = 8192;
  const auto answer =
      co_await rt::within(limit, ask_engine(std::move(socket_path), "/health", std::string(), kLargestHealth));
  if (!answer || !*answer) co_return Health::silent;
  co_return (*answer)->status == 200 ? Health::ready : Health::loading;
}

}  // namespace hearth::engine
