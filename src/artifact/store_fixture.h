#pragma once
// What the store's tests share: a folder of their own, a clock that stands still, and a disk that fails or kills. Tests
// only.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>

#include "artifact/gguf_sample.h"
#include "artifact/store.h"

namespace hearth::artifact {

class StillClock final : public base::Clock {
 public:
  [[nodiscard]] base::Mono now() const override { return {}; }
  [[nodiscard]] base::Wall wall() const override { return base::Wall(std::chrono::seconds(1'700'000'000)); }
};

// The real disk, on which the operation number `at` (from 1) does not happen as it should.
class TrapFiles final : public StoreFiles {
 public:
  // What happens instead of the operation, given its name; an error is its result, empty lets it happen.
  using Trap = std::function<std::optional<base::Error>(std::string_view operation)>;
  explicit TrapFiles(Trap trap = {}) : trap_(std::move(trap)) {}

  base::Status make_folder(const std::string& path) override {
    return guard("make_folder", [&] { return StoreFiles::make_folder(path); });
  }
  base::Result<base::Fd> create(const std::string& path) override {
    return guard("create", [&] { return StoreFiles::create(path); });
  }
  // In two halves, so that there is an instant at which a part of it is on the disk.
  base::Status write(int fd, std::span<const std::byte> bytes) override {
    const auto half = bytes.size() / 2;
    auto done = guard("write", [&] { return StoreFiles::write(fd, bytes.first(half)); });
    return done ? guard("write", [&] { return StoreFiles::write(fd, bytes.subspan(half)); }) : done;
  }
  base::Status reserve(int fd, base::Bytes bytes) override {
    return guard("reserve", [&] { return StoreFiles::reserve(fd, bytes); });
  }
  base::Status sync(int fd) override {
    return guard("sync", [&] { return really_sync ? StoreFiles::sync(fd) : base::Status(); });
  }
  base::Status make_read_only(int fd) override {
    return guard("make_read_only", [&] { return StoreFiles::make_read_only(fd); });
  }
  base::Status rename(const std::string& from, const std::string& to) override {
    return guard("rename", [&] { return StoreFiles::rename(from, to); });
  }
  base::Status remove(const std::string& path) override {
    return guard("remove", [&] { return StoreFiles::remove(path); });
  }
  base::Status sync_folder(const std::string& path) override {
    return guard("sync_folder", [&] { return really_sync ? StoreFiles::sync_folder(path) : base::Status(); });
  }
  base::Result<base::Bytes> free_bytes(const std::string& path) override {
    return free ? *free : StoreFiles::free_bytes(path);
  }

  void arm(Trap trap) { trap_ = std::move(trap); }
  std::optional<base::Bytes> free;
  // A killed process loses nothing that it wrote, so tests need not wait for the disk.
  bool really_sync = false;

 private:
  template <typename F>
  std::invoke_result_t<F> guard(std::string_view operation, F action) {
    if (trap_) {
      if (auto error = trap_(operation)) return std::unexpected(std::move(*error));
    }
    return action();
  }
  Trap trap_;
};

class StoreFixture : public ::testing::Test {
 protected:
  StoreFixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hearth-store-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    root_ = pattern;
    folder_ = root_ + "/artifacts";
  }
  ~StoreFixture() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] base::Result<std::unique_ptr<Store>> try_open() {
    return Store::open(
        folder_, clock_, [this](const domain::Event& event) { note(event); }, files_);
  }
  [[nodiscard]] std::unique_ptr<Store> open() {
    auto store = try_open();
    if (!store) throw std::runtime_error(store.error().message);
    return std::move(*store);
  }

  static domain::ModelId id(std::string_view text) { return *domain::ModelId::parse(text); }

  static base::Result<Imported> import(Store& store, std::string_view name, std::string_view bytes,
                                       IfTaken if_taken = IfTaken::replace) {
    auto session = store.begin_import(id(name), bytes.size(), if_taken);
    if (!session) return std::unexpected(session.error());
    for (std::size_t at = 0; at < bytes.size(); at += 300) {
      const auto piece = bytes.substr(at, 300);
      if (auto written = session->write(std::as_bytes(std::span(piece))); !written)
        return std::unexpected(written.error());
    }
    return std::move(*session).finish();
  }

  [[nodiscard]] std::vector<std::string> names(const std::string& sub_folder) const {
    return *names_in(folder_ + "/" + sub_folder);
  }
  static std::string contents(const std::string& path) { return *read_file(path, 1 << 20); }
  static void overwrite(const std::string& path, std::string_view bytes) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  [[nodiscard]] bool saw(std::string_view what) const {
    return std::ranges::any_of(events_, [&](const domain::Event& event) { return event.what == what; });
  }

  // The store tells of events on the threads that cause them.
  void note(const domain::Event& event) {
    const std::scoped_lock lock(events_mutex_);
    events_.push_back(event);
  }

  std::string root_;
  std::string folder_;
  StillClock clock_;
  TrapFiles files_;
  std::mutex events_mutex_;
  std::vector<domain::Event> events_;
};

}  // namespace hearth::artifact
