#include "tools/make_model/gguf_writer.h"

namespace hearth::make_model {
namespace {

enum Type : std::uint32_t { kU32 = 4, kI32 = 5, kF32 = 6, kBool = 7, kText = 8, kArray = 9 };

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& out, std::string_view text) {
  put<std::uint64_t>(out, text.size());
  out += text;
}

}  // namespace

void GgufHead::key(std::string_view key, std::uint32_t type) {
  put_text(metadata_, key);
  put(metadata_, type);
  ++keys_;
}

void GgufHead::text(std::string_view name, std::string_view value) {
  key(name, kText);
  put_text(metadata_, value);
}

void GgufHead::number(std::string_view name, std::uint32_t value) {
  key(name, kU32);
  put(metadata_, value);
}

void GgufHead::real(std::string_view name, float value) {
  key(name, kF32);
  put(metadata_, value);
}

void GgufHead::flag(std::string_view name, bool value) {
  key(name, kBool);
  put<std::uint8_t>(metadata_, value ? 1 : 0);
}

void GgufHead::texts(std::string_view name, const std::vector<std::string>& values) {
  key(name, kArray);
  put<std::uint32_t>(metadata_, kText);
  put<std::uint64_t>(metadata_, values.size());
  for (const auto& value : values)
    put_text(metadata_, value);
}

void GgufHead::numbers(std::string_view name, const std::vector<std::int32_t>& values) {
  key(name, kArray);
  put<std::uint32_t>(metadata_, kI32);
  put<std::uint64_t>(metadata_, values.size());
  for (const auto value : values)
    put(metadata_, value);
}

void GgufHead::tensor(std::string_view name, const std::vector<std::uint64_t>& dimensions, std::uint32_t type,
                      base::Bytes bytes) {
  put_text(infos_, name);
  put(infos_, static_cast<std::uint32_t>(dimensions.size()));
  for (const auto dimension : dimensions)
    put(infos_, dimension);
  put(infos_, type);
  put<std::uint64_t>(infos_, data_bytes_);
  data_bytes_ += padded(bytes);
  ++tensors_;
}

std::string GgufHead::bytes() const {
  constexpr std::uint32_t kVersion = 3;
  std::string head = "GGUF";
  put(head, kVersion);
  put(head, tensors_);
  put(head, keys_);
  head += metadata_;
  head += infos_;
  head.resize(padded(head.size()), '\0');
  return head;
}

}  // namespace hearth::make_model
