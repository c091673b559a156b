#include "engine/install.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/scope_exit.h"
#include "engine/backends.h"
#include "engine/command.h"
#include "engine/engine_prefix.h"
#include "engine/machine_packages.h"

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;
using base::Status;
using domain::EngineInfo;

constexpr std::string_view kTemporary = ".tmp-";
constexpr std::string_view kMendByHand =
    "install a llama-server of llama.cpp yourself and put it on PATH, or name it as [engine] command in the "
    "configuration";

std::string described(const EngineInfo& engine) {
  return fmt::format("llama-server {} (build {})", engine.version, engine.build.value_or("unknown"));
}

// Progress, also where the caller wants none.
class Teller {
 public:
  explicit Teller(const Progress& progress) : progress_(progress) {}
  void operator()(std::string_view step, std::optional<double> fraction = std::nullopt) const {
    if (progress_) progress_(step, fraction);
  }

 private:
  const Progress& progress_;
};

Status make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::fail_errno(fmt::format("making {}", folder.string()), error.value());
  return {};
}

// Held until it goes out of scope; the kernel drops it when we die.
Result<base::Fd> take_lock(const fs::path& engines, std::chrono::milliseconds deadline, const Teller& tell) {
  const fs::path path = engines / ".lock";
  base::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return base::fail_errno(fmt::format("opening {}", path.string()), errno);
  const base::Mono until = base::SystemClock().now() + deadline;
  bool told = false;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return base::fail_errno(fmt::format("locking {}", path.string()), errno);
    if (!std::exchange(told, true)) tell("another installer is at work: waiting for it");
    if (base::SystemClock().now() >= until) {
      return base::fail(ErrorCode::in_use, "another installer is still at work; try again when it has ended");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return fd;
}

// REQUIRES: the lock is held, so whoever made them is dead.
void sweep_remains(const fs::path& engines, const Teller& tell) {
  std::vector<fs::path> remains;
  std::error_code error;
  for (fs::directory_iterator entry(engines, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kTemporary)) remains.push_back(entry->path());
  }
  for (const fs::path& folder : remains) {
    tell(fmt::format("removing what an interrupted install left: {}", folder.filename().string()));
    fs::remove_all(folder, error);
    if (error) tell(fmt::format("{} could not be removed: {}", folder.string(), error.message()));
  }
}

Result<fs::path> make_temporary(const fs::path& engines) {
  std::string name = (engines / fmt::format("{}XXXXXX", kTemporary)).string();
  if (::mkdtemp(name.data()) == nullptr)
    return base::fail_errno(fmt::format("making a folder in {}", engines.string()), errno);
  if (::chmod(name.c_str(), 0755) != 0) return base::fail_errno(fmt::format("opening up {}", name), errno);
  return fs::path(name);
}

OsRelease read_os_release(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return parse_os_release(std::string(std::istreambuf_iterator<char>(file), {}));
}

bool succeeds(const std::string& search_path, std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  command.search_path = search_path;
  const auto result = run_command(command);
  return result && result->exit_status == 0;
}

// The machine's own package manager installs the engine.
class SystemInstall {
 public:
  SystemInstall(const InstallOptions& options, const Teller& tell) : options_(options), tell_(tell) {}

  [[nodiscard]] bool candidate_known() const {
    Command command;
    command.argv = {"apt-cache", "policy", kEnginePackage};
    command.search_path = options_.catalogue.search_path;
    command.environment = {{"LC_ALL", "C"}};
    command.deadline = std::chrono::seconds(60);
    const auto output = run_checked(command);
    return output && has_candidate(*output);
  }

  [[nodiscard]] Result<EngineInfo> run(bool candidate) const {
    if (!candidate) {
      if (auto updated = apt({"update"}, "fetching the system's package index", options_.deadline); !updated)
        return base::pass(updated);
    }
    const std::vector<std::string> install = {"install", "-y", "--no-install-recommends"};
    const std::string package(kEnginePackage);
    auto fetched = apt(joined(install, {"--download-only", package}),
                       fmt::format("downloading the system's package {}", package), options_.deadline);
    if (!fetched) return base::pass(fetched);
    auto installed =
        apt(joined(install, {package}), fmt::format("installing the system's package {}", package), std::nullopt);
    if (!installed) return base::pass(installed);
    return find_engine(options_.catalogue);
  }

