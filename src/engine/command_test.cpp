#include "engine/command.h"

#include <gmock/gmock.h>

namespace hearth::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Command shell(std::string script) { return {.argv = {"/bin/sh", "-c", std::move(script)}}; }

TEST(Command, GathersOutputErrorAndStatus) {
  const auto result = run_command(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_status, 3);
  EXPECT_EQ(result->output, "out\nerr\n");
  EXPECT_FALSE(result->truncated);
}

TEST(Command, HandsLinesOnWholeAndUnended) {
  std::vector<std::string> lines;
  Command command = shell("printf 'a\\n\\nb c\\nlast'");
  command.on_line = [&lines](std::string_view line) { lines.emplace_back(line); };
  ASSERT_TRUE(run_command(command));
  EXPECT_THAT(lines, ElementsAre("a", "b c", "last"));
}

TEST(Command, BoundsWhatItKeeps) {
  Command command = shell("head -c 200000 /dev/zero | tr '\\0' x");
  command.output_limit = 1000;
  const auto result = run_command(command);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->output.size(), 1000U);
  EXPECT_TRUE(result->truncated);
  EXPECT_EQ(result->exit_status, 0);
}

TEST(Command, DeadlineKillsTheWholeGroup) {
  Command command = shell("echo working; sleep 600 & sleep 600");
  command.deadline = std::chrono::milliseconds(50);
  const auto result = run_command(command);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, base::ErrorCode::timeout);
  EXPECT_THAT(result.error().message, HasSubstr("working"));
}

TEST(Command, TellsAMissingProgramFromAFailedOne) {
  const auto missing = run_command({.argv = {"no-such-program-here"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, base::ErrorCode::not_found);
  const auto absent = run_command({.argv = {"/nowhere/program"}});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, base::ErrorCode::not_found);
  const auto failed = run_checked(shell("echo one; echo two >&2; exit 1"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, base::ErrorCode::io);
  EXPECT_THAT(failed.error().message, HasSubstr("two"));
}

TEST(Command, SignalsCountAsStatus) {
  const auto result = run_command(shell("kill -TERM $$"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_status, 128 + 15);
}

TEST(Command, GivesTheChildItsEnvironmentAndNothingElseToRead) {
  Command command = shell("echo $COLOUR; cat; ls /proc/self/fd | wc -l");
  command.environment = {{"COLOUR", "blue"}};
  const auto result = run_command(command);
  ASSERT_TRUE(result);
  // 0, 1, 2, and the folder that ls reads.
  EXPECT_EQ(result->output, "blue\n4\n");
}

TEST(Command, ArgumentsAreNotInterpreted) {
  const auto result = run_command({.argv = {"/bin/echo", "$(id)", "a b", ";rm"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "$(id) a b ;rm\n");
}

TEST(Command, LastWordsSkipEmptyLinesAndControlCharacters) {
  EXPECT_EQ(last_words("first\nE: no \x1b[31mspace\n\n  \n"), "E: no ?[31mspace");
  EXPECT_EQ(last_words(""), "(it said nothing)");
}

}  // namespace
}  // namespace hearth::engine
