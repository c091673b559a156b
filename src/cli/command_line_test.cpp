#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace hearth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::expected<Invocation, CommandLineEnd> parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "hearth");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CommandLine, ReadsEveryCommand) {
  EXPECT_EQ(parsed({"list", "--json"})->command, Command::list);
  EXPECT_TRUE(parsed({"list", "--json"})->json);
  const auto serve =
      parsed({"serve", "--config", "/c", "--listen", "127.0.0.1:0", "--data-dir", "d", "--check-config"}).value();
  EXPECT_EQ(serve.command, Command::serve);
  EXPECT_EQ(serve.serve.config, "/c");
  EXPECT_EQ(serve.serve.listen, "127.0.0.1:0");
  EXPECT_EQ(serve.serve.data_dir, "d");
  EXPECT_TRUE(serve.serve.check_config);
  EXPECT_EQ(parsed({"serve"})->serve.config, std::nullopt);
  const auto import = parsed({"import", "a b.gguf", "--name", "x"}).value();
  EXPECT_EQ(import.file, "a b.gguf");
  EXPECT_EQ(import.name, "x");
  EXPECT_EQ(parsed({"show", "m"})->model, "m");
  EXPECT_EQ(parsed({"rm", "m"})->command, Command::rm);
  EXPECT_TRUE(parsed({"ps", "--watch"})->watch);
  EXPECT_EQ(parsed({"explain", "r"})->request, "r");
  EXPECT_EQ(parsed({"explain", "--last", "3"})->last, 3u);
  EXPECT_EQ(parsed({"explain"})->last, std::nullopt);
  EXPECT_EQ(parsed({"engine", "list"})->command, Command::engine_list);
  EXPECT_EQ(parsed({"engine", "install", "--data-dir", "d"})->engine.data_dir, "d");
  EXPECT_EQ(parsed({"doctor"})->command, Command::doctor);
  EXPECT_EQ(parsed({"version"})->command, Command::version);
  EXPECT_EQ(parsed({"completion", "fish"})->shell, "fish");
  EXPECT_EQ(parsed({"man"})->command, Command::man);
}

TEST(CommandLine, ReadsRun) {
  const auto run =
      parsed({"run", "m", "turn", "on the light", "--system", "-be brief", "--temperature", "0", "--max-tokens", "5"})
          .value();
  EXPECT_EQ(run.command, Command::run);
  EXPECT_EQ(run.model, "m");
  EXPECT_THAT(run.prompt, ElementsAre("turn", "on the light"));
  EXPECT_EQ(run.system, "-be brief");
  EXPECT_EQ(run.temperature, 0.0);
  EXPECT_EQ(run.max_tokens, 5);
  EXPECT_THAT(parsed({"run", "m", "--", "--why"})->prompt, ElementsAre("--why"));
  EXPECT_THAT(parsed({"run", "m"})->prompt, ElementsAre());
}

TEST(CommandLine, WrongUsageIsTwoAndOneSentence) {
  const std::vector<std::vector<const char*>> wrong = {{},
                                                       {"lits"},
                                                       {"--json"},
                                                       {"serve", "extra"},
                                                       {"serve", "--listen"},
                                                       {"list", "--watch"},
                                                       {"show"},
                                                       {"show", "a", "b"},
                                                       {"import"},
                                                       {"run"},
                                                       {"run", "m", "--temperature", "hot"},
                                                       {"run", "m", "--temperature", "-1"},
                                                       {"run", "m", "--temperature", "nan"},
                                                       {"run", "m", "--max-tokens", "0"},
                                                       {"run", "m", "--max-tokens", "1.5"},
                                                       {"run", "m", "--max-tokens", "99999999999999999999"},
                                                       {"run", "m", "--unknown"},
                                                       {"ps", "--watch", "--json"},
                                                       {"explain", "--last", "0"},
                                                       {"explain", "--last", "-1"},
                                                       {"explain", "r", "--last", "2"},
                                                       {"engine"},
                                                       {"engine", "remove"},
                                                       {"completion"},
                                                       {"completion", "csh"},
                                                       {"list", "list"},
                                                       {"show", "a", "\x1b[2J\n"}};
  for (const auto& arguments : wrong) {
    const auto end = parsed(arguments);
    const std::string shown = testing::PrintToString(arguments);
    ASSERT_FALSE(end) << shown;
    EXPECT_EQ(end.error().status, 2) << shown;
    EXPECT_THAT(end.error().text, testing::MatchesRegex("hearth[^\n\x1b]*; see `hearth[a-z ]* --help`\n")) << shown;
  }
}

TEST(CommandLine, NamesTheCommandsThereAre) {
  EXPECT_EQ(parsed({"lits"}).error().text,
            "hearth: there is no command \"lits\"; commands: serve, import, list, show, rm, verify, run, ps, warm, "
            "cool, pin, unpin, explain, prefix, lab, doctor, engine, version, completion, man; see `hearth --help`\n");
  EXPECT_EQ(parsed({"engine"}).error().text,
            "hearth engine: a command is missing; commands: list, install; see `hearth engine --help`\n");
  EXPECT_EQ(parsed({"show"}).error().text, "hearth show: MODEL is required; see `hearth show --help`\n");
}

TEST(CommandLine, HelpIsZero) {
  const auto help = parsed({"--help"}).error();
  EXPECT_EQ(help.status, 0);
  for (const auto& command : describe_commands().commands) {
    EXPECT_THAT(help.text, HasSubstr(command.name));
    EXPECT_THAT(help.text, HasSubstr(command.description));
    EXPECT_THAT(parsed({command.name.c_str(), "--help"}).error().text, HasSubstr(command.description)) << command.name;
  }
  EXPECT_EQ(help.text.find("__models"), std::string::npos);
  EXPECT_EQ(parsed({"--version"}).error().text, "hearth " + std::string(version()) + "\n");
}

TEST(CommandTree, IsDescribedWhole) {
  const auto root = describe_commands();
  std::vector<std::string> names;
  for (const auto& command : root.commands)
    names.push_back(command.name);
  EXPECT_THAT(
      names, ElementsAre("serve", "import", "list", "show", "rm", "verify", "run", "ps", "warm", "cool", "pin", "unpin",
                         "explain", "prefix", "lab", "doctor", "engine", "version", "completion", "man"));
  EXPECT_EQ(usage_of(root.commands[6]),
            "hearth run [--system TEXT] [--temperature T] [--max-tokens N] [--json] MODEL [PROMPT...]");
  EXPECT_EQ(usage_of(root.commands[16].commands[0]), "hearth engine list [--config FILE] [--data-dir DIR] [--json]");
}

void expect_documented(const CommandDoc& command, const std::string& text) {
  if (command.commands.empty()) {
    EXPECT_THAT(text, HasSubstr("`" + usage_of(command) + "`"));
  }
  for (const auto& sub : command.commands)
    expect_documented(sub, text);
}

TEST(CommandTree, IsWhatTheDocumentSays) {
  std::ifstream stream(HEARTH_SOURCE_DIR "/docs/cli.md");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  for (const auto& command : describe_commands().commands)
    expect_documented(command, text);
}

}  // namespace
}  // namespace hearth::cli
