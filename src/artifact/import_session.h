#pragma once
// One model on its way into the store. The bytes go to incoming/ and are hashed as they come; nothing of it is visible
// until finish() publishes it. Destroying the session before that removes what was written.
//
// Thread: one call at a time, from any thread; every call blocks for disk. The store must outlive it.
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "artifact/digest.h"
#include "artifact/stored_model.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"
#include "domain/model_id.h"

namespace hearth::artifact {

class Store;

// What to do when the name stands for other content already.
enum class IfTaken { replace, refuse };

struct Imported {
  StoredModel model;
  bool fresh = false;  // false: the name stood for the same content before
};

class ImportSession {
 public:
  ImportSession(ImportSession&& other) noexcept;
  ImportSession& operator=(ImportSession&& other) = delete;
  ~ImportSession();

  // Appends. After an error every further call gives the same error. Errors:
  //   bad_request  not GGUF (known from the first bytes), or more bytes than were announced
  //   unsupported  GGUF of another version or byte order
  //   no_space     with what is needed and what is free
  [[nodiscard]] base::Status write(std::span<const std::byte> bytes);

  // Makes the file durable, checks that it is a whole model, and publishes it under its name. Errors: bad_request
  // (fewer bytes than announced; truncated or damaged GGUF; not a model), already_exists (IfTaken::refuse), no_space,
  // io. On an error the store is as it was.
  [[nodiscard]] base::Result<Imported> finish() &&;

  [[nodiscard]] const domain::ModelId& id() const { return id_; }
  [[nodiscard]] base::Bytes received() const { return received_; }
  [[nodiscard]] std::optional<base::Bytes> expected() const { return expected_; }

 private:
  friend class Store;
  ImportSession(Store& store, domain::ModelId id, std::optional<base::Bytes> expected, IfTaken if_taken,
                std::string path, base::Fd fd);
  base::Status append(std::span<const std::byte> bytes);
  base::Status judge_head(std::span<const std::byte> bytes);
  base::Result<GgufSummary> judge_whole() const;
  base::Error write_error(base::Error error) const;

  Store* store_;  // never null; not owned
  domain::ModelId id_;
  std::optional<base::Bytes> expected_;
  IfTaken if_taken_;
  std::string path_;  // empty once there is nothing to remove
  base::Fd fd_;       // holds the lock that tells opening stores that this part is alive
  base::Sha256 hash_;
  base::Bytes received_ = 0;
  base::Bytes written_back_ = 0;  // up to here the kernel was asked to write
  std::array<std::byte, 8> head_{};
  std::optional<base::Error> failed_;
};

}  // namespace hearth::artifact
