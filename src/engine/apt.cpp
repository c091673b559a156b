#include "engine/apt.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>

#include "base/text.h"
#include "engine/command.h"

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kDebianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<std::string> ask(const std::string& search_path, std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  command.search_path = search_path;
  command.environment = {{"LC_ALL", "C"}};
  return run_checked(command);
}

// NAME='value' lines of `apt-config shell`.
std::map<std::string, std::string> parse_shell(std::string_view output) {
  std::map<std::string, std::string> values;
  for (const std::string_view line : base::split(output, '\n')) {
    const auto equals = line.find("='");
    if (equals == std::string_view::npos || !line.ends_with('\'')) continue;
    values.emplace(line.substr(0, equals), line.substr(equals + 2, line.size() - equals - 3));
  }
  return values;
}

std::vector<AptSource> read_sources(const fs::path& list, const fs::path& parts) {
  std::vector<AptSource> sources = parse_list_file(read_text(list));
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(parts, error), end; !error && entry != end; entry.increment(error))
    files.push_back(entry->path());
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    std::vector<AptSource> more;
    if (file.extension() == ".list") more = parse_list_file(read_text(file));
    if (file.extension() == ".sources") more = parse_sources_file(read_text(file));
    std::ranges::move(more, std::back_inserter(sources));
  }
  return sources;
}

// Of the host's configuration only what says how to reach a mirror: hooks and folders must not be taken along.
bool is_transport_setting(std::string_view line) {
  constexpr std::array<std::string_view, 6> kWanted = {"Acquire::http::",     "Acquire::https::",
                                                       "Acquire::ftp::",      "Acquire::Retries ",
                                                       "Acquire::ForceIPv4 ", "Acquire::ForceIPv6 "};
  return std::ranges::any_of(kWanted, [line](std::string_view start) { return line.starts_with(start); });
}

std::string user_name() {
  const passwd* user = ::getpwuid(::geteuid());
  return user != nullptr ? user->pw_name : std::to_string(::geteuid());
}

std::string quoted(const std::string& value) { return "\"" + value + "\""; }

std::string configuration(const PrivateApt::Options& options) {
  const std::string folder = options.folder.string();
  std::string text;
  const auto set = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("{} {};\n", name, quoted(value));
  };
  set("Dir::Etc::main", "/dev/null");
  set("Dir::Etc::parts", "/dev/null");
  set("Dir::Etc::sourcelist", folder + "/sources.list");
  set("Dir::Etc::sourceparts", "/dev/null");
  set("Dir::Etc::preferences", "/dev/null");
  set("Dir::Etc::preferencesparts", "/dev/null");
  set("Dir::State", folder + "/state");
  set("Dir::State::status", folder + "/state/status");
  set("Dir::Cache", folder + "/cache");
  set("Dir::Log", folder + "/log");
  set("APT::Architecture", options.host.architecture);
  text += fmt::format("APT::Architectures {{ {}; }};\n", quoted(options.host.architecture));
  set("APT::Sandbox::User", user_name());
  set("APT::Install-Recommends", "false");
  set("APT::Get::Assume-Yes", "true");
  set("APT::Status-Fd", "1");
  set("Acquire::Languages", "none");
  set("Acquire::ForceHash", "SHA256");
  for (const std::string& line : options.host.transport)
    text += line + "\n";
  return text;
}

base::Status write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return base::fail_errno(fmt::format("writing {}", path.string()), errno);
  return {};
}

// "libllama0_1%3a0.7.0+dfsg-2_amd64.deb" -> name, version, architecture.
std::optional<PackageRecord> package_of_file(std::string_view file) {
  constexpr std::string_view kSuffix = ".deb";
  if (!file.ends_with(kSuffix) || file.find('/') != std::string_view::npos) return std::nullopt;
  const auto pieces = base::split(file.substr(0, file.size() - kSuffix.size()), '_');
  if (pieces.size() != 3 || pieces[0].empty() || pieces[1].empty()) return std::nullopt;
  std::string version(pieces[1]);
  if (const auto colon = version.find("%3a"); colon != std::string::npos) version.replace(colon, 3, ":");
  return PackageRecord{.name = std::string(pieces[0]),
                       .version = version,
                       .architecture = std::string(pieces[2]),
                       .bytes = 0,
                       .sha256 = {}};
}

