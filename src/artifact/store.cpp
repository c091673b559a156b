#include "artifact/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/scope_exit.h"

namespace hearth::artifact {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;
using domain::ModelId;

namespace {

std::string manifest_name(const ModelId& id) { return id.file_stem() + ".manifest"; }

}  // namespace

class Store::Hold {
 public:
  explicit Hold(Store& store) : store_(store), lock_(store.mutex_) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    lock_.unlock();
    if (!store_.on_event_) return;
    for (const auto& each : events)
      store_.on_event_(each);
  }

  Events events;

 private:
  Store& store_;
  std::unique_lock<std::mutex> lock_;
};

Store::Store(std::string folder, const base::Clock& clock, EventSink on_event, StoreFiles& files)
    : folder_(std::move(folder)), clock_(clock), on_event_(std::move(on_event)), files_(files) {}

Result<std::unique_ptr<Store>> Store::open(std::string folder, const base::Clock& clock, EventSink on_event,
                                           StoreFiles& files) {
  std::unique_ptr<Store> store(new Store(std::move(folder), clock, std::move(on_event), files));
  if (auto prepared = store->prepare(); !prepared) return base::pass(prepared);
  Hold hold(*store);
  if (auto recovered = store->recover(hold.events); !recovered) {
    return base::pass(recovered, fmt::format("opening the model store {}", store->folder_));
  }
  return store;
}

std::vector<StoredModel> Store::list() {
  Hold hold(*this);
  std::vector<StoredModel> models;
  const auto manifests = models_;  // look() takes damaged ones out of models_
  for (const auto& manifest : manifests | std::views::values) {
    if (auto model = look(manifest, hold.events)) models.push_back(std::move(*model));
  }
  return models;
}

Result<StoredModel> Store::find(const ModelId& id) {
  Hold hold(*this);
  const auto manifest = entry(id);
  if (!manifest) return std::unexpected(manifest.error());
  return look(*manifest, hold.events);
}

Status Store::remove(const ModelId& id) {
  Hold hold(*this);
  const auto manifest = entry(id);
  if (!manifest) return std::unexpected(manifest.error());
  if (auto removed = files_.remove(manifests_ + "/" + manifest_name(id)); !removed) return removed;
  models_.erase(id);
  auto synced = files_.sync_folder(manifests_);
  drop_blob_if_unused(manifest->digest);
  hold.events.push_back(event("artifact_removed", id, manifest->bytes, std::nullopt));
  return synced;
}

Result<StoredModel> Store::verify(const ModelId& id, const HashProgress& progress) {
  const auto model = find(id);
  if (!model) return model;
  auto hash = hash_file(model->path, progress);
  if (!hash) return base::pass(hash, fmt::format("verifying {}", id.text()));
  Hold hold(*this);
  const auto now = entry(id);
  if (!now) return std::unexpected(now.error());
  if (now->digest != model->manifest.digest) {
    return fail(ErrorCode::cancelled, fmt::format("{} was replaced while it was verified; verify it again", id.text()));
  }
  return confirm(id, *hash, hold.events);
}

Result<StoredModel> Store::confirm(const ModelId& id, const FileHash& hash, Events& events) {
  const auto expected = models_.at(id).digest;
  if (hash.digest != expected) {
    set_aside_blob(expected, fmt::format("its bytes have the digest {}…", hash.digest.text().substr(0, 12)), events);
    return fail(
        ErrorCode::corrupt,
        fmt::format("{} is damaged (its bytes are not those that were imported) and was set aside; import it again",
                    id.text()));
  }
  const auto manifests = models_;
  for (auto manifest : manifests | std::views::values) {
    if (manifest.digest != expected) continue;
    manifest.mtime_ns = hash.mtime_ns;
    manifest.verified_at_ms = wall_ms();
    if (auto put = put_manifest(manifest); !put)
      return base::pass(put, fmt::format("recording the verification of {}", manifest.id.text()));
  }
  events.push_back(event("artifact_verified", id, hash.bytes, std::nullopt));
  return look(models_.at(id), events);
}

