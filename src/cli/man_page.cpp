#include "cli/man_page.h"

#include <fmt/format.h>

#include "base/text.h"

namespace hearth::cli {
namespace {

// As troff text: '-' is a minus to be copied, a backslash is itself, and no line begins with a control character.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else {
      safe += c;
    }
  }
  return safe.starts_with('.') || safe.starts_with('\'') ? "\\&" + safe : safe;
}

std::string entry(const OptionDoc& option) {
  std::string head;
  for (const auto& name : option.names)
    head += (head.empty() ? "\\fB" : ", \\fB") + escaped(name) + "\\fR";
  if (!option.value.empty()) head += (head.empty() ? "\\fI" : " \\fI") + escaped(option.value) + "\\fR";
  return fmt::format(".TP\n{}\n{}\n", head, escaped(option.description));
}

std::string command_section(const CommandDoc& command) {
  if (!command.commands.empty()) {
    std::string all;
    for (const auto& sub : command.commands)
      all += command_section(sub);
    return all;
  }
  std::string section = fmt::format(".SS \"{}\"\n.B {}\n.PP\n{}.\n", escaped(command.path), escaped(usage_of(command)),
                                    escaped(command.description));
  for (const auto& positional : command.positionals)
    section += entry(positional);
  for (const auto& option : command.options) {
    if (option.names.back() != "--help") section += entry(option);
  }
  return section;
}

std::string footer_sections(const std::string& footer) {
  std::string sections;
  for (const auto line : base::split(footer, '\n')) {
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    std::string heading(line.substr(0, colon));
    for (char& c : heading)
      c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    sections += fmt::format(".SH \"{}\"\n{}\n", escaped(heading), escaped(line.substr(colon + 2)));
  }
  return sections;
}

}  // namespace

std::string man_page(const CommandDoc& root) {
  std::string page = fmt::format(
      ".\\\" Made by `hearth man`.\n"
      ".TH HEARTH 1 \"\" \"hearth {}\" \"User Commands\"\n"
      ".SH NAME\nhearth \\- a home AI server\n"
      ".SH SYNOPSIS\n.B hearth\n.I COMMAND\n[\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\n{}.\n"
      ".SH COMMANDS\n",
      escaped(version()), escaped(root.description));
  for (const auto& command : root.commands)
    page += command_section(command);
  return page + footer_sections(root.footer);
}

}  // namespace hearth::cli