std::vector<std::string_view> errors_of(std::string_view output) {
  std::vector<std::string_view> errors;
  for (const std::string_view line : base::split(output, '\n')) {
    if (line.starts_with("E: ")) errors.push_back(line.substr(3));
  }
  return errors;
}

base::Error apt_error(std::string_view what, std::string_view output) {
  const bool full = output.find("No space left on device") != std::string_view::npos ||
                    output.find("You don't have enough free space") != std::string_view::npos;
  const ErrorCode code = full ? ErrorCode::no_space : ErrorCode::io;
  return base::fail(code, fmt::format("{}: apt says: {}", what, apt_complaint(output))).error();
}

}  // namespace

Result<HostApt> read_host_apt(const std::string& search_path) {
  auto files =
      ask(search_path, {"apt-config", "shell", "LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"});
  if (!files) return base::pass(files, "reading apt's configuration");
  auto settings = ask(search_path, {"apt-config", "dump"});
  if (!settings) return base::pass(settings, "reading apt's configuration");
  auto architecture = ask(search_path, {"dpkg", "--print-architecture"});
  if (!architecture) return base::pass(architecture, "asking dpkg for the architecture");
  HostApt host;
  const auto values = parse_shell(*files);
  const auto value = [&values](const char* name) { return values.contains(name) ? values.at(name) : std::string(); };
  host.sources = read_sources(value("LIST"), value("PARTS"));
  host.architecture = base::trim(*architecture);
  for (const std::string_view line : base::split(*settings, '\n')) {
    if (is_transport_setting(line)) host.transport.emplace_back(line);
  }
  return host;
}

Result<std::string> keyring_of(const Mirror& mirror) {
  std::error_code error;
  const bool debian = mirror.signed_by.empty() || mirror.signed_by.find("/debian-archive-") != std::string::npos;
  if (!debian) return mirror.signed_by;
  if (fs::exists(kDebianKeyring, error)) return std::string(kDebianKeyring);
  return base::fail(ErrorCode::not_found,
                    fmt::format("{} is missing, so Debian's signatures cannot be checked; install the package "
                                "debian-archive-keyring",
                                kDebianKeyring));
}

Result<PrivateApt> PrivateApt::create(Options options) {
  if (options.folder.string().find_first_of("\"\n") != std::string::npos) {
    return base::fail(ErrorCode::unsupported, fmt::format("apt cannot work in {}: the name has a quote or a line end",
                                                          options.folder.string()));
  }
  for (const char* folder : {"state/lists/partial", "cache/archives/partial", "log"}) {
    std::error_code error;
    fs::create_directories(options.folder / folder, error);
    if (error) return base::fail_errno(fmt::format("making {}", (options.folder / folder).string()), error.value());
  }
  const std::string source = fmt::format("deb [arch={} signed-by={}] {} {} main\n", options.host.architecture,
                                         options.keyring, options.mirror.uri, options.suite);
  for (const auto& [name, text] : {std::pair<const char*, std::string>{"sources.list", source},
                                   {"state/status", ""},
                                   {"apt.conf", configuration(options)}}) {
    if (auto written = write_text(options.folder / name, text); !written) return base::pass(written);
  }
  return PrivateApt(std::move(options));
}

Result<std::string> PrivateApt::run(std::vector<std::string> arguments, const std::string& step,
                                    const Progress& progress) const {
  Command command;
  command.argv = {"apt-get", "-q"};
  if (expiry_waived_) command.argv.insert(command.argv.end(), {"-o", "Acquire::Check-Valid-Until=false"});
  std::ranges::move(arguments, std::back_inserter(command.argv));
  command.search_path = options_.search_path;
  command.environment = {
      {"LC_ALL", "C"}, {"APT_CONFIG", (options_.folder / "apt.conf").string()}, {"DEBIAN_FRONTEND", "noninteractive"}};
  command.deadline = options_.deadline;
  command.output_limit = 1 << 20;
  command.on_line = [&step, &progress](std::string_view line) {
    if (const auto fraction = parse_download_status(line); fraction && progress) progress(step, fraction);
  };
  auto result = run_command(command);
  if (!result) return base::pass(result, step);
  // apt exits with 0 where it fell back to lists of an earlier run; there are none here, but an error is an error.
  if (result->exit_status != 0 || !errors_of(result->output).empty()) {
    auto error = apt_error(step, result->output);
    if (only_expired(result->output)) error.code = ErrorCode::corrupt;
    return std::unexpected(std::move(error));
  }
  return std::move(result->output);
}

