#include "store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace hearth::tier {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBytes = 3 * kChunkBytes + 777;
constexpr std::uint64_t kEngine = 42;

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hearth_store_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    std::strcpy(settings_.directory, name.c_str());
    std::strcpy(settings_.key, "key");
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] std::unique_ptr<Store> store() const {
    auto made = std::make_unique<Store>();
    EXPECT_EQ(made->open(settings_), Reason::kNone);
    return made;
  }
  [[nodiscard]] fs::path file(const char* name = "0.seg") const { return root_ / "key" / name; }

  /// Packs a buffer of recognisable bytes and publishes it.
  Reason publish(Store& store, unsigned char first = 1, std::uint32_t ordinal = 0) {
    NewFile made;
    int error = 0;
    Reason reason = store.create(ordinal, kBytes, made, error);
    if (reason != Reason::kNone) return reason;
    void* data = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd, kDataOffset);
    for (std::uint64_t i = 0; i < kBytes; ++i)
      static_cast<unsigned char*>(data)[i] = static_cast<unsigned char>(first + i);
    PageVector<ManifestEntry> manifest;
    ManifestEntry entry{};
    std::strcpy(entry.name, "blk.0.attn_q.weight");
    entry.bytes = 4096;
    EXPECT_TRUE(manifest.push(entry));
    const Finished finished{data, kBytes, ordinal, kEngine, "CPU_REPACK", &manifest, &stop_};
    reason = store.publish(made, finished, error);
    ::munmap(data, kBytes);
    store.discard(made);
    manifest.reset();
    return reason;
  }

  /// What a fresh start makes of the file; the first byte of the data where it is taken.
  Reason take(int* first = nullptr, std::uint64_t bytes = kBytes, const char* type = "CPU_REPACK",
              std::uint64_t engine = kEngine) {
    auto fresh = store();
    fresh->begin_checks();
    PackedFile packed;
    const Reason reason = fresh->take(0, bytes, type, engine, packed);
    if (first != nullptr) *first = packed.data == nullptr ? -1 : *static_cast<unsigned char*>(packed.data);
    if (packed.data != nullptr) os::unmap(packed.data, packed.bytes);
    if (packed.fd >= 0) ::close(packed.fd);
    packed.manifest.reset();
    return reason;
  }

  void change_file(const std::function<void(int)>& change) {
    const int fd = ::open(file().c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    change(fd);
    ::close(fd);
  }
  void flip(off_t at) {
    change_file([at](int fd) {
      unsigned char byte = 0;
      ASSERT_EQ(::pread(fd, &byte, 1, at), 1);
      byte ^= 0x04;
      ASSERT_EQ(::pwrite(fd, &byte, 1, at), 1);
    });
  }
  void expect_set_aside(Reason reason) {
    EXPECT_EQ(take(), reason);
    EXPECT_FALSE(fs::exists(file()));
    EXPECT_TRUE(fs::exists(file("0.seg.bad")));
    EXPECT_EQ(take(), Reason::kAbsent);
  }

  fs::path root_;
  Settings settings_;
  std::atomic<bool> stop_{false};
};

TEST_F(StoreTest, WhatIsPublishedIsTaken) {
  auto s = store();
  EXPECT_EQ(take(), Reason::kAbsent);
  ASSERT_EQ(publish(*s), Reason::kNone);
  int first = 0;
  EXPECT_EQ(take(&first), Reason::kNone);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(take(&first), Reason::kNone);
}

TEST_F(StoreTest, OnlyThePublishedNameAndTheLockAppear) {
  auto s = store();
  NewFile half;
  int error = 0;
  ASSERT_EQ(s->create(0, kBytes, half, error), Reason::kNone);
  ASSERT_EQ(publish(*s), Reason::kNone);
  s->discard(half);
  std::size_t names = 0;
  for (const auto& entry : fs::directory_iterator(root_ / "key")) {
    EXPECT_TRUE(entry.path().filename() == "0.seg" || entry.path().filename() == "lock") << entry.path();
    ++names;
  }
  EXPECT_EQ(names, 2U);
}

