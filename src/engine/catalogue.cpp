#include "engine/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "engine/backends.h"
#include "engine/command.h"
#include "engine/engine_prefix.h"
#include "engine/locate.h"
#include "engine/tier_points.h"

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;
using domain::EngineInfo;

// One way to run an engine, not yet known to work.
struct Candidate {
  std::string origin;
  std::vector<std::string> command;
  std::string program;               // the ELF file to judge
  std::string loaded_from;           // what /proc/self/exe will be: ggml looks for backends beside it
  std::vector<std::string> folders;  // library path given on the command line
};

Candidate plain_candidate(std::string origin, const std::string& path) {
  std::error_code error;
  const std::string absolute = fs::absolute(path, error).lexically_normal().string();
  const fs::path real = fs::canonical(absolute, error);
  const std::string program = error ? absolute : real.string();
  return {
      .origin = std::move(origin), .command = {absolute}, .program = program, .loaded_from = program, .folders = {}};
}

// A command as the configuration writes it: a program, or a loader that is given a library path and the program.
Candidate configured_candidate(const std::vector<std::string>& command, const std::string& search_path) {
  const bool bare = command.front().find('/') == std::string::npos;
  const std::string found = bare ? find_program(command.front(), search_path) : command.front();
  Candidate candidate = plain_candidate("config", found.empty() ? command.front() : found);
  candidate.command.insert(candidate.command.end(), command.begin() + 1, command.end());
  const auto option = std::ranges::find(command, "--library-path");
  if (option == command.end() || option + 1 == command.end() || option + 2 == command.end()) return candidate;
  candidate.program = plain_candidate("config", command.back()).program;
  for (const std::string_view folder : base::split(*(option + 1), ':'))
    candidate.folders.emplace_back(folder);
  return candidate;
}

Candidate prefix_candidate(const InstalledPrefix& prefix) {
  auto command = prefix_command(prefix.folder, prefix.architecture);
  std::string loader = command.front();
  return {.origin = "installed",
          .command = std::move(command),
          .program = prefix_program(prefix.folder).string(),
          .loaded_from = std::move(loader),
          .folders = prefix_library_path(prefix.folder, prefix.architecture)};
}

void describe_objects(const Candidate& candidate, EngineInfo& info) {
  const auto objects = locate_objects(candidate.program, candidate.folders);
  if (objects) {
    info.tier = judge_tier(*objects);
    info.backends = list_backends(candidate.loaded_from, *objects);
    return;
  }
  const bool no_elf = objects.error().code == ErrorCode::unsupported;
  info.tier = unknown_tier(
      no_elf ? fmt::format("{} is a script or of an unknown format, its symbols cannot be read", candidate.program)
             : objects.error().message);
  info.backends = list_backends(candidate.loaded_from, {});
}

Result<EngineInfo> examine(const Candidate& candidate, std::chrono::milliseconds deadline) {
  auto version = ask_version(candidate.command, deadline);
  if (!version) return base::pass(version);
  EngineInfo info;
  info.id = "llama-server-" + version->build.value_or(version->version);
  info.version = version->version;
  info.build = version->build;
  info.origin = candidate.origin;
  info.command = candidate.command;
  describe_objects(candidate, info);
  return info;
}

std::string search_path_of(const CatalogueOptions& options) {
  return options.search_path.empty() ? own_search_path() : options.search_path;
}

std::vector<Candidate> candidates(const CatalogueOptions& options) {
  std::vector<Candidate> found;
  const std::string path = find_program("llama-server", search_path_of(options));
  if (!path.empty()) found.push_back(plain_candidate("path", path));
  for (const InstalledPrefix& prefix :
       installed_prefixes(fs::absolute(options.data_dir / "engines"), options.on_skipped)) {
    found.push_back(prefix_candidate(prefix));
  }
  return found;
}