 private:
  static std::vector<std::string> joined(std::vector<std::string> one, const std::vector<std::string>& other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
  }

  [[nodiscard]] Status apt(std::vector<std::string> arguments, const std::string& step,
                           std::optional<std::chrono::milliseconds> deadline) const {
    Command command;
    if (!options_.is_root) command.argv = {"sudo", "-n"};
    std::ranges::copy(std::initializer_list<const char*>{"apt-get", "-q", "-o", "APT::Status-Fd=1"},
                      std::back_inserter(command.argv));
    std::ranges::move(arguments, std::back_inserter(command.argv));
    command.search_path = options_.catalogue.search_path;
    command.environment = {{"LC_ALL", "C"}, {"DEBIAN_FRONTEND", "noninteractive"}};
    command.deadline = deadline;
    command.output_limit = 1 << 20;
    command.die_with_caller = false;  // dpkg must not be stopped half-way
    command.on_line = [this, &step](std::string_view line) {
      if (const auto fraction = parse_download_status(line)) tell_(step, fraction);
    };
    tell_(step);
    auto result = run_command(command);
    if (!result) return base::pass(result, step);
    if (result->exit_status != 0)
      return base::fail(ErrorCode::io, fmt::format("{}: apt says: {}", step, apt_complaint(result->output)));
    return {};
  }

  const InstallOptions& options_;
  const Teller& tell_;
};

// Debian's packages unpacked into a folder of ours. REQUIRES: the lock is held while it runs.
class PrivateInstall {
 public:
  PrivateInstall(const InstallOptions& options, OsRelease os, const Progress& progress, const Teller& tell)
      : options_(options),
        os_(std::move(os)),
        progress_(progress),
        tell_(tell),
        engines_(fs::absolute(options.catalogue.data_dir / "engines")) {}

  // The folder of the finished engine.
  [[nodiscard]] Result<fs::path> run() {
    auto temporary = make_temporary(engines_);
    if (!temporary) return base::pass(temporary);
    const base::ScopeExit remove([folder = *temporary] {
      std::error_code ignored;  // what stays is swept by the next run
      fs::remove_all(folder, ignored);
    });
    const fs::path root = *temporary / "root";
    for (const fs::path& folder : {root, *temporary / "apt"}) {
      if (auto made = make_folder(folder); !made) return base::pass(made);
    }
    auto apt = prepare_apt(*temporary / "apt");
    if (!apt) return base::pass(apt);
    auto packages = fetch(*apt);
    if (!packages) return base::pass(packages);
    if (auto unpacked = unpack(*packages, apt->archives(), root); !unpacked) return base::pass(unpacked);
    auto record = try_out(root, *packages);
    if (!record) return base::pass(record);
    record->expiry_waived = apt->expiry_waived();
    return publish(root, *record);
  }

 private:
  [[nodiscard]] Result<PrivateApt> prepare_apt(const fs::path& folder) {
    auto host = read_host_apt(options_.catalogue.search_path);
    if (!host) return base::pass(host);
    const auto mirror = choose_mirror(host->sources, os_.codename);
    if (!mirror) {
      return base::fail(
          ErrorCode::unsupported,
          fmt::format("apt's configuration names no mirror of Debian {}; add one, or {}", os_.codename, kMendByHand));
    }
    const auto known = find_architecture(host->architecture);
    if (!known)
      return base::fail(ErrorCode::unsupported, fmt::format("no engine is made here for the architecture {}; {}",
                                                            host->architecture, kMendByHand));
    architecture_ = *known;
    suite_ = has_package_of_its_own(os_) ? mirror->suite : kFirstSuite;
    auto keyring = keyring_of(*mirror);
    if (!keyring) return base::pass(keyring);
    return PrivateApt::create({.folder = folder,
                               .search_path = options_.catalogue.search_path,
                               .mirror = *mirror,
                               .keyring = *keyring,
                               .suite = suite_,
                               .host = *std::move(host),
                               .deadline = options_.deadline});
  }

