// The real installation from this machine's mirror, into a temporary data directory. Labelled "engine": leave it out
// with `ctest -LE engine` where there is no network.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "engine/command.h"
#include "engine/engine_prefix.h"
#include "engine/install.h"
#include "tests/support/temp_folder.h"

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class RealInstall : public testing::Test {
 protected:
  RealInstall() {
    make_tools();
    options_.catalogue.data_dir = data_ / "data";
    options_.catalogue.search_path = (data_ / "bin").string();
    options_.is_root = false;
  }

  // A PATH with all that this machine has but an engine and sudo, so that one has to be installed.
  void make_tools() const {
    fs::create_directories(data_ / "bin");
    for (const std::string_view folder : base::split(own_search_path(), ':')) {
      std::error_code unreadable;
      for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
        const std::string name = entry.path().filename().string();
        std::error_code exists;  // an earlier folder's comes first
        if (name != "llama-server" && name != "sudo") fs::create_symlink(entry.path(), data_ / "bin" / name, exists);
      }
    }
  }

  test::TempFolder own_;
  fs::path data_ = own_.path();
  InstallOptions options_;
};

TEST_F(RealInstall, MakesAnEngineThatRunsAndIsFoundAgain) {
  const auto engine = install_engine(options_, {});
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_TRUE(engine->tier.available) << testing::PrintToString(engine->tier.missing);
  EXPECT_THAT(engine->backends, testing::Contains(testing::StartsWith("cpu")));

  // Its own flags follow the command. The model is none; what counts is that the engine comes as far as reading it,
  // which it does not without a backend.
  Command start;
  start.argv = engine->command;
  start.argv.insert(start.argv.end(), {"--model", "/dev/null", "--port", "0"});
  const auto said = run_command(start);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_NE(said->exit_status, 0);
  EXPECT_THAT(said->output, HasSubstr("/dev/null"));
  EXPECT_THAT(said->output, Not(HasSubstr("no backends are loaded")));

  const auto prefixes = installed_prefixes(data_ / "data/engines", {});
  ASSERT_EQ(prefixes.size(), 1U);
  for (const PackageRecord& package : prefixes[0].record.packages)
    EXPECT_EQ(package.sha256.size(), 64U) << package.name;

  const auto again = install_engine(options_, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->command, engine->command);
}

}  // namespace
}  // namespace hearth::engine
