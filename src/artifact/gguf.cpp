#include "artifact/gguf.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <set>

#include "artifact/gguf_types.h"
#include "artifact/shown.h"

namespace hearth::artifact {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

static_assert(std::endian::native == std::endian::little, "values are copied as they lie in the file");

constexpr std::size_t kWindow = 64 * 1024;
// The format's reference reader refuses longer texts and arrays; a larger number is nonsense rather than a truncated
// file.
constexpr std::uint64_t kLongest = 1ull << 30;
constexpr std::uint64_t kLongestKey = 65'535;
constexpr std::uint64_t kLongestTensorName = 255;
constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"

std::uint64_t width_of(GgufType type) {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean:
      return 1;
    case GgufType::u16:
    case GgufType::i16:
      return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32:
      return 4;
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64:
      return 8;
    case GgufType::text:
    case GgufType::array:
      return 0;
  }
  return 0;
}

std::unexpected<base::Error> truncated(base::Bytes missing, std::string_view where) {
  return fail(ErrorCode::corrupt,
              fmt::format("is truncated: {} of {} are missing; fetch the file again",
                          missing == 1 ? "at least 1 byte" : fmt::format("at least {} bytes", missing), where));
}
std::unexpected<base::Error> damaged(std::string detail) {
  return fail(ErrorCode::corrupt, fmt::format("is damaged: {}; fetch the file again", detail));
}
std::unexpected<base::Error> excessive(std::string_view what) {
  return fail(ErrorCode::too_large,
              fmt::format("has more {} than any model; it is damaged or not meant to be loaded", what));
}

// Reads forward through a window, so that a vocabulary of 128k short strings costs few system calls.
class Cursor {
 public:
  explicit Cursor(const ByteSource& source) : source_(source), size_(source.size()) {}

  [[nodiscard]] base::Bytes position() const { return position_; }
  [[nodiscard]] base::Bytes left() const { return size_ - position_; }

  [[nodiscard]] Status take(std::span<std::byte> into) {
    if (into.size() > left()) return truncated(into.size() - left(), "its header");
    while (!into.empty()) {
      if (position_ < window_start_ || position_ >= window_start_ + window_bytes_) {
        if (auto filled = fill(); !filled) return filled;
      }
      const auto at = static_cast<std::size_t>(position_ - window_start_);
      const std::size_t count = std::min(into.size(), window_bytes_ - at);
      std::memcpy(into.data(), window_.data() + at, count);
      into = into.subspan(count);
      position_ += count;
    }
    return {};
  }

  [[nodiscard]] Status skip(std::uint64_t bytes) {
    if (bytes > left()) return truncated(bytes - left(), "its header");
    position_ += bytes;
    return {};
  }

  template <typename T>
  [[nodiscard]] Result<T> number() {
    T value{};
    if (auto taken = take(std::as_writable_bytes(std::span(&value, 1))); !taken) return base::pass(taken);
    return value;
  }

 private:
  Status fill() {
    window_start_ = position_;
    window_bytes_ = static_cast<std::size_t>(std::min<base::Bytes>(kWindow, left()));
    auto read = source_.read_at(position_, std::span(window_).first(window_bytes_));
    if (!read) window_bytes_ = 0;
    return read;
  }

  const ByteSource& source_;
  base::Bytes size_;
  base::Bytes position_ = 0;
  base::Bytes window_start_ = 0;
  std::size_t window_bytes_ = 0;
  std::vector<std::byte> window_ = std::vector<std::byte>(kWindow);
};

Status check_version(std::uint32_t version) {
  if (version == 2 || version == 3) return {};
  if (std::byteswap(version) <= 0xffff) {
    return fail(ErrorCode::unsupported, "is a big-endian GGUF file; fetch the little-endian one of the same model");
  }
  return fail(ErrorCode::unsupported,
              fmt::format("is a GGUF file of version {}; versions 2 and 3 can be read", version));
}

std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

class Reader {
 public:
  explicit Reader(const ByteSource& source) : cursor_(source) { gguf_.file_bytes = source.size(); }

  Result<Gguf> read() {
    for (auto step : {&Reader::read_head, &Reader::read_metadata, &Reader::read_tensor_infos, &Reader::place_tensors}) {
      if (auto done = (this->*step)(); !done) return base::pass(done);
    }
    return std::move(gguf_);
  }

 private:
  Status read_head() {
    if (cursor_.left() == 0) return fail(ErrorCode::bad_request, "is empty, not a GGUF file");
    std::array<std::byte, 8> head{};
    const auto begin =
        std::span(head).first(std::min<std::size_t>(head.size(), static_cast<std::size_t>(cursor_.left())));
    if (auto taken = cursor_.take(begin); !taken) return taken;
    if (auto good = check_gguf_head(begin); !good) return good;
    if (begin.size() < head.size()) return truncated(head.size() - begin.size(), "its header");
    std::memcpy(&gguf_.version, head.data() + 4, sizeof gguf_.version);
    return read_counts();
  }

