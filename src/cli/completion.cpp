#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace hearth::cli {
namespace {

constexpr std::string_view kModels = "hearth __models 2>/dev/null";

// Below the root, parents before children.
void collect(const CommandDoc& command, std::vector<const CommandDoc*>& all) {
  all.push_back(&command);
  for (const auto& sub : command.commands)
    collect(sub, all);
}

std::vector<const CommandDoc*> all_of(const CommandDoc& root) {
  std::vector<const CommandDoc*> all;
  collect(root, all);
  return all;
}

// " engine list"; "" for the root.
std::string below_root(const CommandDoc& command) {
  return command.path.substr(std::min(command.path.size(), command.path.find(' ')));
}

bool takes(const CommandDoc& command, std::string_view positional) {
  return std::ranges::any_of(command.positionals, [&](const auto& doc) { return doc.value == positional; });
}

// Words that may stand where this command's positional does.
std::string fixed_words(const CommandDoc& command) { return takes(command, "SHELL") ? "bash zsh fish" : ""; }

bool names_a_path(const OptionDoc& option) { return option.value == "FILE" || option.value == "DIR"; }

// For single quotes of bash and zsh, and of fish.
std::string shell_quoted(std::string_view text) {
  std::string safe;
  for (const char c : text)
    safe += c == '\'' ? "'\\''" : std::string(1, c);
  return "'" + safe + "'";
}

std::string known_paths(const std::vector<const CommandDoc*>& all) {
  std::vector<std::string> paths;
  for (const auto* command : all) {
    if (const auto path = below_root(*command); !path.empty()) paths.push_back("\"" + path + "\"");
  }
  return base::join(paths, "|");
}

std::string words_of(const CommandDoc& command) {
  std::vector<std::string> words;
  for (const auto& sub : command.commands)
    words.push_back(sub.name);
  for (const auto& option : command.options)
    words.insert(words.end(), option.names.begin(), option.names.end());
  if (const auto fixed = fixed_words(command); !fixed.empty()) words.push_back(fixed);
  if (takes(command, "MODEL")) words.push_back(fmt::format("$({})", kModels));
  return base::join(words, " ");
}

// Patterns of "path option" whose value the shell cannot know, or that are files.
std::string value_patterns(const std::vector<const CommandDoc*>& all, bool paths) {
  std::vector<std::string> patterns;
  for (const auto* command : all) {
    for (const auto& option : command->options) {
      if (!option.value.empty() && names_a_path(option) == paths)
        patterns.push_back(fmt::format("\"{} {}\"", below_root(*command), option.names.back()));
    }
  }
  return base::join(patterns, "|");
}

// bash cuts words at ':', which names of models hold, so what was typed before it is taken off the candidates.
std::string bash_script(const CommandDoc& root) {
  const auto all = all_of(root);
  std::string script = fmt::format(
      "# bash completion for hearth\n"
      "_hearth() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} at=\"\" i words\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"$at ${{COMP_WORDS[i]}}\" in {}) at=\"$at ${{COMP_WORDS[i]}}\" ;; esac\n"
      "  done\n"
      "  if declare -F _get_comp_words_by_ref >/dev/null; then _get_comp_words_by_ref -n : cur prev; fi\n"
      "  COMPREPLY=()\n"
      "  case \"$at $prev\" in\n"
      "    {}) compopt -o default; return ;;\n"
      "    {}) return ;;\n"
      "  esac\n"
      "  case \"$at\" in\n",
      known_paths(all), value_patterns(all, true), value_patterns(all, false));
  for (const auto* command : all) {
    const bool file = takes(*command, "FILE");
    script += fmt::format("    \"{}\") {}words=\"{}\" ;;\n", below_root(*command), file ? "compopt -o default; " : "",
                          words_of(*command));
  }
  return script +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "  if declare -F __ltrim_colon_completions >/dev/null; then __ltrim_colon_completions \"$cur\"; fi\n"
         "}\n"
         "complete -F _hearth hearth\n";
}

std::string zsh_described(std::string_view name, std::string_view description) {
  std::string escaped;
  for (const char c : name)
    escaped += c == ':' ? "\\:" : std::string(1, c);
  return shell_quoted(fmt::format("{}:{}", escaped, description));
}

std::string zsh_case(const CommandDoc& command) {
  std::vector<std::string> commands;
  std::vector<std::string> options;
  for (const auto& sub : command.commands)
    commands.push_back(zsh_described(sub.name, sub.description));
  for (const auto& option : command.options) {
    for (const auto& name : option.names)
      options.push_back(zsh_described(name, option.description));
  }
  std::string body = fmt::format("    (\"{}\")\n", below_root(command));
  if (!commands.empty())
    body += fmt::format("      items=({})\n      _describe command items\n", base::join(commands, " "));
  body += fmt::format("      items=({})\n      _describe option items\n", base::join(options, " "));
  if (takes(command, "MODEL")) body += fmt::format("      compadd -- ${{(f)\"$({})\"}}\n", kModels);
  if (const auto fixed = fixed_words(command); !fixed.empty()) body += fmt::format("      compadd -- {}\n", fixed);
  if (takes(command, "FILE")) body += "      _files\n";
  return body + "      ;;\n";
}

std::string zsh_script(const CommandDoc& root) {
  const auto all = all_of(root);
  std::string script = fmt::format(
      "#compdef hearth\n"
      "_hearth() {{\n"
      "  local at=\"\" word\n"
      "  local -a items\n"
      "  for word in ${{words[2,CURRENT-1]}}; do\n"
      "    case \"$at $word\" in ({}) at=\"$at $word\" ;; esac\n"
      "  done\n"
      "  case \"$at ${{words[CURRENT-1]}}\" in\n"
      "    ({}) _files; return ;;\n"
      "    ({}) return ;;\n"
      "  esac\n"
      "  case \"$at\" in\n",
      known_paths(all), value_patterns(all, true), value_patterns(all, false));
  for (const auto* command : all)
    script += zsh_case(*command);
  return script +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = \"_hearth\" ]; then _hearth; else compdef _hearth hearth; fi\n";
}

// The condition under which this command is the one being completed.
std::string fish_condition(const CommandDoc& command) {
  const auto path = below_root(command);
  if (path.empty()) return "__fish_use_subcommand";
  std::vector<std::string> parts;
  for (const auto word : base::split(std::string_view(path).substr(1), ' '))
    parts.push_back(fmt::format("__fish_seen_subcommand_from {}", word));
  for (const auto& sub : command.commands)
    parts.push_back(fmt::format("not __fish_seen_subcommand_from {}", sub.name));
  return base::join(parts, "; and ");
}

std::string fish_lines(const CommandDoc& command) {
  const std::string start = fmt::format("complete -c hearth -n '{}'", fish_condition(command));
  std::string lines;
  for (const auto& sub : command.commands)
    lines += fmt::format("{} -a {} -d {}\n", start, sub.name, shell_quoted(sub.description));
  for (const auto& option : command.options) {
    std::string names;
    for (const auto& name : option.names)
      names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    const std::string_view value = option.value.empty() ? "" : names_a_path(option) ? " -r -F" : " -x";
    lines += fmt::format("{}{}{} -d {}\n", start, names, value, shell_quoted(option.description));
  }
  if (takes(command, "MODEL")) lines += fmt::format("{} -a '({})'\n", start, kModels);
  if (const auto fixed = fixed_words(command); !fixed.empty()) lines += fmt::format("{} -a '{}'\n", start, fixed);
  if (takes(command, "FILE")) lines += start + " -F\n";
  return lines;
}

std::string fish_script(const CommandDoc& root) {
  std::string script = "# fish completion for hearth\ncomplete -c hearth -f\n";
  for (const auto* command : all_of(root))
    script += fish_lines(*command);
  return script;
}

}  // namespace

std::string completion_script(const CommandDoc& root, std::string_view shell) {
  if (shell == "zsh") return zsh_script(root);
  if (shell == "fish") return fish_script(root);
  return bash_script(root);
}

}  // namespace hearth::cli