base::Status PrivateApt::update(const Progress& progress) {
  const std::string step =
      fmt::format("fetching the package index of Debian {} from {}", options_.suite, options_.mirror.uri);
  auto first = run({"update"}, step, progress);
  if (first) return {};
  if (first.error().code != ErrorCode::corrupt) return base::pass(first);
  expiry_waived_ = true;
  if (progress)
    progress(
        "the mirror's index is past its date (the mirror is stale): using it all the same, its signature is still "
        "checked",
        {});
  auto second = run({"update"}, step, progress);
  if (!second) return base::pass(second);
  return {};
}

Result<std::vector<PlannedPackage>> PrivateApt::plan(const std::string& package) {
  auto output = run({"install", "--print-uris", package}, fmt::format("resolving {}", package), {});
  if (!output) {
    const bool unknown = output.error().message.find("Unable to locate package") != std::string::npos;
    if (unknown)
      return base::fail(ErrorCode::not_found,
                        fmt::format("Debian {} on {} has no package {}", options_.suite, options_.mirror.uri, package));
    return base::pass(output);
  }
  return parse_print_uris(*output);
}

base::Status PrivateApt::download(const std::string& package, const Progress& progress) {
  auto output =
      run({"install", "--download-only", package}, fmt::format("downloading {} and what it needs", package), progress);
  if (!output) return base::pass(output);
  return {};
}

std::optional<double> parse_download_status(std::string_view line) {
  const auto pieces = base::split(line, ':');
  if (pieces.size() < 3 || pieces[0] != "dlstatus") return std::nullopt;
  double percent = 0;
  const auto [end, error] = std::from_chars(pieces[2].data(), pieces[2].data() + pieces[2].size(), percent);
  if (error != std::errc() || end != pieces[2].data() + pieces[2].size() || !std::isfinite(percent))
    return std::nullopt;
  return std::clamp(percent / 100, 0.0, 1.0);
}

Result<std::vector<PlannedPackage>> parse_print_uris(std::string_view output) {
  std::vector<PlannedPackage> packages;
  for (const std::string_view line : base::split(output, '\n')) {
    if (!line.starts_with('\'')) continue;
    const auto close = line.find("' ", 1);
    const auto pieces =
        close == std::string_view::npos ? std::vector<std::string_view>() : base::split(line.substr(close + 2), ' ');
    auto record = pieces.size() >= 2 ? package_of_file(pieces[0]) : std::nullopt;
    const bool sized =
        record &&
        std::from_chars(pieces[1].data(), pieces[1].data() + pieces[1].size(), record->bytes).ec == std::errc();
    if (!sized)
      return base::fail(ErrorCode::corrupt,
                        fmt::format("apt's plan has a line that is not understood: {}", base::printable(line, 200)));
    constexpr std::string_view kDigest = "SHA256:";
    if (pieces.size() > 2 && pieces[2].starts_with(kDigest)) record->sha256 = pieces[2].substr(kDigest.size());
    packages.push_back({.record = *std::move(record), .file = std::string(pieces[0])});
  }
  if (packages.empty()) return base::fail(ErrorCode::corrupt, "apt's plan names no package");
  return packages;
}

bool only_expired(std::string_view output) {
  const auto errors = errors_of(output);
  const auto expired = [](std::string_view error) {
    return error.starts_with("Release file for ") &&
           error.find(" is expired (invalid since ") != std::string_view::npos;
  };
  return !errors.empty() && std::ranges::all_of(errors, expired);
}

std::string apt_complaint(std::string_view output) {
  const auto errors = errors_of(output);
  return errors.empty() ? last_words(output) : base::printable(errors.front(), 300);
}

}  // namespace hearth::engine