TEST_F(StoreTest, TheSecondWriterKeepsTheFirstOnesFile) {
  auto s = store();
  auto other = store();
  ASSERT_EQ(publish(*s, 1), Reason::kNone);
  EXPECT_EQ(publish(*other, 9), Reason::kLost);
  int first = 0;
  EXPECT_EQ(take(&first), Reason::kNone);
  EXPECT_EQ(first, 1);
}

TEST_F(StoreTest, DamageIsSetAsideWithItsReason) {
  const struct {
    off_t at;
    Reason reason;
  } cases[] = {
      {0, Reason::kBadMagic},
      {9, Reason::kNewerVersion},
      {100, Reason::kBadHeader},
      {static_cast<off_t>(kDataOffset), Reason::kBadChunk},
      {static_cast<off_t>(kDataOffset + kBytes - 1), Reason::kBadChunk},
      {static_cast<off_t>(manifest_offset(kBytes)) + 3, Reason::kBadManifest},
      {static_cast<off_t>(file_bytes(kBytes, 1)) - 1, Reason::kBadManifest},
  };
  for (const auto& one : cases) {
    ASSERT_EQ(publish(*store()), Reason::kNone);
    flip(one.at);
    SCOPED_TRACE(one.at);
    expect_set_aside(one.reason);
  }
}

TEST_F(StoreTest, EveryTruncationIsRefused) {
  const auto whole = static_cast<off_t>(file_bytes(kBytes, 1));
  for (const off_t length :
       {off_t{0}, off_t{100}, off_t{4096}, off_t{1 << 20}, static_cast<off_t>(kDataOffset + kBytes), whole - 1}) {
    ASSERT_EQ(publish(*store()), Reason::kNone);
    change_file([length](int fd) { ASSERT_EQ(::ftruncate(fd, length), 0); });
    SCOPED_TRACE(length);
    expect_set_aside(Reason::kShort);
  }
}

TEST_F(StoreTest, AnotherEngineSizeOrTypeIsSetAside) {
  ASSERT_EQ(publish(*store()), Reason::kNone);
  EXPECT_EQ(take(nullptr, kBytes, "CPU_REPACK", kEngine + 1), Reason::kOtherEngine);
  ASSERT_EQ(publish(*store()), Reason::kNone);
  EXPECT_EQ(take(nullptr, kBytes + 1), Reason::kOtherSize);
  ASSERT_EQ(publish(*store()), Reason::kNone);
  EXPECT_EQ(take(nullptr, kBytes, "CPU"), Reason::kOtherSize);
}

TEST_F(StoreTest, AFileThatIsNotOursAloneIsRefused) {
  ASSERT_EQ(publish(*store()), Reason::kNone);
  ASSERT_EQ(::chmod(file().c_str(), 0666), 0);
  expect_set_aside(Reason::kForeign);
  ASSERT_EQ(publish(*store()), Reason::kNone);
  fs::create_hard_link(file(), file("other"));
  expect_set_aside(Reason::kForeign);
  fs::create_symlink("other", file());
  expect_set_aside(Reason::kForeign);
  fs::create_directory(file());
  EXPECT_EQ(take(), Reason::kForeign);
}

/// Lets the process have no descriptor or no memory more than it has.
class Shortage {
 public:
  Shortage(__rlimit_resource what, rlim_t limit) : what_(what) {
    ::getrlimit(what_, &kept_);
    const rlimit less{limit, kept_.rlim_max};
    ::setrlimit(what_, &less);
  }
  ~Shortage() { ::setrlimit(what_, &kept_); }
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;

 private:
  __rlimit_resource what_;
  rlimit kept_{};
};

TEST_F(StoreTest, WhatTheFileHasNoPartInLeavesItWhereItIs) {
  ASSERT_EQ(publish(*store()), Reason::kNone);
  for (const auto what : {RLIMIT_NOFILE, RLIMIT_AS}) {
    auto fresh = store();
    {
      const Shortage shortage(what, what == RLIMIT_AS ? 1 << 20 : 0);
      fresh->begin_checks();
    }
    PackedFile packed;
    EXPECT_EQ(fresh->take(0, kBytes, "CPU_REPACK", kEngine, packed), Reason::kKernel);
    EXPECT_TRUE(fs::exists(file()));
  }
  EXPECT_EQ(take(), Reason::kNone);
}

