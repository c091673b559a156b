#include "daemon/packed_quota.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"

namespace hearth::daemon {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr base::Bytes kPart = 64 << 10;  // of a folder; a multiple of every file system's block

class PackedQuotaTest : public testing::Test {
 protected:
  // The packed weights of the model of the same name.
  void add(const std::string& key, base::Bytes bytes = kPart) {
    fs::create_directories(root / key);
    std::ofstream(root / key / "0.seg") << std::string(bytes, 'x');
  }
  [[nodiscard]] bool kept(const std::string& key) const { return fs::exists(root / key); }
  PackedQuota& keep(std::optional<base::Bytes> bytes) {
    quota = std::make_unique<PackedQuota>(
        PackedQuota::Parts{io.get_executor(), pool, clock, root, bytes, [](const std::string& model) { return model; },
                           [this] { return running; }, [this](domain::Event event) { told.push_back(*event.why); },
                           [](std::exception_ptr failure) { std::rethrow_exception(failure); }});
    return *quota;
  }
  void hear(const std::string& what, const std::string& model, base::Bytes bytes = 0) {
    domain::Event event;
    event.what = what;
    event.model = model;
    event.bytes = bytes;
    quota->hear(event);
  }
  void settle() {
    io.restart();
    io.run();
  }

  test::TempFolder own;
  fs::path root = own.path() / "packed";
  rt::asio::io_context io;
  rt::BlockingPool pool{1};
  test::ManualClock clock;
  std::set<std::string> running;
  std::vector<std::string> told;
  std::unique_ptr<PackedQuota> quota;
};

TEST_F(PackedQuotaTest, AServerThatStartsKeepsWhatItsQuotaAllows) {
  add("a");
  add("b");
  add("c");
  keep(2 * kPart).look();
  settle();
  EXPECT_THAT(told, ElementsAre(HasSubstr("packed weights take")));
  EXPECT_EQ(kept("a") + kept("b") + kept("c"), 2);
}

TEST_F(PackedQuotaTest, WhatWasInUseGoesWhenItsEngineHasEnded) {
  add("a");
  running = {"a"};
  keep(kPart / 2).look();
  settle();
  EXPECT_THAT(told, IsEmpty());
  running.clear();
  for (const char* end : {"process_stopped", "process_failed"}) {
    add("a");
    hear(end, "a");
    settle();
    EXPECT_FALSE(kept("a")) << end;
  }
}

TEST_F(PackedQuotaTest, LooksAtTheSameTimeRemoveAndTellOnce) {
  add("a");
  keep(0).look();
  hear("process_stopped", "b");
  settle();
  EXPECT_EQ(told.size(), 1U);
}

TEST_F(PackedQuotaTest, AStartMayAddWhatTheOthersCannotGiveUp) {
  add("runs");
  add("rests");
  running = {"runs", "own"};
  keep(10 * kPart);
  EXPECT_EQ(quota->allowance("own"), 9 * kPart);
  hear("weights_placed", "packs", 4 * kPart);
  hear("weights_placed", "own", 3 * kPart);
  EXPECT_EQ(quota->allowance("own"), 5 * kPart);
  hear("weights_placed", "packs", 9 * kPart);
  EXPECT_EQ(quota->allowance("own"), 0U);
  hear("process_stopped", "packs");
  EXPECT_EQ(quota->allowance("own"), 9 * kPart);
  settle();
}

TEST_F(PackedQuotaTest, WhatIsPublishedIsNotCountedAsBeingPackedToo) {
  keep(10 * kPart);
  hear("weights_placed", "other", kPart);
  add("other");
  hear("packed_published", "other", kPart);
  running = {"other"};
  EXPECT_EQ(quota->allowance("own"), 9 * kPart);
  settle();
}

TEST_F(PackedQuotaTest, WithoutAQuotaAStartMayTakeHalfOfTheRoomEvenBeforeThereIsAFolder) {
  keep(std::nullopt);
  const base::Bytes room = fs::space(root.parent_path()).available;
  const base::Bytes allowed = quota->allowance("own");
  EXPECT_GT(allowed, room / 4);
  EXPECT_LT(allowed, room * 3 / 4);
}

}  // namespace
}  // namespace hearth::daemon
