#include "base/sealed_text.h"

#include <fmt/format.h>

#include <charconv>

#include "base/sha256.h"

namespace hearth::base {
namespace {

constexpr std::string_view kDigestMark = " sha256:";
constexpr std::size_t kLongestHead = 128;

std::string digest_of(std::string_view title_and_version, std::string_view body) {
  Sha256 hash;
  hash.add(title_and_version);
  hash.add("\n");
  hash.add(body);
  return hash.finish_hex();
}

// The version, where the line begins with the title, one blank and a number; the line is cut to what follows it.
Result<unsigned> take_version(std::string_view title, std::string_view& line) {
  if (!line.starts_with(title) || !line.substr(title.size()).starts_with(' '))
    return fail(ErrorCode::corrupt, "its first line is of another kind");
  line.remove_prefix(title.size() + 1);
  unsigned version = 0;
  const auto [end, failure] = std::from_chars(line.data(), line.data() + line.size(), version);
  if (failure != std::errc()) return fail(ErrorCode::corrupt, "its first line names no version");
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return version;
}

}  // namespace

std::string seal(std::string_view title, unsigned version, std::string_view body) {
  const std::string head = fmt::format("{} {}", title, version);
  return fmt::format("{}{}{}\n{}", head, kDigestMark, digest_of(head, body), body);
}

Result<SealedText> unseal(std::string_view title, std::string_view text) {
  const auto line_end = text.substr(0, kLongestHead).find('\n');
  if (line_end == std::string_view::npos) return fail(ErrorCode::corrupt, "it has no first line");
  const std::string_view line = text.substr(0, line_end);
  std::string_view rest = line;
  auto version = take_version(title, rest);
  if (!version) return pass(version);
  const std::string_view head = line.substr(0, line.size() - rest.size());
  const std::string_view body = text.substr(line_end + 1);
  if (!rest.starts_with(kDigestMark) || rest.substr(kDigestMark.size()) != digest_of(head, body))
    return fail(ErrorCode::corrupt, "its checksum is wrong");
  if (*version < 1) return fail(ErrorCode::corrupt, "version 0 does not exist");
  return SealedText{*version, body};
}

}  // namespace hearth::base