  [[nodiscard]] Result<std::vector<PlannedPackage>> fetch(PrivateApt& apt) {
    if (auto updated = apt.update(progress_); !updated) return base::pass(updated);
    tell_(fmt::format("working out what {} needs", kEnginePackage));
    auto packages = apt.plan(kEnginePackage);
    if (!packages) return base::pass(packages);
    base::Bytes total = 0;
    for (const PlannedPackage& package : *packages)
      total += package.record.bytes;
    tell_(fmt::format("{} packages, {} to download", packages->size(), base::format_bytes(total)));
    if (auto fetched = apt.download(kEnginePackage, progress_); !fetched) return base::pass(fetched);
    return packages;
  }

  [[nodiscard]] Status unpack(const std::vector<PlannedPackage>& packages, const fs::path& archives,
                              const fs::path& root) const {
    double done = 0;
    for (const PlannedPackage& package : packages) {
      tell_(fmt::format("unpacking {}", package.record.name), done++ / static_cast<double>(packages.size()));
      Command command;
      command.argv = {"dpkg-deb", "-x", (archives / package.file).string(), root.string()};
      command.search_path = options_.catalogue.search_path;
      command.environment = {{"LC_ALL", "C"}};
      command.deadline = options_.deadline;
      auto output = run_checked(command);
      if (output) continue;
      if (output.error().message.find("No space left on device") != std::string::npos)
        output.error().code = ErrorCode::no_space;
      return base::pass(output, fmt::format("unpacking {}", package.record.name));
    }
    return {};
  }

  [[nodiscard]] Result<InstallRecord> try_out(const fs::path& root, const std::vector<PlannedPackage>& packages) const {
    auto backends = link_backends(prefix_libraries(root, architecture_));
    if (!backends) return base::pass(backends);
    tell_("trying the engine out");
    auto version = ask_version(prefix_command(root, architecture_), options_.catalogue.version_deadline);
    if (!version) return base::pass(version, "the engine was unpacked but does not run");
    if (!version->build) return base::fail(ErrorCode::corrupt, "the engine was unpacked but does not tell its build");
    InstallRecord record{.version = version->version,
                         .build = *version->build,
                         .package_version = {},
                         .architecture = std::string(architecture_.debian),
                         .suite = suite_,
                         .installed_at = base::rfc3339(options_.clock->wall()),
                         .expiry_waived = false,
                         .packages = {}};
    for (const PlannedPackage& package : packages) {
      if (package.record.name == kEnginePackage) record.package_version = package.record.version;
      record.packages.push_back(package.record);
    }
    return record;
  }

  // Flushes the tree with its record to disk and gives it its name.
  [[nodiscard]] Result<fs::path> publish(const fs::path& root, const InstallRecord& record) const {
    const fs::path target = engines_ / folder_name(record);
    std::ofstream file(root / "install.json", std::ios::binary);
    file << record_to_json(record);
    file.close();
    if (!file) return base::fail_errno(fmt::format("writing {}", (root / "install.json").string()), errno);
    const base::Fd folder(::open(engines_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::syncfs(folder.get()) != 0)
      return base::fail_errno(fmt::format("flushing {}", engines_.string()), errno);
    if (auto clear = clear_target(target); !clear) return base::pass(clear);
    if (::rename(root.c_str(), target.c_str()) != 0)
      return base::fail_errno(fmt::format("naming {}", target.string()), errno);
    if (::fsync(folder.get()) != 0) return base::fail_errno(fmt::format("flushing {}", engines_.string()), errno);
    return target;
  }

  // Something of that name is in the way: the same version, damaged (or to be made again). It is moved into a name that
  // the next run sweeps, so that no instant has half of it under the good name.
  [[nodiscard]] Status clear_target(const fs::path& target) const {
    std::error_code error;
    if (!fs::exists(fs::symlink_status(target, error))) return {};
    const fs::path aside = engines_ / fmt::format("{}old-{}", kTemporary, target.filename().string());
    fs::remove_all(aside, error);
    if (::rename(target.c_str(), aside.c_str()) != 0)
      return base::fail_errno(fmt::format("setting {} aside", target.string()), errno);
    fs::remove_all(aside, error);
    return {};
  }

  static std::string folder_name(const InstallRecord& record) {
    std::string version = record.package_version.substr(record.package_version.find(':') + 1);
    const auto is_plain = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '+' ||
             c == '~' || c == '-';
    };
    std::ranges::replace_if(version, std::not_fn(is_plain), '_');
    return fmt::format("llama-server-{}-{}", record.build, version);
  }