Result<EngineInfo> examine_configured(const Candidate& candidate, std::chrono::milliseconds deadline) {
  auto info = examine(candidate, deadline);
  if (!info) {
    auto error = std::move(info.error()).in_context(fmt::format("the configured engine {}", candidate.program));
    error.message += "; correct [engine] command, or leave it out to use the installed engine";
    return std::unexpected(std::move(error));
  }
  return info;
}

std::string unique_id(const std::string& id, const std::vector<EngineInfo>& engines) {
  std::string result = id;
  for (int n = 2; std::ranges::any_of(engines, [&result](const EngineInfo& e) { return e.id == result; }); ++n) {
    result = fmt::format("{}-{}", id, n);
  }
  return result;
}

// Calls `take` with each usable engine until it says that it has enough.
template <typename Take>
base::Status visit_engines(const CatalogueOptions& options, Take take) {
  std::set<std::string> seen;
  if (!options.configured.empty()) {
    const Candidate configured = configured_candidate(options.configured.argv(), search_path_of(options));
    auto info = examine_configured(configured, options.version_deadline);
    if (!info) return base::pass(info);
    seen.insert(configured.program);
    if (!take(*std::move(info))) return {};
  }
  for (const Candidate& candidate : candidates(options)) {
    if (!seen.insert(candidate.program).second) continue;
    auto info = examine(candidate, options.version_deadline);
    if (!info && options.on_skipped) {
      options.on_skipped(fmt::format("{} cannot be used: {}", candidate.program, info.error().message));
    }
    if (info && !take(*std::move(info))) return {};
  }
  return {};
}

}  // namespace

Result<std::vector<EngineInfo>> list_engines(const CatalogueOptions& options) {
  std::vector<EngineInfo> engines;
  auto done = visit_engines(options, [&engines](EngineInfo info) {
    info.id = unique_id(info.id, engines);
    engines.push_back(std::move(info));
    return true;
  });
  if (!done) return base::pass(done);
  return engines;
}

Result<EngineInfo> find_engine(const CatalogueOptions& options) {
  std::optional<EngineInfo> first;
  auto done = visit_engines(options, [&first](EngineInfo info) {
    first = std::move(info);
    return false;
  });
  if (!done) return base::pass(done);
  if (!first) {
    return base::fail(ErrorCode::not_found,
                      "no usable llama-server is configured, on PATH or installed; run `hearth engine install`");
  }
  return *std::move(first);
}

std::optional<EngineVersion> parse_version(std::string_view output) {
  for (const std::string_view raw : base::split(output, '\n')) {
    std::string_view line = base::trim(raw);
    constexpr std::string_view kStart = "version: ";
    const auto open = line.find(" (");
    if (!line.starts_with(kStart) || open == std::string_view::npos || open <= kStart.size()) continue;
    const std::string_view version = line.substr(kStart.size(), open - kStart.size());
    const auto is_version_letter = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-';
    };
    if (version.size() > 32 || !std::ranges::all_of(version, is_version_letter)) continue;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    constexpr std::string_view kBuild = "build ";
    std::string_view inside = line.substr(open + 2);
    EngineVersion result{.version = std::string(version), .build = std::nullopt};
    if (inside.starts_with(kBuild)) {
      inside.remove_prefix(kBuild.size());
      const auto end = std::ranges::find_if_not(inside, is_digit);
      const std::string build(inside.begin(), end);
      if (!build.empty() && build.size() <= 16) result.build = build;
    } else if (std::ranges::all_of(version, is_digit)) {
      result.build = result.version;
    }
    return result;
  }
  return std::nullopt;
}

Result<EngineVersion> ask_version(const std::vector<std::string>& command, std::chrono::milliseconds deadline) {
  Command run;
  run.argv = command;
  run.argv.emplace_back("--version");
  run.deadline = deadline;
  auto output = run_checked(run);
  if (!output) return base::pass(output);
  auto version = parse_version(*output);
  if (!version) {
    return base::fail(ErrorCode::unsupported,
                      fmt::format("it is not a llama-server: `--version` said \"{}\"", last_words(*output)));
  }
  return *std::move(version);
}

}  // namespace hearth::engine
