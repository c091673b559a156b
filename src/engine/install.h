#pragma once
// `hearth engine install`: sees to it that this machine has a usable llama-server.
//
// Does nothing where the catalogue finds one. Otherwise, on a machine whose own Debian (forky or later) or Ubuntu has
// the package, apt-get installs it, as root or through `sudo -n`. On an older Debian, and on a newer one without root,
// Debian's packages are unpacked into a private folder below <data>/engines (engine_prefix.h), which needs no root.
// Anywhere else the error says what to install. Signatures are checked by apt in every case.
//
// The private way is atomic: all is made in .tmp-<random>, run once, flushed to disk and renamed. An interrupted run
// leaves what was there before; its remains are removed by the next one. Of two installers at once, one waits and finds
// it done.
//
// Blocking, some seconds with a near mirror: the command line's main thread. Ctrl-C may end it at any instant.
#include <chrono>
#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "domain/engine_info.h"
#include "engine/apt.h"
#include "engine/catalogue.h"

namespace hearth::engine {

struct InstallOptions {
  // Where engines are looked for, and the data directory to install into. `search_path` also finds apt-get and
  // dpkg-deb.
  CatalogueOptions catalogue;
  // Fetch what the mirror has now even if a usable engine is there. An install of that same version is kept.
  bool upgrade = false;
  // os-release(5) of this machine.
  std::filesystem::path os_release = "/etc/os-release";
  // Whether apt-get may change the system: our own effective user by default.
  bool is_root = running_as_root();
  // How long one run of apt-get, or waiting for another installer, may take. Not where apt-get has packages installed:
  // dpkg is never stopped half-way.
  std::chrono::milliseconds deadline{900'000};
  const base::Clock* clock = &system_clock();

  static bool running_as_root();
  static const base::Clock& system_clock();
};

// The engine to use from now on. `progress` is told of every step, on the calling thread; it may be empty.
// Errors: unsupported (no way for this machine; what to install), permission, no_space, in_use, timeout, io, corrupt.
[[nodiscard]] base::Result<domain::EngineInfo> install_engine(const InstallOptions& options, const Progress& progress);

}  // namespace hearth::engine