Result<Imported> Store::publish(const Delivery& delivery) {
  Hold hold(*this);
  return enter(delivery, hold.events);
}

Result<Imported> Store::enter(const Delivery& delivery, Events& events) {
  const auto taken = models_.find(delivery.id);
  const auto previous = taken == models_.end() ? std::nullopt : std::optional(taken->second);
  const bool fresh = !previous || previous->digest != delivery.digest;
  if (previous && fresh && delivery.if_taken == IfTaken::refuse) {
    return fail(ErrorCode::already_exists,
                fmt::format("{} is another model already; remove it first or choose another name", delivery.id.text()));
  }
  // Whatever goes wrong from here on, a blob that no manifest names must not stay.
  const base::ScopeExit tidy([&] { drop_blob_if_unused(delivery.digest); });
  if (auto adopted = adopt_blob(delivery); !adopted) return base::pass(adopted);
  const auto facts = facts_of_file(blob_path(delivery.digest));
  if (!facts) return std::unexpected(facts.error());
  const Manifest manifest{.id = delivery.id,
                          .digest = delivery.digest,
                          .bytes = delivery.bytes,
                          .mtime_ns = facts->mtime_ns,
                          .imported_at_ms = wall_ms(),
                          .verified_at_ms = wall_ms(),
                          .gguf = delivery.gguf};
  if (auto put = put_manifest(manifest); !put) return base::pass(put);
  if (previous && fresh) drop_blob_if_unused(previous->digest);
  events.push_back(event("artifact_imported", delivery.id, delivery.bytes, std::nullopt));
  auto model = look(manifest, events);
  if (!model) return base::pass(model);
  return Imported{.model = std::move(*model), .fresh = fresh};
}

// True when the delivered file became the blob, false when a good one was there.
Result<bool> Store::adopt_blob(const Delivery& delivery) {
  const std::string blob = blob_path(delivery.digest);
  const auto there = facts_of_file(blob);
  const bool is_known_good = there && std::ranges::any_of(models_ | std::views::values, [&](const Manifest& manifest) {
                               return manifest.digest == delivery.digest && manifest.bytes == there->bytes &&
                                      manifest.mtime_ns == there->mtime_ns;
                             });
  if (is_known_good) {
    if (auto removed = files_.remove(delivery.part); !removed) return base::pass(removed);
    return false;
  }
  if (auto renamed = files_.rename(delivery.part, blob); !renamed) return base::pass(renamed);
  if (auto synced = files_.sync_folder(blobs_); !synced) return base::pass(synced);
  return true;
}

Result<std::string> Store::stage(std::string_view suffix, std::string_view text) {
  std::string path = new_incoming(suffix);
  auto fd = files_.create(path);
  if (!fd) return base::pass(fd);
  auto done = files_.write(fd->get(), std::as_bytes(std::span(text)));
  if (done) done = files_.sync(fd->get());
  if (done) return path;
  // The first error is the one to tell; a leftover is removed at the next opening.
  std::ignore = files_.remove(path);
  return base::pass(done, path);
}

Status Store::put_manifest(const Manifest& manifest) {
  const auto staged = stage(".manifest", encode(manifest));
  if (!staged) return std::unexpected(staged.error());
  const std::string name = manifest_name(manifest.id);
  if (auto renamed = files_.rename(*staged, manifests_ + "/" + name); !renamed) {
    std::ignore = files_.remove(*staged);  // as in stage()
    return renamed;
  }
  newer_.erase(name);
  models_.insert_or_assign(manifest.id, manifest);
  return files_.sync_folder(manifests_);
}

Result<Manifest> Store::entry(const ModelId& id) const {
  if (const auto found = models_.find(id); found != models_.end()) return found->second;
  if (const auto newer = newer_.find(manifest_name(id)); newer != newer_.end()) {
    return fail(ErrorCode::unsupported, fmt::format("{} cannot be used: {}", id.text(), newer->second));
  }
  return fail(ErrorCode::model_not_found,
              fmt::format("there is no model {}; `hearth list` shows those there are", id.text()));
}

