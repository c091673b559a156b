#include "daemon/run_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "daemon/tier_library.h"
#include "engine/launch.h"

namespace hearth::daemon {
namespace {

constexpr std::size_t kLongestSocketName = 32;  // "/0123456789abcdef-4294967295.sock" and a little

// FNV-1a, 64 bits: a stable name for a path, nothing more.
std::uint64_t name_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

base::Status check_private(const std::string& folder) {
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0) return base::fail_errno("looking at " + folder, errno);
  const bool ours = S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid() && (facts.st_mode & 0077) == 0;
  if (ours) return {};
  return base::fail(base::ErrorCode::permission,
                    folder + " is not a private folder of this user; remove it, or give its mode as 0700");
}

}  // namespace

base::Result<std::string> make_run_folder(sys::Files& files, const std::filesystem::path& data_dir) {
  std::string folder = data_dir / "run" / "engines";
  if (folder.size() + kLongestSocketName > engine::kSocketPathLimit || !can_be_preloaded(folder)) {
    folder = fmt::format("/tmp/hearth-{}-{:016x}", ::geteuid(), name_hash(data_dir.native()));
  }
  if (auto made = files.ensure_directory(folder, 0700); !made) return base::pass(made);
  if (auto good = check_private(folder); !good) return base::pass(good);
  return folder;
}

}  // namespace hearth::daemon