  Status read_counts() {
    const auto tensors = cursor_.number<std::uint64_t>();
    if (!tensors) return std::unexpected(tensors.error());
    const auto keys = cursor_.number<std::uint64_t>();
    if (!keys) return std::unexpected(keys.error());
    if (*tensors > kMostTensors) return excessive("tensors");
    if (*keys > kMostKeys) return excessive("metadata");
    tensor_count_ = *tensors;
    key_count_ = *keys;
    return {};
  }

  Status read_metadata() {
    for (std::uint64_t i = 0; i < key_count_; ++i) {
      if (auto done = read_key_value(); !done) return done;
    }
    return read_alignment();
  }

  Status read_key_value() {
    auto key = text(kLongestKey, "a metadata key");
    if (!key) return base::pass(key);
    const auto type = value_type();
    if (!type) return std::unexpected(type.error());
    auto read = value(*type);
    if (!read) return base::pass(read);
    if (!gguf_.metadata.try_emplace(*key, std::move(*read)).second) {
      return damaged(fmt::format("the metadata key \"{}\" is there twice", shown(*key, 64)));
    }
    return keep(128 + key->size());
  }

  Status read_alignment() {
    if (!gguf_.metadata.contains("general.alignment")) return {};
    const auto alignment = gguf_.number("general.alignment");
    if (!alignment || !std::has_single_bit(*alignment) || *alignment > kLongest) {
      return damaged("general.alignment is not a power of two");
    }
    gguf_.alignment = *alignment;
    return {};
  }

  Result<GgufType> value_type() {
    const auto number = cursor_.number<std::uint32_t>();
    if (!number) return std::unexpected(number.error());
    if (*number > static_cast<std::uint32_t>(GgufType::f64))
      return damaged(fmt::format("metadata has the unknown type {}", *number));
    return static_cast<GgufType>(*number);
  }

  Result<GgufValue> value(GgufType type) {
    switch (type) {
      case GgufType::u8:
        return scalar<std::uint8_t, std::uint64_t>();
      case GgufType::u16:
        return scalar<std::uint16_t, std::uint64_t>();
      case GgufType::u32:
        return scalar<std::uint32_t, std::uint64_t>();
      case GgufType::u64:
        return scalar<std::uint64_t, std::uint64_t>();
      case GgufType::i8:
        return scalar<std::int8_t, std::int64_t>();
      case GgufType::i16:
        return scalar<std::int16_t, std::int64_t>();
      case GgufType::i32:
        return scalar<std::int32_t, std::int64_t>();
      case GgufType::i64:
        return scalar<std::int64_t, std::int64_t>();
      case GgufType::f32:
        return scalar<float, double>();
      case GgufType::f64:
        return scalar<double, double>();
      case GgufType::boolean: {
        const auto read = cursor_.number<std::uint8_t>();
        if (!read) return std::unexpected(read.error());
        return GgufValue(*read != 0);
      }
      case GgufType::text:
        return text_value();
      case GgufType::array:
        return array_value();
    }
    return damaged("metadata has an unknown type");
  }

  template <typename Stored, typename Kept>
  Result<GgufValue> scalar() {
    const auto read = cursor_.number<Stored>();
    if (!read) return std::unexpected(read.error());
    return GgufValue(static_cast<Kept>(*read));
  }

  Result<GgufValue> text_value() {
    const auto length = text_length(kLongest, "a metadata text");
    if (!length) return std::unexpected(length.error());
    if (*length > kLongestKeptText) {
      if (auto skipped = cursor_.skip(*length); !skipped) return base::pass(skipped);
      return GgufValue(GgufLongText{*length});
    }
    auto kept = text_of(*length);
    if (!kept) return base::pass(kept);
    if (auto fits = keep(*length); !fits) return base::pass(fits);
    return GgufValue(std::move(*kept));
  }

  Result<GgufValue> array_value() {
    const auto element = value_type();
    if (!element) return std::unexpected(element.error());
    const auto count = cursor_.number<std::uint64_t>();
    if (!count) return std::unexpected(count.error());
    if (*element == GgufType::array) return damaged("an array of arrays in its metadata");
    if (*count > kLongest) return damaged(fmt::format("an array of {} elements in its metadata", *count));
    if (auto skipped = skip_elements(*element, *count); !skipped) return base::pass(skipped);
    return GgufValue(GgufArray{*element, *count});
  }

