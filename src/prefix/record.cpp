#include "prefix/record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/sealed_text.h"
#include "domain/json_text.h"

namespace hearth::prefix {
namespace {

using base::ErrorCode;
using Json = nlohmann::json;

constexpr std::string_view kTitle = "hearth-prefix";
constexpr unsigned kVersion = 1;

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
  return base::seal(kTitle, kVersion, domain::text_of(json));
}

base::Result<Record> parse_record(std::string_view text) {
  auto sealed = base::unseal(kTitle, text);
  if (!sealed) return base::pass(sealed);
  if (sealed->version > kVersion) {
    return base::fail(ErrorCode::unsupported,
                      fmt::format("it is of version {}, which a newer hearth wrote", sealed->version));
  }
  return parse_body(sealed->body);
}

}  // namespace hearth::prefix
