#include "engine/llama_starter.h"

#include <gmock/gmock.h>

#include "engine/tier_link.h"
#include "rt/task_group.h"
#include "sys/fake_files.h"
#include "sys/fake_processes.h"

namespace hearth::engine {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class LlamaStarterTest : public testing::Test {
 protected:
  LlamaStarterTest() {
    processes.install("/opt/llama-server", {});
    spec = {.command = {"/opt/llama-server"}, .model_file = "/data/m.gguf", .alias = "m"};
    spec.tier = TierLaunch{.library = "/opt/tier.so", .folder = "/data/packed", .key = "k"};
  }
  std::unique_ptr<EngineProcess> start() {
    LlamaStarter starter(spec, {io.get_executor(), processes, stats, files, "/run/engines", {}, {}});
    auto process = starter.start().value();
    group.spawn(process->run());
    return process;
  }
  void end() {
    processes.end(processes.last_pid(), {false, 0});
    io.restart();
    io.run();
  }
  void add_library() {
    ASSERT_TRUE(files.ensure_directory("/opt", 0755));
    ASSERT_TRUE(files.create("/opt/tier.so", sys::IfPresent::fail, 0644));
  }
  [[nodiscard]] const sys::SpawnSpec& spawned() const { return processes.spawned().back(); }

  boost::asio::io_context io;
  sys::FakeProcesses processes;
  sys::FakeFiles files;
  sys::LinuxProcStats stats;
  LaunchSpec spec;
  rt::TaskGroup group{io.get_executor(), [](std::exception_ptr failure) { std::rethrow_exception(failure); }};
};

TEST_F(LlamaStarterTest, TheLibraryGetsItsEndOfTheLine) {
  add_library();
  const auto process = start();
  EXPECT_THAT(spawned().environment, Contains("LD_PRELOAD=/opt/tier.so"));
  ASSERT_EQ(spawned().inherited.size(), 1U);
  EXPECT_EQ(spawned().inherited.front().child, kTierFd);
  const auto link = process->tier();
  ASSERT_TRUE(link);
  EXPECT_THAT(*process->tier_lack(), HasSubstr("did not speak up"));
  end();
  EXPECT_TRUE(link->closed());
}

TEST_F(LlamaStarterTest, EachStartIsToldTheRoomThereIsForPackedWeightsNow) {
  add_library();
  std::uint64_t room = 700;
  LlamaStarter starter(spec,
                       {io.get_executor(), processes, stats, files, "/run/engines", {}, {}, [&] { return room; }});
  auto first = starter.start().value();
  group.spawn(first->run());
  EXPECT_THAT(spawned().environment, Contains("HEARTH_TIER_QUOTA=700"));
  end();
  room = 0;
  auto second = starter.start().value();
  group.spawn(second->run());
  EXPECT_THAT(spawned().environment, Contains("HEARTH_TIER_PACK=off"));
  end();
}

TEST_F(LlamaStarterTest, WithoutTheLibraryTheEngineIsStock) {
  const auto process = start();
  EXPECT_THAT(spawned().environment, Not(Contains(HasSubstr("LD_PRELOAD"))));
  EXPECT_THAT(spawned().inherited, IsEmpty());
  EXPECT_FALSE(process->tier());
  EXPECT_THAT(*process->tier_lack(),
              HasSubstr("runs as stock: the library cannot be preloaded: looking at /opt/tier.so: No such file"));
  end();
}

TEST_F(LlamaStarterTest, APathThatThePreloadWouldSplitIsNotUsed) {
  for (const char* path : {"/opt/my libs/tier.so", "/opt/a:b/tier.so", "tier.so", ""}) {
    spec.tier->library = path;
    const auto process = start();
    EXPECT_THAT(*process->tier_lack(), HasSubstr("has a space or a colon")) << path;
    end();
  }
}

TEST_F(LlamaStarterTest, StockByChoiceLacksNothing) {
  spec.tier.reset();
  const auto process = start();
  EXPECT_FALSE(process->tier());
  EXPECT_FALSE(process->tier_lack());
  end();
}

}  // namespace
}  // namespace hearth::engine
