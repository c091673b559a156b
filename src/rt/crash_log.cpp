#include "rt/crash_log.h"

#include <spdlog/spdlog.h>

namespace hearth::rt {

TaskGroup::CrashHandler log_crash_of(std::string what) {
  return [what = std::move(what)](const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      spdlog::error("{} ended by a fault of ours: {}", what, error.what());
    }
  };
}

}  // namespace hearth::rt
