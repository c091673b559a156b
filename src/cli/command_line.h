#pragma once
// The command tree: described once, and read by the parser, --help, the shell completions and the manual page alike.
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/lab_options.h"

namespace hearth::cli {

enum class Command {
  serve,
  import,
  list,
  show,
  rm,
  verify,
  run,
  ps,
  warm,
  cool,
  pin,
  unpin,
  explain,
  prefix_list,
  prefix_show,
  prefix_rm,
  prefix_verify,
  doctor,
  engine_list,
  engine_install,
  lab_replay,
  version,
  completion,
  man,
  model_names
};

// What was asked for. Only the fields of its own command mean anything.
struct Invocation {
  Command command = Command::version;
  bool json = false;
  ServeOptions serve;
  EngineOptions engine;
  LabOptions lab;
  std::string model;                       // show, rm, run
  std::filesystem::path file;              // import
  std::optional<std::string> name;         // import
  std::vector<std::string> prompt;         // run: words; none: standard input
  std::optional<std::string> system;       // run
  std::optional<double> temperature;       // run
  std::optional<std::int64_t> max_tokens;  // run
  std::optional<std::string> layer;        // warm, cool
  std::optional<std::string> keep_alive;   // warm
  std::string prefix;                      // prefix show, rm, verify
  bool watch = false;                      // ps
  std::optional<std::string> request;      // explain
  std::optional<unsigned> last;            // explain
  std::string shell;                       // completion
};

// The command line ends here: 0 with help for `out`, or 2 with a sentence for `err`.
struct CommandLineEnd {
  int status = 0;
  std::string text;
};

[[nodiscard]] std::expected<Invocation, CommandLineEnd> parse_command_line(int argc, const char* const* argv);

// The tree as plain values.
struct OptionDoc {
  std::vector<std::string> names;  // "--json", "-h"; empty for a positional
  std::string value;               // "FILE", "bash|zsh|fish"; "" for a flag; the name of a positional
  std::string description;
  bool required = false;
  bool repeated = false;
};
struct CommandDoc {
  std::string path;  // "hearth engine list"
  std::string name;  // "list"
  std::string description;
  std::string footer;
  std::vector<OptionDoc> options;
  std::vector<OptionDoc> positionals;
  std::vector<CommandDoc> commands;
};
[[nodiscard]] CommandDoc describe_commands();
// "hearth show [--json] MODEL"
[[nodiscard]] std::string usage_of(const CommandDoc& command);

}  // namespace hearth::cli
