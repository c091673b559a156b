#pragma once
// What becomes of a task that ended by an exception: a fault of ours, told in the log; the process goes on.
#include <string>

#include "rt/task_group.h"

namespace hearth::rt {

// `what`: "a connection". Logs "a connection ended by a fault of ours: …".
[[nodiscard]] TaskGroup::CrashHandler log_crash_of(std::string what);

}  // namespace hearth::rt
