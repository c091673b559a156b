#pragma once
// Builds GGUF bytes for tests, well-formed or wrong in one chosen place. No product code includes it.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::artifact {

class GgufSample {
 public:
  explicit GgufSample(std::uint32_t version = 3) : version_(version) {}

  GgufSample& text(std::string_view key, std::string_view value) { return entry(key, 8, sized(value)); }
  GgufSample& u32(std::string_view key, std::uint32_t value) { return entry(key, 4, raw(value)); }
  GgufSample& i32(std::string_view key, std::int32_t value) { return entry(key, 5, raw(value)); }
  GgufSample& f32(std::string_view key, float value) { return entry(key, 6, raw(value)); }
  GgufSample& flag(std::string_view key, bool value) { return entry(key, 7, std::string(1, value ? '\1' : '\0')); }
  GgufSample& texts(std::string_view key, const std::vector<std::string>& values) {
    std::string body = raw<std::uint32_t>(8) + raw<std::uint64_t>(values.size());
    for (const auto& value : values)
      body += sized(value);
    return entry(key, 9, body);
  }
  GgufSample& floats(std::string_view key, std::uint64_t claimed, std::size_t present) {
    return entry(key, 9, raw<std::uint32_t>(6) + raw(claimed) + std::string(present * 4, '\0'));
  }
  GgufSample& entry(std::string_view key, std::uint32_t type, const std::string& value) {
    metadata_ += sized(key) + raw(type) + value;
    ++keys_;
    return *this;
  }
  // `bytes` of data, at the place where it belongs unless `offset` says otherwise.
  GgufSample& tensor(std::string_view name, const std::vector<std::uint64_t>& dimensions, std::uint32_t type,
                     std::size_t bytes) {
    return tensor_at(name, dimensions, type, bytes, data_.size());
  }
  GgufSample& tensor_at(std::string_view name, const std::vector<std::uint64_t>& dimensions, std::uint32_t type,
                        std::size_t bytes, std::uint64_t offset) {
    infos_ += sized(name) + raw(static_cast<std::uint32_t>(dimensions.size()));
    for (const auto dimension : dimensions)
      infos_ += raw(dimension);
    infos_ += raw(type) + raw(offset);
    ++tensors_;
    data_.append(bytes, static_cast<char>('a' + tensors_));
    data_.append(padding(data_.size()), '\0');
    return *this;
  }
  GgufSample& alignment(std::uint32_t value) {
    alignment_ = value;
    return u32("general.alignment", value);
  }

  [[nodiscard]] std::string bytes() const {
    std::string file = "GGUF" + raw(version_) + raw(tensors_) + raw(keys_) + metadata_ + infos_;
    if (tensors_ > 0) file.append(padding(file.size()), '\0');
    return file + data_;
  }

  template <typename T>
  static std::string raw(T value) {
    std::string text(sizeof value, '\0');
    std::memcpy(text.data(), &value, sizeof value);
    return text;
  }
  static std::string sized(std::string_view text) { return raw<std::uint64_t>(text.size()) + std::string(text); }

  // A small whole model, distinct for each name.
  static std::string model(std::string_view name = "sample") {
    return GgufSample()
        .text("general.architecture", "llama")
        .text("general.name", name)
        .u32("general.file_type", 2)
        .u32("llama.context_length", 4096)
        .u32("llama.block_count", 2)
        .u32("llama.embedding_length", 64)
        .u32("llama.attention.head_count", 4)
        .i32("llama.attention.head_count_kv", 2)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F)
        .texts("tokenizer.ggml.tokens", {"a", "b", "", "long token"})
        .floats("tokenizer.ggml.scores", 4, 4)
        .flag("tokenizer.ggml.add_bos_token", true)
        .text("tokenizer.chat_template", "{{ messages }}")
        .tensor("token_embd.weight", {64, 4}, 2, 64 * 4 / 32 * 18)
        .tensor("output_norm.weight", {64}, 0, 256)
        .bytes();
  }

 private:
  [[nodiscard]] std::size_t padding(std::size_t bytes) const { return (alignment_ - bytes % alignment_) % alignment_; }

  std::uint32_t version_;
  std::uint32_t alignment_ = 32;
  std::uint64_t keys_ = 0;
  std::uint64_t tensors_ = 0;
  std::string metadata_;
  std::string infos_;
  std::string data_;
};

}  // namespace hearth::artifact
