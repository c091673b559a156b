#include "engine/locate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/text.h"

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;

// A program with more engine libraries than this is not one that anybody built.
constexpr std::size_t kMostObjects = 64;

std::string replace_origin(std::string folder, const std::string& origin) {
  for (const std::string_view name : {std::string_view("${ORIGIN}"), std::string_view("$ORIGIN")}) {
    if (const auto at = folder.find(name); at != std::string::npos) folder.replace(at, name.size(), origin);
  }
  return folder;
}

Result<LinkedObject> read_object(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return base::fail_errno(fmt::format("opening {}", path.string()), error.value());
  auto symbols = read_elf_file(real.string());
  if (!symbols) return base::pass(symbols);
  return LinkedObject{.path = real.string(), .symbols = *std::move(symbols)};
}

std::string find_library(const std::string& name, const LinkedObject& user, const std::vector<std::string>& folders) {
  std::vector<std::string> all = folders;
  const std::string origin = fs::path(user.path).parent_path().string();
  for (const std::string& folder : user.symbols.search)
    all.push_back(replace_origin(folder, origin));
  std::ranges::copy(system_library_folders(), std::back_inserter(all));
  for (const std::string& folder : all) {
    std::error_code error;
    const fs::path candidate = fs::path(folder) / name;
    if (fs::is_regular_file(candidate, error)) return candidate.string();
  }
  return {};
}

}  // namespace

bool is_engine_library(std::string_view name) {
  constexpr std::array<std::string_view, 4> kPrefixes = {"libllama", "libggml", "libmtmd", "libwhisper"};
  return std::ranges::any_of(kPrefixes, [name](std::string_view prefix) { return name.starts_with(prefix); });
}

Result<std::vector<LinkedObject>> locate_objects(const std::string& program, const std::vector<std::string>& folders) {
  auto first = read_object(program);
  if (!first) return base::pass(first);
  std::vector<LinkedObject> objects;
  objects.push_back(*std::move(first));
  std::set<std::string> seen;
  for (std::size_t i = 0; i < objects.size() && i < kMostObjects; ++i) {
    const std::vector<std::string> needed = objects[i].symbols.needed;
    for (const std::string& name : needed) {
      if (!is_engine_library(name) || name.find('/') != std::string::npos || !seen.insert(name).second) continue;
      const std::string path = find_library(name, objects[i], folders);
      if (path.empty()) {
        return base::fail(
            ErrorCode::not_found,
            fmt::format("{}, which {} needs, is nowhere that the dynamic linker looks", name, objects[i].path));
      }
      auto object = read_object(path);
      if (!object) return base::pass(object);
      objects.push_back(*std::move(object));
    }
  }
  return objects;
}

std::vector<std::string> system_library_folders() {
  std::vector<std::string> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/etc/ld.so.conf.d", error)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (const auto text = base::trim(line); text.starts_with('/')) folders.emplace_back(text);
    }
  }
  std::ranges::sort(folders);
  for (const char* folder : {"/lib", "/usr/lib", "/lib64", "/usr/lib64"})
    folders.emplace_back(folder);
  return folders;
}

}  // namespace hearth::engine
