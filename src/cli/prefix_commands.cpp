#include <fmt/format.h>

#include <ostream>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json_view.h"
#include "cli/table.h"

namespace hearth::cli {
namespace {

using domain::Json;

constexpr std::string_view kPrefixes = "/hearth/v1/prefixes";

std::string target_of(const std::string& id) { return fmt::format("{}/{}", kPrefixes, client::path_segment(id)); }

std::string size_of(const Json& prefix) {
  const auto bytes = count_at(prefix, {"bytes"});
  return bytes ? base::format_bytes(*bytes) : "";
}

std::string count_of(const Json& prefix, const char* key) {
  const auto count = count_at(prefix, {key});
  return count ? std::to_string(*count) : "";
}

std::string word(const Json& prefix, const char* key) { return text_at(prefix, {key}).value_or(""); }

std::string list_of(const Json& prefixes) {
  Table table({"ID", "MODEL", "NAME", "ORIGIN", "STATE", ">TOKENS", ">SIZE", ">USES"});
  for (const auto& prefix : prefixes) {
    table.add({word(prefix, "id"), word(prefix, "model"), word(prefix, "name"), word(prefix, "origin"),
               word(prefix, "state"), count_of(prefix, "tokens"), size_of(prefix), count_of(prefix, "uses")});
  }
  return table.text();
}

std::string text_of(const Json& prefix) {
  Table table({"", ""});
  const auto row = [&](const char* what, std::string value) {
    if (!value.empty()) table.add({what, std::move(value)});
  };
  row("id", word(prefix, "id"));
  row("model", word(prefix, "model"));
  row("name", word(prefix, "name"));
  row("origin", word(prefix, "origin"));
  row("state", word(prefix, "state"));
  row("why", word(prefix, "why"));
  row("key", word(prefix, "key"));
  row("tokens", count_of(prefix, "tokens"));
  row("size", size_of(prefix));
  row("uses", count_of(prefix, "uses"));
  row("saved", word(prefix, "saved_at"));
  row("last used", word(prefix, "last_used_at"));
  const std::string text = table.text();
  return text.substr(text.find('\n') + 1);  // without the empty heading
}

using Ask = base::Result<client::Answer> (*)(const client::NativeClient&, const std::string&);

// Asks for one prefix and prints what came, as JSON or with `text`.
Outcome ask_for_one(const Invocation& invocation, Console& console, Ask ask, std::string (*text)(const Json&)) {
  auto client = connect(console);
  if (!client) return base::pass(client);
  auto answer = ask(*client, target_of(invocation.prefix));
  if (!answer) return base::pass(answer);
  if (invocation.json)
    print_json(console, answer->body);
  else
    console.out << text(answer->body);
  return 0;
}

}  // namespace

Outcome list_prefixes(const Invocation& invocation, Console& console) {
  auto client = connect(console);
  if (!client) return base::pass(client);
  auto answer = client->get(kPrefixes);
  if (!answer) return base::pass(answer);
  const Json& prefixes = at_path(answer->body, {"prefixes"});
  if (!prefixes.is_array())
    return base::fail(
        base::ErrorCode::internal,
        fmt::format("{} answered without a list of prefixes; is it a newer or older Hearth?", client->endpoint().url));
  if (invocation.json)
    print_json(console, answer->body);
  else
    console.out << (prefixes.empty() ? "no prefixes yet; those that repeat are found by themselves\n"
                                     : list_of(prefixes));
  return 0;
}

Outcome show_prefix(const Invocation& invocation, Console& console) {
  return ask_for_one(
      invocation, console,
      [](const client::NativeClient& client, const std::string& target) { return client.get(target); }, text_of);
}

Outcome remove_prefix(const Invocation& invocation, Console& console) {
  return ask_for_one(
      invocation, console,
      [](const client::NativeClient& client, const std::string& target) { return client.remove(target); },
      [](const Json& answer) { return base::printable(word(answer, "removed"), 64) + " is removed\n"; });
}

Outcome verify_prefix(const Invocation& invocation, Console& console) {
  return ask_for_one(
      invocation, console,
      [](const client::NativeClient& client, const std::string& target) {
        return client.post(target + "/verify", Json::object());
      },
      [](const Json& answer) {
        return fmt::format("{} is whole: {} tokens, {}\n", base::printable(word(answer, "id"), 64),
                           count_of(answer, "tokens"), size_of(answer));
      });
}

}  // namespace hearth::cli
