#pragma once
// Everything around a command that is not its arguments: streams, terminals, environment, time. Tests own all of it.
#include <chrono>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/waterfall.h"

namespace hearth::cli {

struct Console {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  const base::Clock& clock;
  std::function<std::optional<std::string>(const char*)> environment;
  std::function<bool(std::chrono::milliseconds)> pause;  // false: stop what you do
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  std::size_t columns = 0;  // 0: unknown
  WaterfallStyle style = {};
};

// The process's own. `out` and `err` may be any stream; see run().
[[nodiscard]] Console process_console(std::ostream& out, std::ostream& err, const base::Clock& clock);

}  // namespace hearth::cli
