#include "daemon/tier_library.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

namespace hearth::daemon {
namespace {

using domain::Capability;
using domain::CapabilityState;

constexpr long kPage = 4096;  // the only size of pages that the library works with

}  // namespace

std::string find_tier_library() {
  std::error_code ignored;  // a path that cannot be looked at holds no library for us
  const auto here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& candidate : {here / "libhearth_tier.so", here / "../lib/libhearth_tier.so"}) {
    if (std::filesystem::exists(candidate, ignored)) return candidate;
  }
  return {};
}

bool can_be_preloaded(const std::string& path) { return path.find_first_of(" :") == std::string::npos; }

base::Result<std::string> preloadable(const std::string& library, const std::string& run_folder) {
  if (can_be_preloaded(library)) return library;
  const std::string link = run_folder + "/libhearth_tier.so";
  // A link of an earlier server may lead to where the tree was.
  if (::unlink(link.c_str()) != 0 && errno != ENOENT) return base::fail_errno("removing " + link, errno);
  if (::symlink(library.c_str(), link.c_str()) != 0)
    return base::fail_errno(fmt::format("linking {} to {}", link, library), errno);
  return link;
}

Capability tier_capability(const domain::EngineInfo& engine, const std::string& library, long page_bytes) {
  if (library.empty()) {
    return {"tier", CapabilityState::degraded, "libhearth_tier.so is not where this program would find it",
            "put libhearth_tier.so beside hearth, or into the lib folder beside its bin folder"};
  }
  if (page_bytes != kPage) {
    return {
        "tier", CapabilityState::degraded,
        fmt::format("the kernel's memory pages have {} bytes, and weights can be kept in files with pages of {} only",
                    page_bytes, kPage),
        "boot a kernel with pages of 4 KiB where there is one (Raspberry Pi 5: kernel=kernel8.img in config.txt)"};
  }
  if (engine.tier.available)
    return {"tier", CapabilityState::works, "every interposition point is there", std::nullopt};
  return {"tier", CapabilityState::degraded,
          fmt::format("the engine lacks {} of {} interposition points, the first is {}", engine.tier.missing.size(),
                      engine.tier.missing.size() + engine.tier.present.size(), engine.tier.missing.front()),
          "use a dynamically linked llama-server, such as the one that `hearth engine install` brings"};
}

}  // namespace hearth::daemon
