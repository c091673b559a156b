#pragma once
// The model store: model files by content, manifests by name (docs/store-format.md has the format and what a crash
// leaves).
//
// Thread: every function may be called from any thread and blocks for disk; call them on a BlockingPool. Looking up,
// publishing and removing exclude one another; the bytes of imports and verifications flow outside of that lock.
// Cancel: an import by destroying its session, a verification by its progress function.
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "artifact/file_hash.h"
#include "artifact/import_session.h"
#include "artifact/manifest.h"
#include "artifact/store_files.h"
#include "artifact/stored_model.h"
#include "base/clock.h"
#include "base/result.h"
#include "domain/event.h"
#include "domain/model_id.h"

namespace hearth::artifact {

// Receives artifact_imported, artifact_removed, artifact_verified, artifact_quarantined, artifact_refused (a manifest
// of a newer version). Called on the thread that did it, from several at once, after the store's lock was let go; `id`
// is left for the log to give.
using EventSink = std::function<void(const domain::Event&)>;

class Store {
 public:
  // Opens or makes the store in `folder`; clears leftovers of a crash and sets damage aside. `clock` and `files` must
  // outlive it. Errors: in_use (another server has it open), permission and others when the folder cannot be written,
  // unsupported (a newer layout), each with its mend.
  [[nodiscard]] static base::Result<std::unique_ptr<Store>> open(std::string folder, const base::Clock& clock,
                                                                 EventSink on_event, StoreFiles& files);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // `expected` is the file's size when it is known: then space for it is checked and reserved now.
  // Errors: no_space (with both numbers), io.
  [[nodiscard]] base::Result<ImportSession> begin_import(const domain::ModelId& id, std::optional<base::Bytes> expected,
                                                         IfTaken if_taken = IfTaken::replace);

  // Every model that can be served, by id.
  [[nodiscard]] std::vector<StoredModel> list();
  // Errors: model_not_found; unsupported (stored by a newer hearth); corrupt (its file is gone or has another size; it
  // has just been set aside).
  [[nodiscard]] base::Result<StoredModel> find(const domain::ModelId& id);

  // Takes the name away, and the file when no other name stands for it. Errors: as find() (except corrupt); io.
  [[nodiscard]] base::Status remove(const domain::ModelId& id);

  // Hashes the model's file. Errors: as find(); corrupt (another digest; it has just been set aside); cancelled; io.
  [[nodiscard]] base::Result<StoredModel> verify(const domain::ModelId& id, const HashProgress& progress);

 private:
  friend class ImportSession;
  using Events = std::vector<domain::Event>;
  // The lock, and the events that are told once it is gone.
  class Hold;

  Store(std::string folder, const base::Clock& clock, EventSink on_event, StoreFiles& files);

  // Opening (store_opening.cpp)
  base::Status prepare();
  base::Status take_lock();
  base::Result<bool> layout_is_written();
  base::Status make_layout();
  base::Status recover(Events& events);
  base::Status sweep_incoming();
  base::Status load_manifests(Events& events);
  void load_manifest(const std::string& name, Events& events);
  base::Status sweep_blobs();
  base::Error unusable(base::Error error) const;

  // What an ImportSession hands over when its file is complete.
  struct Delivery {
    domain::ModelId id;
    IfTaken if_taken;
    Digest digest;
    base::Bytes bytes;
    GgufSummary gguf;
    std::string part;  // path in incoming/
  };
  base::Result<Imported> publish(const Delivery& delivery);

  // All below: REQUIRES the lock.
  base::Result<bool> adopt_blob(const Delivery& delivery);
  base::Result<std::string> stage(std::string_view suffix, std::string_view text);
  base::Result<Manifest> entry(const domain::ModelId& id) const;
  base::Result<StoredModel> look(const Manifest& manifest, Events& events);
  base::Result<Imported> enter(const Delivery& delivery, Events& events);
  // Makes `manifest` what its name stands for, on disk and in models_. On an error before the rename nothing has
  // changed; when only the folder's sync failed, the new manifest is in both.
  base::Status put_manifest(const Manifest& manifest);
  bool referenced(const Digest& digest) const;
  void drop_blob_if_unused(const Digest& digest);
  void set_aside_blob(const Digest& digest, const std::string& why, Events& events);
  void set_aside_manifest(const std::string& file_name, std::optional<domain::ModelId> id, const std::string& why,
                          Events& events);
  base::Status move_to_quarantine(const std::string& folder, const std::string& name);
  base::Result<StoredModel> confirm(const domain::ModelId& id, const FileHash& hash, Events& events);

  domain::Event event(std::string what, std::optional<domain::ModelId> id, std::optional<base::Bytes> bytes,
                      std::optional<std::string> why) const;
  std::string blob_path(const Digest& digest) const;
  std::string new_incoming(std::string_view suffix) const;
  std::int64_t wall_ms() const;

  const std::string folder_;
  const std::string blobs_ = folder_ + "/blobs";
  const std::string manifests_ = folder_ + "/manifests";
  const std::string incoming_ = folder_ + "/incoming";
  const std::string quarantine_ = folder_ + "/quarantine";
  const base::Clock& clock_;
  EventSink on_event_;
  StoreFiles& files_;
  base::Fd lock_;

  std::mutex mutex_;
  std::map<domain::ModelId, Manifest> models_;
  std::map<std::string, std::string> newer_;  // manifest file name -> why it is not served
};

}  // namespace hearth::artifact
