// The real installation from this machine's mirror, into a temporary data directory. Labelled "engine": leave it out with
// `ctest -LE engine` where there is no network.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/command.h"
#include "engine/engine_prefix.h"
#include "engine/install.h"

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class RealInstall : public testing::Test {
 protected:
  RealInstall() {
    std::string name = (fs::temp_directory_path() / "hearth-engine-XXXXXX").string();
    data_ = ::mkdtemp(name.data());
    // A PATH without a llama-server, so that one has to be installed.
    for (const char* tool : {"apt-get", "apt-config", "apt-cache", "dpkg", "dpkg-deb", "tar", "xz", "zstd", "gzip"}) {
      const std::string found = find_program(tool, own_search_path());
      if (!found.empty()) fs::create_symlink(found, tools() / tool);
    }
    options_.catalogue.data_dir = data_ / "data";
    options_.catalogue.search_path = tools().string();
    options_.is_root = false;
  }
  ~RealInstall() override { fs::remove_all(data_); }

  [[nodiscard]] fs::path tools() const {
    fs::create_directories(data_ / "bin");
    return data_ / "bin";
  }

  fs::path data_;
  InstallOptions options_;
};

TEST_F(RealInstall, MakesAnEngineThatRunsAndIsFoundAgain) {
  const auto engine = install_engine(options_, {});
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_TRUE(engine->tier.available) << testing::PrintToString(engine->tier.missing);
  EXPECT_THAT(engine->backends, testing::Contains(testing::StartsWith("cpu")));

  // Its own flags follow the command, and a backend is loaded: the engine lists devices only when it has one.
  Command help;
  help.argv = engine->command;
  help.argv.emplace_back("--list-devices");
  const auto devices = run_checked(help);
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_THAT(*devices, HasSubstr("Available devices"));

  const auto prefixes = installed_prefixes(data_ / "data/engines", {});
  ASSERT_EQ(prefixes.size(), 1U);
  for (const PackageRecord& package : prefixes[0].record.packages) EXPECT_EQ(package.sha256.size(), 64U) << package.name;

  const auto again = install_engine(options_, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->command, engine->command);
}

}  // namespace
}  // namespace hearth::engine
