#pragma once
// The file operations that Hearth's durable state is made of, behind one seam: real, and in memory with faults
// (fake_files.h). Every function blocks: call it from a BlockingPool, or where a few hundred microseconds do no harm.
//
// Errors are made of the operation, the path and the system's reason ("writing /x/a.json: No space left on device"),
// with the code that base::error_from_errno gives it (not_found, permission, no_space, io, …). Thread: an
// implementation may be used from several threads; a WritableFile by one at a time.
#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace hearth::sys {

// A file that is being written from its beginning. Closed when it goes; what was written and not synced may then be
// lost with the power, but not with the process.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  // Appends all of it. After an error the file's contents are unknown.
  [[nodiscard]] virtual base::Status write(std::string_view bytes) = 0;
  // Returns once the contents survive a power loss. The *name* does so only after sync_directory.
  [[nodiscard]] virtual base::Status sync() = 0;
};

// Holds an exclusive lock for as long as it lives. The kernel lets go of it when the process dies, however it dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

enum class IfPresent { fail, truncate };

class Files {
 public:
  virtual ~Files() = default;

  // The whole file. Errors also: too_large when it has more than `at_most` bytes.
  [[nodiscard]] virtual base::Result<std::string> read(const std::string& path, base::Bytes at_most) const = 0;
  // At most `at_most` bytes from `offset`; fewer only at the end of the file.
  [[nodiscard]] virtual base::Result<std::string> read_at(const std::string& path, base::Bytes offset,
                                                          std::size_t at_most) const = 0;
  // Makes the contents of a file that another process wrote survive a power loss.
  [[nodiscard]] virtual base::Status sync_file(const std::string& path) = 0;
  // Its length in bytes. Errors also: unsupported when it is not a regular file.
  [[nodiscard]] virtual base::Result<base::Bytes> size(const std::string& path) const = 0;
  // The names in a folder (without "." and ".."), sorted.
  [[nodiscard]] virtual base::Result<std::vector<std::string>> list(const std::string& directory) const = 0;
  // Bytes that this process may still write to the file system that holds `directory`.
  [[nodiscard]] virtual base::Result<base::Bytes> free_space(const std::string& directory) const = 0;

  // Makes a file. `mode` is subject to the umask. Errors also: already_exists with IfPresent::fail.
  [[nodiscard]] virtual base::Result<std::unique_ptr<WritableFile>> create(const std::string& path,
                                                                           IfPresent if_present, mode_t mode) = 0;
  // Puts `from` in the place of `to` in one step; `to` is never missing or half in between.
  [[nodiscard]] virtual base::Status rename(const std::string& from, const std::string& to) = 0;
  // Removes a file; false when there was none.
  [[nodiscard]] virtual base::Result<bool> remove(const std::string& path) = 0;
  // Makes the names in a folder (creations, renames, removals) survive a power loss.
  [[nodiscard]] virtual base::Status sync_directory(const std::string& directory) = 0;
  // The folder and every missing one above it, each made with `mode`. One that is there keeps its mode.
  [[nodiscard]] virtual base::Status ensure_directory(const std::string& path, mode_t mode) = 0;

  // Takes the exclusive lock of `path` (made where missing, never removed) without waiting.
  // Errors also: in_use when somebody holds it.
  [[nodiscard]] virtual base::Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
};

// What a write must outlive. Surviving the process costs no disk access; surviving a power loss costs two.
enum class Survives { process_death, power_loss };

// Replaces `path` by a file with these contents: afterwards, and at every instant of a crash between, it holds either
// the old contents or the new ones, whole. A temporary "<path>.tmp" is left behind only by a crash; the next call
// replaces it. On an error the old contents are still in place, except that a failed sync of the folder may leave
// either. One writer per path at a time.
[[nodiscard]] base::Status write_atomic(Files& files, const std::string& path, std::string_view contents,
                                        Survives survives = Survives::power_loss, mode_t mode = 0600);

// The folder part of a path: "/a/b" -> "/a", "b" -> ".", "/b" -> "/".
[[nodiscard]] std::string directory_of(const std::string& path);

class LinuxFiles final : public Files {
 public:
  [[nodiscard]] base::Result<std::string> read(const std::string& path, base::Bytes at_most) const override;
  [[nodiscard]] base::Result<std::string> read_at(const std::string& path, base::Bytes offset,
                                                  std::size_t at_most) const override;
  [[nodiscard]] base::Status sync_file(const std::string& path) override;
  [[nodiscard]] base::Result<base::Bytes> size(const std::string& path) const override;
  [[nodiscard]] base::Result<std::vector<std::string>> list(const std::string& directory) const override;
  [[nodiscard]] base::Result<base::Bytes> free_space(const std::string& directory) const override;
  [[nodiscard]] base::Result<std::unique_ptr<WritableFile>> create(const std::string& path, IfPresent if_present,
                                                                   mode_t mode) override;
  [[nodiscard]] base::Status rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] base::Result<bool> remove(const std::string& path) override;
  [[nodiscard]] base::Status sync_directory(const std::string& directory) override;
  [[nodiscard]] base::Status ensure_directory(const std::string& path, mode_t mode) override;
  [[nodiscard]] base::Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
};

}  // namespace hearth::sys
