// Opening the store: the lock, the layout, and what a crash or a bad disk left (docs/store-format.md).
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>
#include <random>

#include "artifact/store.h"

namespace hearth::artifact {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

namespace {

constexpr int kLayout = 1;
constexpr std::string_view kManifestSuffix = ".manifest";
constexpr std::string_view kBlobPrefix = "sha256-";

// Something alive writes the file, so it is not a leftover.
bool is_held(const std::string& path) {
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

// The number of the layout; 1 when the file does not say.
std::int64_t layout_in(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("format") || !json["format"].is_number_integer()) return kLayout;
  return json["format"].get<std::int64_t>();
}

std::string holder_of(const std::string& lock_path) {
  const auto text = read_file(lock_path, 32);
  int pid = 0;
  if (text && std::from_chars(text->data(), text->data() + text->size(), pid).ec == std::errc())
    return fmt::format(" (process {})", pid);
  return "";
}

}  // namespace

// Everything that can keep a store from being used at all; each error is a whole sentence.
Status Store::prepare() {
  if (auto made = files_.make_folder(folder_); !made) return std::unexpected(unusable(std::move(made.error())));
  if (auto locked = take_lock(); !locked) return locked;
  const auto written = layout_is_written();
  if (!written) return std::unexpected(written.error());
  for (const auto& folder : {blobs_, manifests_, incoming_, quarantine_}) {
    if (auto made = files_.make_folder(folder); !made) return std::unexpected(unusable(std::move(made.error())));
  }
  if (*written) return {};
  if (auto made = make_layout(); !made) return std::unexpected(unusable(std::move(made.error())));
  return {};
}

base::Error Store::unusable(base::Error error) const {
  error.message = fmt::format(
      "the model store {} cannot be written ({}); give the user that runs hearth write access to it or choose another "
      "folder with --data-dir",
      folder_, error.message);
  return error;
}

Status Store::take_lock() {
  const std::string path = folder_ + "/lock";
  lock_ = base::Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock_) return std::unexpected(unusable(base::error_from_errno(fmt::format("opening {}", path), errno)));
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      return std::unexpected(unusable(base::error_from_errno(fmt::format("locking {}", path), errno)));
    return fail(
        ErrorCode::in_use,
        fmt::format(
            "the model store {} is open in another hearth{}; stop that one or choose another folder with --data-dir",
            folder_, holder_of(path)));
  }
  return {};
}

Result<bool> Store::layout_is_written() {
  const auto text = read_file(folder_ + "/store.json", 4096);
  if (!text && text.error().code != ErrorCode::not_found && text.error().code != ErrorCode::too_large)
    return std::unexpected(text.error());
  const std::int64_t layout = text ? layout_in(*text) : kLayout;
  if (layout > kLayout) {
    return fail(ErrorCode::unsupported, fmt::format("the model store {} has format {} and this hearth knows up to {}; "
                                                    "upgrade hearth or choose another folder with --data-dir",
                                                    folder_, layout, kLayout));
  }
  // The process id serves only the sentence of a second server, which can do without it.
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock_.get(), 0) == 0) std::ignore = ::pwrite(lock_.get(), pid.data(), pid.size(), 0);
  return text && !nlohmann::json::parse(*text, nullptr, false).is_discarded();
}

Status Store::make_layout() {
  const auto staged = stage(".json", fmt::format("{{\"format\": {}}}\n", kLayout));
  if (!staged) return std::unexpected(staged.error());
  if (auto renamed = files_.rename(*staged, folder_ + "/store.json"); !renamed) return renamed;
  return files_.sync_folder(folder_);
}

Status Store::recover(Events& events) {
  if (auto swept = sweep_incoming(); !swept) return swept;
  if (auto loaded = load_manifests(events); !loaded) return loaded;
  const auto manifests = models_;
  for (const auto& [id, manifest] : manifests) {
    // A damaged one sets itself aside; one that cannot be looked at is told when it is asked for.
    std::ignore = look(manifest, events);
  }
  return sweep_blobs();
}

Status Store::sweep_incoming() {
  const auto names = names_in(incoming_);
  if (!names) return std::unexpected(names.error());
  for (const auto& name : *names) {
    const std::string path = incoming_ + "/" + name;
    if (is_held(path)) continue;
    if (auto removed = files_.remove(path); !removed) return removed;
  }
  return {};
}

Status Store::load_manifests(Events& events) {
  const auto names = names_in(manifests_);
  if (!names) return std::unexpected(names.error());
  for (const auto& name : *names) {
    if (name.ends_with(kManifestSuffix)) load_manifest(name, events);
  }
  return {};
}

void Store::load_manifest(const std::string& name, Events& events) {
  const auto text = read_file(manifests_ + "/" + name, kLongestManifest);
  auto manifest = text ? decode_manifest(*text) : Result<Manifest>(std::unexpected(text.error()));
  if (manifest && manifest->id.file_stem() + std::string(kManifestSuffix) != name) {
    manifest = fail(ErrorCode::corrupt, fmt::format("it is the manifest of {}", manifest->id.text()));
  }
  if (manifest) {
    models_.insert_or_assign(manifest->id, std::move(*manifest));
  } else if (manifest.error().code == ErrorCode::unsupported) {
    newer_[name] = manifest.error().message;
    events.push_back(
        event("artifact_refused", std::nullopt, std::nullopt, fmt::format("{}: {}", name, manifest.error().message)));
  } else {
    set_aside_manifest(name, std::nullopt, manifest.error().message, events);
  }
}

// A manifest that was set aside, or cannot be read, may be the one that names a blob: then none is taken for a
// leftover.
Status Store::sweep_blobs() {
  const auto aside = names_in(quarantine_);
  if (!aside) return std::unexpected(aside.error());
  const auto is_manifest = [](const std::string& name) { return name.contains(kManifestSuffix); };
  if (!newer_.empty() || std::ranges::any_of(*aside, is_manifest)) return {};
  const auto names = names_in(blobs_);
  if (!names) return std::unexpected(names.error());
  for (const auto& name : *names) {
    const auto digest =
        name.starts_with(kBlobPrefix) ? Digest::parse(std::string_view(name).substr(kBlobPrefix.size())) : std::nullopt;
    if (!digest || referenced(*digest)) continue;
    if (auto removed = files_.remove(blobs_ + "/" + name); !removed) return removed;
  }
  return {};
}

std::string Store::new_incoming(std::string_view suffix) const {
  std::random_device random;
  return fmt::format("{}/{:08x}{:08x}{}", incoming_, random(), random(), suffix);
}

}  // namespace hearth::artifact
