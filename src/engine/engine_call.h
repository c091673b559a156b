#pragma once
// One short question to an engine over its Unix socket, JSON in and out: template, tokens, slots.
#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"
#include "domain/json.h"
#include "rt/asio.h"

namespace hearth::engine {

// Where a slot is told to "save", "restore" or "erase" what it holds.
[[nodiscard]] std::string slot_target(unsigned slot, std::string_view action);
// The body that names the file to save to or restore from.
[[nodiscard]] std::string slot_file(const std::string& name);

inline constexpr std::size_t kLargestEngineAnswer = 32U << 20;

struct EngineAnswer {
  unsigned status = 0;
  std::string body;
};

// The exchange itself: any answer is one, of whatever status. No deadline of its own. Errors: engine_failed (it closed,
// or its body is larger than `most`), cancelled. `body`: empty asks with GET.
[[nodiscard]] rt::Task<base::Result<EngineAnswer>> ask_engine(std::string socket_path, std::string target,
                                                              std::string body, std::size_t most);

// Errors: engine_failed (it closed, or answered with a status other than 200: with its own words), timeout,
// cancelled. Cancelling, and the limit, close the connection, by which the engine gives the work up where it can.
[[nodiscard]] rt::Task<base::Result<domain::Json>> call_engine(std::string socket_path, std::string target,
                                                               std::string body, std::chrono::milliseconds limit);

}  // namespace hearth::engine