  Status skip_elements(GgufType element, std::uint64_t count) {
    if (element != GgufType::text) return cursor_.skip(width_of(element) * count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto length = text_length(kLongest, "a text in an array");
      if (!length) return std::unexpected(length.error());
      if (auto skipped = cursor_.skip(*length); !skipped) return skipped;
    }
    return {};
  }

  Result<std::uint64_t> text_length(std::uint64_t longest, std::string_view what) {
    const auto length = cursor_.number<std::uint64_t>();
    if (length && *length > longest) return damaged(fmt::format("{} of {} bytes", what, *length));
    return length;
  }

  Result<std::string> text_of(std::uint64_t length) {
    // Compared with what is left before memory is taken for it.
    if (length > cursor_.left()) return truncated(length - cursor_.left(), "its header");
    std::string text(static_cast<std::size_t>(length), '\0');
    if (auto taken = cursor_.take(std::as_writable_bytes(std::span(text))); !taken) return base::pass(taken);
    return text;
  }

  Result<std::string> text(std::uint64_t longest, std::string_view what) {
    const auto length = text_length(longest, what);
    if (!length) return std::unexpected(length.error());
    return text_of(*length);
  }

  Status keep(base::Bytes bytes) {
    kept_ += bytes;
    if (kept_ > kMostKept) return excessive("metadata");
    return {};
  }

  Status read_tensor_infos() {
    std::set<std::string, std::less<>> names;
    for (std::uint64_t i = 0; i < tensor_count_; ++i) {
      auto tensor = read_tensor_info();
      if (!tensor) return base::pass(tensor);
      if (!names.insert(tensor->name).second) {
        return damaged(fmt::format("the tensor \"{}\" is there twice", shown(tensor->name, 64)));
      }
      if (auto fits = keep(256 + tensor->name.size()); !fits) return fits;
      gguf_.tensors.push_back(std::move(*tensor));
    }
    return {};
  }

  Result<GgufTensor> read_tensor_info() {
    GgufTensor tensor;
    auto name = text(kLongestTensorName, "a tensor name");
    if (!name) return base::pass(name);
    tensor.name = std::move(*name);
    if (auto read = read_dimensions(tensor); !read) return base::pass(read);
    const auto type = cursor_.number<std::uint32_t>();
    if (!type) return std::unexpected(type.error());
    const auto offset = cursor_.number<std::uint64_t>();
    if (!offset) return std::unexpected(offset.error());
    tensor.type = *type;
    tensor.offset = *offset;
    if (auto sized = size(tensor); !sized) return base::pass(sized);
    return tensor;
  }

  Status read_dimensions(GgufTensor& tensor) {
    const auto count = cursor_.number<std::uint32_t>();
    if (!count) return std::unexpected(count.error());
    if (*count < 1 || *count > 4) return damaged(fmt::format("a tensor with {} dimensions", *count));
    tensor.elements = 1;
    for (std::uint32_t i = 0; i < *count; ++i) {
      const auto length = cursor_.number<std::uint64_t>();
      if (!length) return std::unexpected(length.error());
      const auto elements = product(tensor.elements, *length);
      if (!elements || *elements >> 62 != 0) return damaged("a tensor of impossible size");
      tensor.elements = *elements;
      tensor.dimensions.push_back(*length);
    }
    return {};
  }

  Status size(GgufTensor& tensor) {
    const auto type = tensor_type_of(tensor.type);
    if (!type) return {};
    if (tensor.dimensions.front() % type->elements != 0) {
      return damaged(fmt::format("the rows of tensor \"{}\" do not divide into blocks of {}", shown(tensor.name, 64),
                                 type->elements));
    }
    tensor.bytes = product(tensor.elements / type->elements, type->bytes);
    if (!tensor.bytes) return damaged("a tensor of impossible size");
    return {};
  }

  // Tensor data follows in the order of the infos, each padded to the alignment. After one that cannot be sized, the
  // next one may begin anywhere behind it.
  Status place_tensors() {
    gguf_.data_offset = padded(cursor_.position());
    base::Bytes end = 0;
    std::optional<base::Bytes> expected = 0;
    for (auto& tensor : gguf_.tensors) {
      const bool in_place =
          expected ? tensor.offset == *expected : tensor.offset >= end && tensor.offset % gguf_.alignment == 0;
      const base::Bytes bytes = tensor.bytes.value_or(0);
      // 2^62 keeps every sum below within 64 bits.
      if (!in_place || tensor.offset >> 62 != 0 || bytes >> 62 != 0) {
        return damaged(
            fmt::format("the tensor \"{}\" does not begin where the one before it ends", shown(tensor.name, 64)));
      }
      end = tensor.offset + bytes;
      expected = tensor.bytes ? std::optional(padded(end)) : std::nullopt;
      tensor.offset += gguf_.data_offset;
    }
    return check_end(gguf_.data_offset + end);
  }

