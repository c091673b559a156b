#pragma once
// Where the sockets of running engines lie: a folder that only this user can enter.
#include <filesystem>
#include <string>

#include "base/result.h"
#include "sys/files.h"

namespace hearth::daemon {

// <data>/run/engines, or, where that is too long for a Unix socket's path (107 bytes) or has what LD_PRELOAD would be
// split at, a folder of this data directory's own in /tmp. Made with mode 0700. Errors: permission when it is there and
// belongs to somebody else, or others may enter.
[[nodiscard]] base::Result<std::string> make_run_folder(sys::Files& files, const std::filesystem::path& data_dir);

}  // namespace hearth::daemon
