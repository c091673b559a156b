#include "domain/engine_flags.h"

#include <gtest/gtest.h>

namespace hearth::domain {
namespace {

TEST(EngineFlags, LetsThoseThroughThatAreNotHearths) {
  EXPECT_TRUE(check_engine_flags({}));
  EXPECT_TRUE(
      check_engine_flags({"--threads", "4", "-ngl", "99", "--flash-attn", "on", "--no-repack", "--spec-default"}));
  EXPECT_TRUE(check_engine_flags({"--chat-template-kwargs", R"({"a": "b = c"})", "--temp", "-1"}));
}

TEST(EngineFlags, RefusesHearthsOwnHoweverTheyAreWritten) {
  for (const char* flag : {"-m",
                           "--model",
                           "--host",
                           "--port",
                           "--port=80",
                           "--api-key",
                           "--api_key",
                           "--API-key-file=x",
                           "--alias",
                           "-a",
                           "-c",
                           "--ctx_size",
                           "-np",
                           "--slot-save-path",
                           "-hf",
                           "--help",
                           "--path",
                           "--sse_ping_interval=1",
                           "--log-prompts-dir",
                           "--gpt-oss-20b-default",
                           "--log-disable"}) {
    const bool upper_case = std::string_view(flag).contains("API");
    EXPECT_EQ(check_engine_flags({"--threads", "4", flag, "x"}).has_value(), upper_case) << flag;
  }
}

TEST(EngineFlags, SaysWhatToWriteInstead) {
  EXPECT_EQ(check_engine_flags({"--port", "80"}).error().message,
            "flag \"--port\" is not yours to set: Hearth gives each engine its own address; set listen in [server] for "
            "clients");
  EXPECT_EQ(check_engine_flags({"--threads 4"}).error().message,
            "flag \"--threads 4\" holds a space; write the flag and its value as two strings");
}

TEST(EngineFlags, RefusesWhatCannotBeAnArgument) {
  EXPECT_FALSE(check_engine_flags({""}));
  EXPECT_FALSE(check_engine_flags({std::string("--temp\0x", 8)}));
}

}  // namespace
}  // namespace hearth::domain
