#include "engine/backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    files.push_back(entry->path());
  return files;
}

// `folder`/ggml/backends0 and its like.
std::vector<fs::path> backend_folders(const fs::path& folder) {
  std::vector<fs::path> folders = files_of(folder / "ggml");
  std::erase_if(folders, [](const fs::path& path) { return !path.filename().string().starts_with("backends"); });
  return folders;
}

}  // namespace

std::string backend_name(const std::string& file) {
  constexpr std::string_view kPrefix = "libggml-";
  constexpr std::string_view kSuffix = ".so";
  if (!file.starts_with(kPrefix) || !file.ends_with(kSuffix) || file.size() <= kPrefix.size() + kSuffix.size())
    return {};
  std::string name = file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size());
  return name == "base" ? std::string() : name;
}

std::vector<std::string> list_backends(const fs::path& program, std::span<const LinkedObject> objects) {
  std::set<fs::path> folders = {program.parent_path()};
  for (const LinkedObject& object : objects) {
    const fs::path path = object.path;
    if (!path.filename().string().starts_with("libggml")) continue;
    folders.insert(path.parent_path());
    // Under a private prefix the loader sees only what is linked beside it.
    if (path.parent_path() != program.parent_path())
      std::ranges::copy(backend_folders(path.parent_path()), std::inserter(folders, folders.end()));
  }
  std::set<std::string> names;
  for (const fs::path& folder : folders) {
    for (const fs::path& file : files_of(folder)) {
      if (std::string name = backend_name(file.filename().string()); !name.empty()) names.insert(std::move(name));
    }
  }
  return {names.begin(), names.end()};
}

base::Result<std::vector<std::string>> link_backends(const fs::path& libraries) {
  std::vector<std::string> linked;
  for (const fs::path& folder : backend_folders(libraries)) {
    for (const fs::path& file : files_of(folder)) {
      const std::string name = backend_name(file.filename().string());
      if (name.empty() || name == "blas") continue;
      std::error_code error;
      fs::create_symlink(file.lexically_relative(libraries), libraries / file.filename(), error);
      if (error)
        return base::fail_errno(fmt::format("linking {} into {}", file.filename().string(), libraries.string()),
                                error.value());
      linked.push_back(name);
    }
  }
  std::ranges::sort(linked);
  if (std::ranges::none_of(linked, [](const std::string& name) { return name.starts_with("cpu"); })) {
    return base::fail(ErrorCode::not_found,
                      fmt::format("the packages brought no CPU backend into {}/ggml", libraries.string()));
  }
  return linked;
}

}  // namespace hearth::engine
