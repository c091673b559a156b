#pragma once
// What is known of one stored state, and its text in the `.prefix` file (docs/prefix-format.md). Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "prefix/tokens.h"

namespace hearth::prefix {

enum class Origin { declared, discovered };
[[nodiscard]] std::string_view name_of(Origin origin);
[[nodiscard]] std::optional<Origin> origin_named(std::string_view name);

struct Record {
  std::string fingerprint;
  Tokens tokens;
  base::Bytes state_bytes = 0;
  std::string state_sha256;
  std::int64_t saved_at_ms = 0;
  std::optional<double> prefill_ms_per_token;
  Origin origin = Origin::discovered;
  std::string name;
  std::string model;
  std::string engine;

  [[nodiscard]] std::string key() const { return key_of(fingerprint, tokens); }
};

inline constexpr base::Bytes kLargestRecord = 16U << 20;

[[nodiscard]] std::string write_record(const Record& record);
// Errors: unsupported for a newer version; corrupt for everything else that is not a whole record, with the reason.
[[nodiscard]] base::Result<Record> parse_record(std::string_view text);

}  // namespace hearth::prefix