  Status check_end(base::Bytes end) {
    if (gguf_.tensors.empty() || end <= gguf_.file_bytes) return {};
    const base::Bytes missing = end - gguf_.file_bytes;
    return fail(ErrorCode::corrupt,
                fmt::format("is truncated: {} of {} bytes are missing; fetch the file again", missing, end));
  }

  [[nodiscard]] base::Bytes padded(base::Bytes bytes) const {
    return (bytes + gguf_.alignment - 1) & ~(gguf_.alignment - 1);
  }

  Cursor cursor_;
  Gguf gguf_;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t key_count_ = 0;
  base::Bytes kept_ = 0;
};

}  // namespace

Result<Gguf> read_gguf(const ByteSource& source) { return Reader(source).read(); }

Status check_gguf_head(std::span<const std::byte> head) {
  const std::size_t judged = std::min<std::size_t>(head.size(), sizeof kMagic);
  if (std::memcmp(head.data(), &kMagic, judged) != 0) {
    return fail(ErrorCode::bad_request,
                "is not a GGUF file (it does not begin with \"GGUF\"); give it a model in that format");
  }
  if (head.size() < 8) return {};
  std::uint32_t version = 0;
  std::memcpy(&version, head.data() + 4, sizeof version);
  return check_version(version);
}

const std::string* Gguf::text(std::string_view key) const {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : std::get_if<std::string>(&found->second);
}

std::optional<std::uint64_t> Gguf::number(std::string_view key) const {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return std::nullopt;
  if (const auto* value = std::get_if<std::uint64_t>(&found->second)) return *value;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  if (value == nullptr || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

std::optional<GgufArray> Gguf::array(std::string_view key) const {
  const auto found = metadata.find(key);
  const auto* value = found == metadata.end() ? nullptr : std::get_if<GgufArray>(&found->second);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

namespace {

std::optional<std::string> shown_if(const std::string* text) {
  return text == nullptr ? std::nullopt : std::optional(shown(*text, 256));
}

std::uint64_t parameters_of(const Gguf& gguf) {
  std::uint64_t sum = 0;
  for (const auto& tensor : gguf.tensors) {
    // Only tensors of unknown size can add up to more than the file allows; then the number means nothing, but is
    // bounded.
    if (__builtin_add_overflow(sum, tensor.elements, &sum)) return UINT64_MAX;
  }
  return sum;
}

std::optional<std::string> quantisation_of(const Gguf& gguf) {
  const auto type = gguf.number("general.file_type");
  const auto name = type ? file_type_name(*type) : std::nullopt;
  return name ? std::optional<std::string>(*name) : std::nullopt;
}

}  // namespace

GgufSummary summarise(const Gguf& gguf) {
  const auto* architecture = gguf.text("general.architecture");
  const auto of_architecture = [&](std::string_view key) -> std::optional<std::uint64_t> {
    return architecture == nullptr ? std::nullopt : gguf.number(fmt::format("{}.{}", *architecture, key));
  };
  const auto tokens = gguf.array("tokenizer.ggml.tokens");
  return {.version = gguf.version,
          .architecture = shown_if(architecture),
          .name = shown_if(gguf.text("general.name")),
          .quantisation = quantisation_of(gguf),
          .parameters = parameters_of(gguf),
          .tensors = gguf.tensors.size(),
          .context_length = of_architecture("context_length"),
          .block_count = of_architecture("block_count"),
          .embedding_length = of_architecture("embedding_length"),
          .head_count = of_architecture("attention.head_count"),
          .head_count_kv = of_architecture("attention.head_count_kv"),
          .vocabulary = tokens ? std::optional(tokens->count) : of_architecture("vocab_size"),
          .chat_template = gguf.metadata.contains("tokenizer.chat_template")};
}

Status check_is_model(const Gguf& gguf) {
  if (const auto parts = gguf.number("split.count"); parts && *parts > 1) {
    return fail(
        ErrorCode::bad_request,
        fmt::format("is part {} of {} of a split model; merge the parts into one file first (llama-gguf-split --merge)",
                    gguf.number("split.no").value_or(0) + 1, *parts));
  }
  if (const auto* type = gguf.text("general.type"); type != nullptr && *type != "model") {
    return fail(ErrorCode::bad_request,
                fmt::format("is not a model by itself but of the kind \"{}\"; import the model it belongs to",
                            shown(*type, 32)));
  }
  if (gguf.text("general.architecture") == nullptr) {
    return fail(ErrorCode::bad_request, "does not name its architecture; no engine can load it");
  }
  if (gguf.tensors.empty()) return fail(ErrorCode::bad_request, "holds no weights; no engine can load it");
  return {};
}

}  // namespace hearth::artifact
