#include "prefix/change.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

#include "base/text.h"

namespace hearth::prefix {
namespace {

constexpr std::size_t kAnchor = 16;  // tokens that must be equal for two prompts to have come together again
constexpr std::size_t kWidest = 64;  // tokens that a change may span
constexpr std::size_t kShownBytes = 40;
constexpr std::size_t kContextBytes = 24;  // around the first difference, in which a clock or a date is looked for

// Tokens after the change that are equal again: the first place, at most kWidest tokens on in each, where they are.
std::size_t tokens_in_common_after(TokenView one, TokenView other) {
  for (std::size_t skipped = 0; skipped <= 2 * kWidest; ++skipped) {
    for (std::size_t first = skipped > kWidest ? skipped - kWidest : 0; first <= std::min(skipped, kWidest); ++first) {
      const std::size_t second = skipped - first;
      if (first + kAnchor > one.size() || second + kAnchor > other.size()) continue;
      const std::size_t same = common_prefix(one.subspan(first), other.subspan(second));
      if (same >= kAnchor) return same;
    }
  }
  return 0;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view(":-./_+").contains(c);
}

// The word around `at`, at most kContextBytes to each side.
std::string word_around(std::string_view text, std::size_t at) {
  std::size_t begin = std::min(at, text.size());
  std::size_t end = begin;
  while (begin > 0 && at - begin < kContextBytes && is_word(text[begin - 1]))
    --begin;
  while (end < text.size() && end - at < kContextBytes && is_word(text[end]))
    ++end;
  return std::string(text.substr(begin, end - begin));
}

ChangeKind kind_of(const std::string& before, const std::string& after) {
  struct Form {
    ChangeKind kind;
    std::regex form;
  };
  constexpr auto kFlags = std::regex::icase | std::regex::optimize;
  static const std::array kForms = {
      Form{ChangeKind::clock, std::regex(".*[0-9]{1,2}:[0-9]{2}.*", kFlags)},
      Form{ChangeKind::date,
           std::regex(".*([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}).*", kFlags)},
      Form{ChangeKind::date,
           std::regex("(january|february|march|april|may|june|july|august|september|october|november|december)",
                      kFlags)},
      Form{ChangeKind::weekday, std::regex("(mon|tues|wednes|thurs|fri|satur|sun)day", kFlags)},
      Form{ChangeKind::number, std::regex("[+-]?[0-9]+([.][0-9]+)?", kFlags)},
      Form{ChangeKind::identifier, std::regex("[a-z]*[-_]?[0-9a-f]{6,}(-[0-9a-f]+)*", kFlags)},
  };
  for (const auto& [kind, form] : kForms) {
    if (std::regex_match(before, form) && std::regex_match(after, form)) return kind;
  }
  return ChangeKind::text;
}

}  // namespace

std::string_view phrase_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::clock:
      return "a clock";
    case ChangeKind::date:
      return "a date";
    case ChangeKind::weekday:
      return "a day of the week";
    case ChangeKind::identifier:
      return "an identifier";
    case ChangeKind::number:
      return "a number";
    case ChangeKind::text:
      return "a piece of text";
  }
  return "";
}

std::optional<Change> find_change(std::string_view old_text, TokenView old_tokens, std::string_view new_text,
                                  TokenView new_tokens) {
  Change change;
  change.token = common_prefix(old_tokens, new_tokens);
  if (change.token == old_tokens.size() || change.token == new_tokens.size()) return std::nullopt;
  change.tokens = tokens_in_common_after(old_tokens.subspan(change.token), new_tokens.subspan(change.token));
  if (change.tokens < kLeastLoss) return std::nullopt;
  const auto [difference, ignored] = std::ranges::mismatch(old_text, new_text);
  const auto at = static_cast<std::size_t>(difference - old_text.begin());
  const std::string before = word_around(old_text, at);
  const std::string after = word_around(new_text, at);
  change.kind = kind_of(before, after);
  change.before = base::printable(before, kShownBytes);
  change.after = base::printable(after, kShownBytes);
  return change;
}

}  // namespace hearth::prefix