  const InstallOptions& options_;
  OsRelease os_;
  const Progress& progress_;
  const Teller& tell_;
  fs::path engines_;
  PrefixArchitecture architecture_{};
  std::string suite_;
};

// The catalogue's answer when there is one; nothing when an engine has to be installed.
Result<std::optional<EngineInfo>> find_existing(const InstallOptions& options, const Teller& tell) {
  auto found = find_engine(options.catalogue);
  if (found) {
    tell(fmt::format("{} is there already: {}", described(*found), found->command.back()));
    return *std::move(found);
  }
  if (found.error().code == ErrorCode::not_found && options.catalogue.configured.empty()) return std::nullopt;
  return base::pass(found);
}

Result<EngineInfo> find_installed(const InstallOptions& options, const fs::path& folder) {
  auto engines = list_engines(options.catalogue);
  if (!engines) return base::pass(engines);
  const std::string program = prefix_program(folder).string();
  const auto found =
      std::ranges::find_if(*engines, [&program](const EngineInfo& e) { return e.command.back() == program; });
  if (found == engines->end())
    return base::fail(ErrorCode::internal, fmt::format("{} was installed but is not found again", folder.string()));
  return *found;
}

Result<EngineInfo> install_privately(const InstallOptions& options, const OsRelease& os, const Progress& progress,
                                     const Teller& tell) {
  PrivateInstall install(options, os, progress, tell);
  auto folder = install.run();
  if (!folder) return base::pass(folder);
  auto engine = find_installed(options, *folder);
  if (engine) tell(fmt::format("{} is installed in {}", described(*engine), folder->string()), 1.0);
  return engine;
}

Result<EngineInfo> install_now(const InstallOptions& options, const Progress& progress, const Teller& tell) {
  const std::string& path = options.catalogue.search_path;
  if (find_program("apt-get", path.empty() ? own_search_path() : path).empty()) {
    return base::fail(ErrorCode::unsupported, fmt::format("this machine has no apt-get; {}", kMendByHand));
  }
  const OsRelease os = read_os_release(options.os_release);
  const SystemInstall system(options, tell);
  const bool candidate = system.candidate_known();
  const bool may_change = options.is_root || succeeds(path, {"sudo", "-n", "true"});
  switch (choose_way(os, candidate, may_change)) {
    case InstallWay::system:
      return system.run(candidate);
    case InstallWay::private_prefix:
      return install_privately(options, os, progress, tell);
    case InstallWay::none:
      break;
  }
  if (candidate)
    return base::fail(ErrorCode::permission,
                      fmt::format("installing a package needs root; run: sudo apt-get install {}", kEnginePackage));
  return base::fail(ErrorCode::unsupported,
                    fmt::format("this machine's package mirrors have no {}; {}", kEnginePackage, kMendByHand));
}

}  // namespace

bool InstallOptions::running_as_root() { return ::geteuid() == 0; }

const base::Clock& InstallOptions::system_clock() {
  static const base::SystemClock clock;
  return clock;
}

Result<EngineInfo> install_engine(const InstallOptions& options, const Progress& progress) {
  const Teller tell(progress);
  if (!options.upgrade) {
    auto existing = find_existing(options, tell);
    if (!existing) return base::pass(existing);
    if (*existing) return **std::move(existing);
  }
  const fs::path engines = fs::absolute(options.catalogue.data_dir / "engines");
  if (auto made = make_folder(engines); !made) return base::pass(made);
  auto lock = take_lock(engines, options.deadline, tell);
  if (!lock) return base::pass(lock);
  sweep_remains(engines, tell);
  if (!options.upgrade) {
    auto existing = find_existing(options, tell);
    if (!existing) return base::pass(existing);
    if (*existing) return **std::move(existing);
  }
  return install_now(options, progress, tell);
}

}  // namespace hearth::engine
