#pragma once
// Reads what a GGUF file (versions 2 and 3, little-endian) says of itself, without trusting any of it.
//
// Every length is compared with the file's size before it is used, and what is kept in memory is bounded (kMostKept
// bytes of names and texts, kMostKeys keys, kMostTensors tensors), whatever the file claims. Arrays, and so the whole
// vocabulary, are stepped over and kept as a type and a count. Tensor data is never read.
//
// Layout: "GGUF", u32 version, u64 tensors, u64 keys, keys (string, u32 type, value), tensor infos (string name, u32
// dimensions, u64 each, u32 type, u64 offset), padding to general.alignment, tensor data. A string is a u64 length and
// its bytes.
//
// Errors (one sentence, without the file's name, for the caller to put in front):
//   bad_request   not a GGUF file
//   unsupported   another version, or big-endian
//   corrupt       truncated (says how many bytes are missing, at least), or contradicts itself
//   too_large     more keys, tensors or text than any model has
//   io            the source could not be read
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "artifact/byte_source.h"
#include "base/bytes.h"
#include "base/result.h"

namespace hearth::artifact {

inline constexpr std::uint64_t kMostKeys = 65'536;
inline constexpr std::uint64_t kMostTensors = 262'144;
inline constexpr base::Bytes kMostKept = 64u << 20;
inline constexpr base::Bytes kLongestKeptText = 1u << 20;

enum class GgufType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

// What is known of an array that was stepped over.
struct GgufArray {
  GgufType element = GgufType::u8;
  std::uint64_t count = 0;
  friend bool operator==(const GgufArray&, const GgufArray&) = default;
};
// A text longer than kLongestKeptText, stepped over.
struct GgufLongText {
  base::Bytes bytes = 0;
  friend bool operator==(const GgufLongText&, const GgufLongText&) = default;
};
// Unsigned and signed integers of any width, floats of any width, bool, text.
using GgufValue = std::variant<std::uint64_t, std::int64_t, double, bool, std::string, GgufArray, GgufLongText>;

struct GgufTensor {
  std::string name;
  std::vector<std::uint64_t> dimensions;  // 1 to 4, the row's length first
  std::uint32_t type = 0;                 // tensor_type_of()
  std::uint64_t elements = 0;
  base::Bytes offset = 0;            // from the start of the file
  std::optional<base::Bytes> bytes;  // empty: the type is not known, so its size is not either
};

struct Gguf {
  std::uint32_t version = 0;
  base::Bytes alignment = 32;
  base::Bytes data_offset = 0;  // where tensor data begins
  base::Bytes file_bytes = 0;
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<GgufTensor> tensors;  // in the file's order, which is the order of their data

  // The value under `key` when it is there and of that kind. `number` takes either sign of integer, if not negative.
  [[nodiscard]] const std::string* text(std::string_view key) const;
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const;
  [[nodiscard]] std::optional<GgufArray> array(std::string_view key) const;
};

[[nodiscard]] base::Result<Gguf> read_gguf(const ByteSource& source);

// Judges a file by its first bytes, so that a long upload of something else ends early. With fewer than 8 bytes only
// what is there is judged. Errors: bad_request, unsupported, as above.
[[nodiscard]] base::Status check_gguf_head(std::span<const std::byte> head);

// What people and policies want to know of a model. Empty where the file does not say.
struct GgufSummary {
  std::uint32_t version = 0;
  std::optional<std::string> architecture;
  std::optional<std::string> name;
  std::optional<std::string> quantisation;  // "Q4_0": from general.file_type
  std::uint64_t parameters = 0;             // elements of all tensors
  std::uint64_t tensors = 0;
  std::optional<std::uint64_t> context_length;
  std::optional<std::uint64_t> block_count;
  std::optional<std::uint64_t> embedding_length;
  std::optional<std::uint64_t> head_count;  // empty too where it differs from layer to layer
  std::optional<std::uint64_t> head_count_kv;
  std::optional<std::uint64_t> vocabulary;  // tokens
  bool chat_template = false;

  friend bool operator==(const GgufSummary&, const GgufSummary&) = default;
};
[[nodiscard]] GgufSummary summarise(const Gguf& gguf);

// Whether the file is a whole model that an engine can be given by itself. Errors: bad_request, saying what it is
// instead: a part of a split model, a projector or adapter, a vocabulary without tensors.
[[nodiscard]] base::Status check_is_model(const Gguf& gguf);

}  // namespace hearth::artifact
