#include "prefix/record.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "domain/json_text.h"

namespace hearth::prefix {
namespace {

using base::ErrorCode;
using Json = nlohmann::json;

constexpr std::string_view kTitle = "hearth-prefix ";
constexpr int kVersion = 1;
constexpr std::size_t kLongestHead = 128;

std::string digest_of(std::string_view title_and_version, std::string_view body) {
  base::Sha256 hash;
  hash.add(title_and_version);
  hash.add("\n");
  hash.add(body);
  return hash.finish_hex();
}

std::unexpected<base::Error> corrupt(std::string why) { return base::fail(ErrorCode::corrupt, std::move(why)); }

bool is_hex(std::string_view text, std::size_t length) {
  return text.size() == length && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Throws nlohmann's exceptions for fields of another type.
Record record_from(const Json& json) {
  Record record{.fingerprint = json.at("fingerprint").get<std::string>(),
                .tokens = json.at("tokens").get<Tokens>(),
                .state_bytes = json.at("state_bytes").get<base::Bytes>(),
                .state_sha256 = json.at("state_sha256").get<std::string>(),
                .saved_at_ms = json.at("saved_at_ms").get<std::int64_t>(),
                .prefill_ms_per_token = std::nullopt,
                .origin = Origin::discovered,
                .name = json.at("name").get<std::string>(),
                .model = json.at("model").get<std::string>(),
                .engine = json.at("engine").get<std::string>()};
  if (!json.at("prefill_ms_per_token").is_null())
    record.prefill_ms_per_token = json.at("prefill_ms_per_token").get<double>();
  record.origin = origin_named(json.at("origin").get<std::string>()).value_or(Origin::discovered);
  return record;
}

base::Result<Record> parse_body(std::string_view body) {
  try {
    Record record = record_from(Json::parse(body));
    if (!is_hex(record.fingerprint, 32) || !is_hex(record.state_sha256, 64))
      return corrupt("its names are not digests");
    if (record.tokens.empty()) return corrupt("it names no tokens");
    return record;
  } catch (const Json::exception& error) {
    return corrupt(fmt::format("its body cannot be read ({})", error.what()));
  }
}

}  // namespace

std::string_view name_of(Origin origin) { return origin == Origin::declared ? "declared" : "discovered"; }

std::optional<Origin> origin_named(std::string_view name) {
  if (name == "declared") return Origin::declared;
  if (name == "discovered") return Origin::discovered;
  return std::nullopt;
}

std::string write_record(const Record& record) {
  const Json json = {
      {"fingerprint", record.fingerprint},
      {"tokens", record.tokens},
      {"state_bytes", record.state_bytes},
      {"state_sha256", record.state_sha256},
      {"saved_at_ms", record.saved_at_ms},
      {"prefill_ms_per_token", record.prefill_ms_per_token ? Json(*record.prefill_ms_per_token) : Json(nullptr)},
      {"origin", name_of(record.origin)},
      {"name", record.name},
      {"model", record.model},
      {"engine", record.engine}};
  const std::string body = domain::text_of(json);
  const std::string head = fmt::format("{}{}", kTitle, kVersion);
  return fmt::format("{} sha256:{}\n{}", head, digest_of(head, body), body);
}

base::Result<Record> parse_record(std::string_view text) {
  const auto line_end = text.substr(0, kLongestHead).find('\n');
  if (!text.starts_with(kTitle) || line_end == std::string_view::npos) return corrupt("it has no head line");
  const std::string_view head = text.substr(0, line_end);
  int version = 0;
  const char* number = head.data() + kTitle.size();
  const auto [end, failure] = std::from_chars(number, head.data() + head.size(), version);
  if (failure != std::errc() || version < 1) return corrupt("its head names no version");
  if (version > kVersion)
    return base::fail(ErrorCode::unsupported, fmt::format("it is of version {}, which a newer hearth wrote", version));
  const std::string_view title = head.substr(0, static_cast<std::size_t>(end - head.data()));
  const std::string_view body = text.substr(line_end + 1);
  if (head.substr(title.size()) != " sha256:" + digest_of(title, body)) return corrupt("its checksum is wrong");
  return parse_body(body);
}

}  // namespace hearth::prefix
