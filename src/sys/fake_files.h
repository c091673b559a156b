#pragma once
// Files in memory, with the two ways in which disks betray: an operation that fails, and a power loss that drops
// whatever was not synced. For tests; no product code includes it.
//
// A name is bound to a file (contents), in the folder as the processes see it and in the folder as the disk has it.
// Folders are made durably at once. Thread: any one at a time.
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "sys/files.h"

namespace hearth::sys {

class FakeFiles final : public Files {
 public:
  FakeFiles() = default;

  // The Nth changing operation from now (1 is the next: create, write, sync, rename, remove, sync_directory) fails so.
  void fail_at(int nth, int error_number) { fail_at_ = changes_ + nth, fail_with_ = error_number; }
  // Changing operations so far, failed ones included.
  [[nodiscard]] int changes() const { return changes_; }
  // Puts everything back to what had been synced. Open files and locks are dead afterwards.
  void lose_power() {
    for (auto& [path, inode] : durable_)
      inode->seen = inode->synced;
    seen_ = durable_;
    locked_.clear();
  }
  void set_free_space(base::Bytes bytes) { free_ = bytes; }

  [[nodiscard]] base::Result<std::string> read(const std::string& path, base::Bytes at_most) const override {
    const auto found = seen_.find(path);
    if (found == seen_.end()) return base::fail_errno("opening " + path, ENOENT);
    if (found->second->seen.size() > at_most) {
      return base::fail(base::ErrorCode::too_large, "reading " + path + ": it has more than the bytes allowed");
    }
    return found->second->seen;
  }
  [[nodiscard]] base::Result<std::string> read_at(const std::string& path, base::Bytes offset,
                                                  std::size_t at_most) const override {
    const auto found = seen_.find(path);
    if (found == seen_.end()) return base::fail_errno("opening " + path, ENOENT);
    const std::string& contents = found->second->seen;
    return offset < contents.size() ? contents.substr(offset, at_most) : std::string();
  }
  [[nodiscard]] base::Status sync_file(const std::string& path) override {
    if (auto allowed = change("syncing " + path); !allowed) return allowed;
    const auto found = seen_.find(path);
    if (found == seen_.end()) return base::fail_errno("opening " + path, ENOENT);
    found->second->synced = found->second->seen;
    return {};
  }
  [[nodiscard]] base::Result<base::Bytes> size(const std::string& path) const override {
    if (directories_.contains(path)) {
      return base::fail(base::ErrorCode::unsupported, "looking at " + path + ": it is not a regular file");
    }
    const auto found = seen_.find(path);
    if (found == seen_.end()) return base::fail_errno("looking at " + path, ENOENT);
    return found->second->seen.size();
  }
  [[nodiscard]] base::Result<std::vector<std::string>> list(const std::string& directory) const override {
    if (!directories_.contains(directory)) return base::fail_errno("listing " + directory, ENOENT);
    std::set<std::string> names;
    const auto add = [&](const std::string& path) {
      if (path != directory && directory_of(path) == directory) names.insert(path.substr(path.rfind('/') + 1));
    };
    for (const auto& [path, inode] : seen_)
      add(path);
    for (const auto& path : directories_)
      add(path);
    return std::vector<std::string>(names.begin(), names.end());
  }
  [[nodiscard]] base::Result<base::Bytes> free_space(const std::string& directory) const override {
    if (!directories_.contains(directory)) return base::fail_errno("asking for free space of " + directory, ENOENT);
    return free_;
  }

  [[nodiscard]] base::Result<std::unique_ptr<WritableFile>> create(const std::string& path, IfPresent if_present,
                                                                   mode_t) override {
    if (auto allowed = change("creating " + path); !allowed) return base::pass(allowed);
    if (!directories_.contains(directory_of(path))) return base::fail_errno("creating " + path, ENOENT);
    auto& inode = seen_[path];
    if (inode && if_present == IfPresent::fail) return base::fail_errno("creating " + path, EEXIST);
    if (!inode) inode = std::make_shared<Inode>();
    inode->seen.clear();
    return std::make_unique<Writer>(*this, inode, path);
  }
  [[nodiscard]] base::Status rename(const std::string& from, const std::string& to) override {
    if (auto allowed = change("renaming " + from + " to " + to); !allowed) return allowed;
    auto moved = seen_.extract(from);
    if (!moved) return base::fail_errno("renaming " + from + " to " + to, ENOENT);
    seen_[to] = moved.mapped();
    return {};
  }
  [[nodiscard]] base::Result<bool> remove(const std::string& path) override {
    if (auto allowed = change("removing " + path); !allowed) return base::pass(allowed);
    return seen_.erase(path) > 0;
  }
  [[nodiscard]] base::Status sync_directory(const std::string& directory) override {
    if (auto allowed = change("syncing " + directory); !allowed) return allowed;
    if (!directories_.contains(directory)) return base::fail_errno("opening " + directory, ENOENT);
    std::erase_if(durable_, [&](const auto& entry) { return directory_of(entry.first) == directory; });
    for (const auto& [path, inode] : seen_) {
      if (directory_of(path) == directory) durable_[path] = inode;
    }
    return {};
  }
  [[nodiscard]] base::Status ensure_directory(const std::string& path, mode_t mode) override {
    if (seen_.contains(path)) return base::fail_errno("making the folder " + path, ENOTDIR);
    if (!directories_.insert(path).second) return {};
    return ensure_directory(directory_of(path), mode);
  }
  [[nodiscard]] base::Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    if (!directories_.contains(directory_of(path))) return base::fail_errno("opening the lock " + path, ENOENT);
    if (locked_.contains(path)) {
      return base::fail(base::ErrorCode::in_use, "locking " + path + ": another process holds it");
    }
    if (!seen_.contains(path)) seen_[path] = std::make_shared<Inode>();
    return std::make_unique<Lock>(*this, path);
  }

 private:
  // shared: a file stays as long as a name or an open writer has it, as on a disk.
  struct Inode {
    std::string seen;
    std::string synced;
  };
  using Names = std::map<std::string, std::shared_ptr<Inode>>;

  class Writer final : public WritableFile {
   public:
    Writer(FakeFiles& files, std::shared_ptr<Inode> inode, std::string path)
        : files_(files), inode_(std::move(inode)), path_(std::move(path)) {}
    base::Status write(std::string_view bytes) override {
      if (auto allowed = files_.change("writing " + path_); !allowed) {
        inode_->seen += bytes.substr(0, bytes.size() / 2);  // a torn write, as a full disk makes it
        return allowed;
      }
      inode_->seen += bytes;
      return {};
    }
    base::Status sync() override {
      if (auto allowed = files_.change("syncing " + path_); !allowed) return allowed;
      inode_->synced = inode_->seen;
      return {};
    }

   private:
    FakeFiles& files_;  // outlives its writers
    std::shared_ptr<Inode> inode_;
    std::string path_;
  };

  class Lock final : public FileLock {
   public:
    Lock(FakeFiles& files, std::string path) : files_(files), path_(std::move(path)) { files_.locked_.insert(path_); }
    ~Lock() override { files_.locked_.erase(path_); }

   private:
    FakeFiles& files_;  // outlives its locks
    std::string path_;
  };

  base::Status change(const std::string& what) {
    if (++changes_ == fail_at_) return base::fail_errno(what, fail_with_);
    return {};
  }

  Names seen_;
  Names durable_;
  std::set<std::string> directories_ = {"/", "."};
  std::set<std::string> locked_;
  base::Bytes free_ = 1'000'000'000;
  int changes_ = 0;
  int fail_at_ = 0;
  int fail_with_ = 0;
};

}  // namespace hearth::sys