TEST_F(StoreTest, ATakenFileIsOnlyReadUntilWritesAreAllowed) {
  ASSERT_EQ(publish(*store()), Reason::kNone);
  auto fresh = store();
  PackedFile packed;
  ASSERT_EQ(fresh->take(0, kBytes, "CPU_REPACK", kEngine, packed), Reason::kNone);
  auto* data = static_cast<unsigned char*>(packed.data);
  // The kernel refuses to write into what may only be read.
  EXPECT_EQ(::pread(packed.fd, data, 1, 0), -1);
  ASSERT_EQ(os::allow_write(data, kBytes), 0);
  EXPECT_EQ(::pread(packed.fd, data, 1, 0), 1);
  os::unmap(data, kBytes);
  ::close(packed.fd);
  packed.manifest.reset();
  int first = 0;
  EXPECT_EQ(take(&first), Reason::kNone);
  EXPECT_EQ(first, 1);
}

TEST_F(StoreTest, AFileOfAnotherKeyOrOrdinalIsRefused) {
  ASSERT_EQ(publish(*store(), 1, 1), Reason::kNone);
  fs::rename(file("1.seg"), file("0.seg"));
  expect_set_aside(Reason::kOtherKey);
  ASSERT_EQ(publish(*store()), Reason::kNone);
  fs::create_directory(root_ / "other");
  fs::permissions(root_ / "other", fs::perms::owner_all);
  fs::rename(file(), root_ / "other" / "0.seg");
  std::strcpy(settings_.key, "other");
  EXPECT_EQ(take(), Reason::kOtherKey);
}

TEST_F(StoreTest, AFolderOthersMayWriteToIsRefused) {
  fs::create_directory(root_ / "key");
  ASSERT_EQ(::chmod((root_ / "key").c_str(), 0777), 0);
  Store s;
  EXPECT_EQ(s.open(settings_), Reason::kUnsafeDirectory);
  EXPECT_FALSE(s.usable());
}

TEST_F(StoreTest, WithoutFolderOrKeyNothingIsUsable) {
  Settings none;
  Store a;
  EXPECT_EQ(a.open(none), Reason::kNoDirectory);
  std::strcpy(none.directory, "/dev/null/x");
  Store b;
  EXPECT_EQ(b.open(none), Reason::kBadKey);
  std::strcpy(none.key, "key");
  Store c;
  EXPECT_EQ(c.open(none), Reason::kNoDirectory);
}

TEST_F(StoreTest, TheQuotaHoldsForPublishing) {
  settings_.quota = file_bytes(kBytes, 1) - 1;
  EXPECT_EQ(publish(*store()), Reason::kNoSpace);
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(StoreTest, MoreThanTheDiskHoldsIsRefusedAtOnce) {
  auto s = store();
  NewFile made;
  int error = 0;
  EXPECT_NE(s->create(0, 1ULL << 62, made, error), Reason::kNone);
  EXPECT_EQ(made.fd, -1);
}

TEST_F(StoreTest, LeftoversOfDeadWritersAreRemovedAndLiveOnesKept) {
  auto s = store();
  const int dead = ::open(file(".0.1.tmp").c_str(), O_CREAT | O_RDWR, 0600);
  ::close(dead);
  const int alive = ::open(file(".1.1.tmp").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_EQ(::flock(alive, LOCK_EX), 0);
  auto next = store();
  EXPECT_FALSE(fs::exists(file(".0.1.tmp")));
  EXPECT_TRUE(fs::exists(file(".1.1.tmp")));
  ::close(alive);
}

TEST_F(StoreTest, CheckModesDiffer) {
  ASSERT_EQ(publish(*store()), Reason::kNone);
  flip(static_cast<off_t>(kDataOffset) + 5);
  settings_.check = CheckMode::kNone;
  EXPECT_EQ(take(), Reason::kNone);
  settings_.check = CheckMode::kSample;  // one step covers this small file
  EXPECT_EQ(take(), Reason::kBadChunk);
}

}  // namespace
}  // namespace hearth::tier
