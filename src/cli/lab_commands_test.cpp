#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "cli/test_world.h"

namespace hearth::cli {
namespace {

using testing::HasSubstr;

class LabReplay : public testing::Test {
 protected:
  LabReplay() { std::filesystem::create_directories(folder_); }
  ~LabReplay() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }
  [[nodiscard]] static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TestWorld world_;

 private:
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                  (std::string("lab-") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(LabReplay, NeedsNoServerAndPrintsALineForEachPolicy) {
  ASSERT_EQ(world_.run({"lab", "replay", "--days", "0.5", "--policy", "lru", "--policy", "hearth"}), 0)
      << world_.err.str();
  EXPECT_THAT(world_.out.str(), HasSubstr("household, seed 1:"));
  EXPECT_THAT(world_.out.str(), HasSubstr("\nlru "));
  EXPECT_THAT(world_.out.str(), HasSubstr("\nhearth "));
}

TEST_F(LabReplay, WritesThePageAndTheHistoryWhichComesBackAsItWas) {
  const auto saved = path("saved.jsonl");
  const auto page = path("page.html");
  ASSERT_EQ(world_.run({"lab", "replay", "--days", "0.5", "--seed", "4", "--policy", "lru", "--save", saved.c_str(),
                        "--html", page.c_str(), "--json"}),
            0)
      << world_.err.str();
  const auto first = world_.json();
  EXPECT_THAT(read(page), HasSubstr("<svg"));
  TestWorld again;
  ASSERT_EQ(again.run({"lab", "replay", "--trace", saved.c_str(), "--seed", "4", "--policy", "lru", "--json"}), 0)
      << again.err.str();
  EXPECT_EQ(again.json(), first);
}

TEST_F(LabReplay, PrintsNoDocumentWhereAFileCannotBeWritten) {
  const auto nowhere = path("none") + "/page.html";
  EXPECT_EQ(world_.run({"lab", "replay", "--days", "0.5", "--policy", "lru", "--html", nowhere.c_str(), "--json"}), 1);
  EXPECT_EQ(world_.out.str(), "");
  EXPECT_THAT(world_.err.str(), HasSubstr(nowhere));
}

TEST_F(LabReplay, ReadsARecordedHistoryAndRenamesItsModels) {
  const auto trace = path("gpt.csv");
  std::ofstream(trace) << "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                          "5,ChatGPT,10,20,30,API log\n";
  const auto saved = path("saved.jsonl");
  ASSERT_EQ(world_.run({"lab", "replay", "--trace", trace.c_str(), "--format", "burstgpt", "--map", "ChatGPT=mini",
                        "--policy", "lru", "--save", saved.c_str()}),
            0)
      << world_.err.str();
  EXPECT_THAT(read(saved), HasSubstr("\"id\":\"mini\""));
}

TEST_F(LabReplay, SaysWhatIsWrong) {
  const auto absent = path("absent.csv");
  EXPECT_EQ(world_.run({"lab", "replay", "--trace", absent.c_str()}), 1);
  EXPECT_THAT(world_.err.str(), HasSubstr("cannot be read: No such file or directory"));
  EXPECT_EQ(world_.run({"lab", "replay", "--policy", "best"}), 1);
  EXPECT_THAT(world_.err.str(), HasSubstr("there is no policy \"best\""));
  EXPECT_EQ(world_.run({"lab", "replay", "--memory", "much"}), 1);
  EXPECT_EQ(world_.run({"lab", "replay", "--shape", "square"}), 2);
  EXPECT_EQ(world_.run({"lab", "replay", "--format", "burstgpt"}), 2) << "without a file";
}

}  // namespace
}  // namespace hearth::cli