Result<StoredModel> Store::look(const Manifest& manifest, Events& events) {
  std::string path = blob_path(manifest.digest);
  const auto facts = facts_of_file(path);
  if (facts && facts->regular && facts->bytes == manifest.bytes) {
    return StoredModel{.manifest = manifest,
                       .path = std::move(path),
                       .present = facts->bytes,
                       .verified = facts->mtime_ns == manifest.mtime_ns};
  }
  const bool missing = !facts && facts.error().code == ErrorCode::not_found;
  if (!facts && !missing) return std::unexpected(facts.error());
  const std::string why = missing ? "its model file is missing"
                          : !facts->regular
                              ? "its model file is not a file"
                              : fmt::format("its model file has {} bytes instead of {}", facts->bytes, manifest.bytes);
  set_aside_blob(manifest.digest, why, events);
  return fail(ErrorCode::corrupt,
              fmt::format("{} is damaged ({}) and was set aside; import it again", manifest.id.text(), why));
}

bool Store::referenced(const Digest& digest) const {
  return std::ranges::any_of(models_ | std::views::values,
                             [&](const Manifest& manifest) { return manifest.digest == digest; });
}

void Store::drop_blob_if_unused(const Digest& digest) {
  if (referenced(digest) || !newer_.empty()) return;
  // What cannot be removed now is not named by anything, so the next opening removes it.
  std::ignore = files_.remove(blob_path(digest));
  std::ignore = files_.sync_folder(blobs_);
}

void Store::set_aside_blob(const Digest& digest, const std::string& why, Events& events) {
  const auto manifests = models_;
  for (const auto& [id, manifest] : manifests) {
    if (manifest.digest == digest) set_aside_manifest(manifest_name(id), id, why, events);
  }
  const auto moved = move_to_quarantine(blobs_, "sha256-" + digest.text());
  if (moved || moved.error().code == ErrorCode::not_found) return;
  events.push_back(
      event("artifact_quarantined", std::nullopt, std::nullopt, "could not be set aside: " + moved.error().message));
}

void Store::set_aside_manifest(const std::string& file_name, std::optional<ModelId> id, const std::string& why,
                               Events& events) {
  const auto moved = move_to_quarantine(manifests_, file_name);
  std::string told = fmt::format("{}: {}", file_name, why);
  if (!moved) told += fmt::format(" (it could not be set aside: {})", moved.error().message);
  const auto bytes = id && models_.contains(*id) ? std::optional(models_.at(*id).bytes) : std::nullopt;
  if (id) models_.erase(*id);
  events.push_back(event("artifact_quarantined", std::move(id), bytes, std::move(told)));
}

Status Store::move_to_quarantine(const std::string& folder, const std::string& name) {
  std::string target = fmt::format("{}/{}.{}", quarantine_, name, wall_ms());
  while (facts_of_file(target))
    target += "+";
  if (auto moved = files_.rename(folder + "/" + name, target); !moved) return moved;
  if (auto synced = files_.sync_folder(quarantine_); !synced) return synced;
  return files_.sync_folder(folder);
}

domain::Event Store::event(std::string what, std::optional<ModelId> id, std::optional<base::Bytes> bytes,
                           std::optional<std::string> why) const {
  return {.id = 0,
          .at = clock_.wall(),
          .what = std::move(what),
          .model = id ? std::optional(id->text()) : std::nullopt,
          .layer = domain::Layer::artifact,
          .bytes = bytes,
          .by = "server",
          .why = std::move(why)};
}

std::string Store::blob_path(const Digest& digest) const { return fmt::format("{}/sha256-{}", blobs_, digest.text()); }

std::int64_t Store::wall_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.wall().time_since_epoch()).count();
}

}  // namespace hearth::artifact
