#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace hearth::cli {
namespace {

using testing::HasSubstr;

void expect_named(const CommandDoc& command, const std::string& script, bool fish) {
  for (const auto& option : command.options) {
    const std::string& name = option.names.back();
    EXPECT_THAT(script, HasSubstr(fish ? "-l " + name.substr(2) : name)) << command.path;
  }
  for (const auto& sub : command.commands) {
    EXPECT_THAT(script, HasSubstr(sub.name));
    expect_named(sub, script, fish);
  }
}

TEST(Completion, HoldsEveryCommandAndOptionInEveryShell) {
  const auto root = describe_commands();
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = completion_script(root, shell);
    expect_named(root, script, std::string_view(shell) == "fish");
    EXPECT_THAT(script, HasSubstr("hearth __models")) << shell;
  }
}

// The script in a real bash, with a `hearth` that knows two models.
class BashCompletion : public testing::Test {
 protected:
  void SetUp() override {
    file_ = testing::TempDir() + "hearth-completion-" + std::to_string(::getpid());
    std::ofstream(file_) << "hearth() { printf 'mini\\nqwen3-4b:q4\\n'; }\n"
                         << completion_script(describe_commands(), "bash");
  }
  void TearDown() override { std::filesystem::remove(file_); }

  // What bash offers when the last of `words` is being typed; compopt works only inside a real completion.
  [[nodiscard]] std::string offered(const std::string& words, int current) const {
    const std::string command = "bash --norc -c 'compopt() { :; }; . " + file_ + "; COMP_WORDS=(" + words +
                                "); COMP_CWORD=" + std::to_string(current) +
                                "; _hearth; echo \"${COMPREPLY[*]}\"' 2>&1";
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string output(4096, '\0');
    output.resize(std::fread(output.data(), 1, output.size(), pipe));
    ::pclose(pipe);
    return output;
  }

  std::string file_;
};

TEST_F(BashCompletion, OffersCommandsOptionsAndModels) {
  EXPECT_EQ(offered("hearth s", 1), "serve show\n");
  EXPECT_EQ(offered("hearth engine \"\"", 2), "list install -h --help\n");
  EXPECT_EQ(offered("hearth engine install --d", 3), "--data-dir\n");
  EXPECT_EQ(offered("hearth show m", 2), "mini\n");
  EXPECT_EQ(offered("hearth run qwen", 2), "qwen3-4b:q4\n");
  EXPECT_EQ(offered("hearth completion \"\"", 2), "-h --help bash zsh fish\n");
  EXPECT_EQ(offered("hearth run mini --temperature \"\"", 4), "\n");
  EXPECT_EQ(offered("hearth serve --config \"\"", 3), "\n");
}

}  // namespace
}  // namespace hearth::cli
