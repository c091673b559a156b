#include "engine/launch.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace hearth::engine {
namespace {

using base::ErrorCode;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

LaunchSpec small_spec() {
  return {.command = {"/opt/ld.so", "--library-path", "/opt/lib", "/opt/llama-server"},
          .model_file = "/data/m.gguf",
          .alias = "m:q4",
          .flags = {"-ngl", "99"}};
}

TEST(Launch, TheCommandIsFollowedByOurFlagsAndThenTheConfigured) {
  auto spec = small_spec();
  spec.context = 4096;
  spec.slots = 2;
  const auto launch = plan_launch(spec, "/run/h/a.sock", {}).value();
  EXPECT_THAT(launch.argv,
              ElementsAre("/opt/ld.so", "--library-path", "/opt/lib", "/opt/llama-server", "-m", "/data/m.gguf",
                          "--alias", "m:q4", "--host", "/run/h/a.sock", "--port", "0", "--no-webui", "--offline",
                          "--sse-ping-interval", "1", "--no-slots", "-c", "4096", "-np", "2", "-ngl", "99"));
}

TEST(Launch, EachChoiceIsSaidOnce) {
  auto spec = small_spec();
  spec.prompt_cache_mib = 256;
  spec.keep_idle_slots = true;
  spec.slot_save_folder = "/data/states";
  const auto argv = plan_launch(spec, "/run/h/a.sock", {}).value().argv;
  for (const char* flag : {"--cache-ram", "--no-cache-idle-slots", "--slot-save-path"})
    EXPECT_EQ(std::ranges::count(argv, flag), 1) << flag;
}

TEST(Launch, TheEnvironmentIsScrubbed) {
  auto spec = small_spec();
  spec.environment = {{"GGML_VK_VISIBLE_DEVICES", "0"}, {"HOME", "/var/lib/h"}};
  const auto launch =
      plan_launch(spec, "/run/h/a.sock",
                  {"PATH=/bin", "HOME=/root", "LC_ALL=C", "LLAMA_ARG_HOST=0.0.0.0", "GGML_BACKEND_PATH=/x",
                   "VK_DRIVER_FILES=/y", "HF_TOKEN=t", "HEARTH_API_KEY=k", "LD_PRELOAD=/z"})
          .value();
  EXPECT_THAT(launch.environment, ElementsAre("PATH=/bin", "LC_ALL=C", "GGML_VK_VISIBLE_DEVICES=0", "HOME=/var/lib/h"));
}

TEST(Launch, TheLibraryIsPreloadedAndToldOfItsEnd) {
  auto spec = small_spec();
  spec.environment = {{"LD_PRELOAD", "/opt/malloc.so"}, {"HEARTH_TIER_FD", "9"}, {"HEARTH_TIER_READERS", "4"}};
  spec.tier = TierLaunch{
      .library = "/opt/tier.so", .folder = "/data/packed", .key = "k-1", .check = TierCheck::sample, .quota = 7};
  const auto launch = plan_launch(spec, "/run/h/a.sock", {"PATH=/bin"}).value();
  EXPECT_THAT(
      launch.environment,
      ElementsAre("PATH=/bin", "HEARTH_TIER_READERS=4", "LD_PRELOAD=/opt/tier.so:/opt/malloc.so", "HEARTH_TIER_FD=3",
                  "HEARTH_TIER_PROTOCOL=1", "HEARTH_TIER_CHECK=sample", "HEARTH_TIER_DIR=/data/packed",
                  "HEARTH_TIER_KEY=k-1", "HEARTH_TIER_MODEL=/data/m.gguf", "HEARTH_TIER_QUOTA=7"));
}

TEST(Launch, WithoutAFolderOrRoomNothingIsPacked) {
  auto spec = small_spec();
  spec.tier = TierLaunch{.library = "/opt/tier.so", .quota = 0};
  const auto launch = plan_launch(spec, "/run/h/a.sock", {}).value();
  EXPECT_THAT(launch.environment, Contains("HEARTH_TIER_PACK=off"));
  EXPECT_THAT(launch.environment, Not(Contains(HasSubstr("HEARTH_TIER_DIR"))));
  spec.tier.reset();
  EXPECT_THAT(plan_launch(spec, "/run/h/a.sock", {}).value().environment, ElementsAre());
}

TEST(Launch, FlagsThatWouldTakeOverAreRefusedInEverySpelling) {
  for (const char* flag :
       {"--host", "--port", "-m", "--model", "--api-key", "--api_key", "--host=0.0.0.0", "--ctx_size", "-c"}) {
    auto spec = small_spec();
    spec.flags = {"-ngl", "1", flag, "x"};
    const auto launch = plan_launch(spec, "/run/h/a.sock", {});
    ASSERT_FALSE(launch) << flag;
    EXPECT_EQ(launch.error().code, ErrorCode::bad_request);
    EXPECT_THAT(launch.error().message, HasSubstr(flag));
  }
}

TEST(Launch, TheSocketMustBeOneThatTheEngineTakes) {
  const std::string longest = "/" + std::string(kSocketPathLimit - 6, 'x') + ".sock";
  EXPECT_TRUE(plan_launch(small_spec(), longest, {}));
  EXPECT_THAT(plan_launch(small_spec(), "/x" + longest, {}).error().message, HasSubstr("shorter"));
  EXPECT_FALSE(plan_launch(small_spec(), "/run/a", {}));
  EXPECT_FALSE(plan_launch(small_spec(), "a.sock", {}));
  EXPECT_FALSE(plan_launch({}, "/a.sock", {}));
}

}  // namespace
}  // namespace hearth::engine
