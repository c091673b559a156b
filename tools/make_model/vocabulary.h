#pragma once
// A byte-level BPE vocabulary of any size, made by rule instead of learnt from text, so that an engine splits
// English-like text into real tokens of several bytes and has as many tokens and merges to read as for a real model.
// Pure and deterministic.
//
// Form: that of GPT-2 and Llama 3 (tokenizer.ggml.model "gpt2", pre "llama-bpe"). The 256 bytes come first, each
// written as the printable character that GPT-2's table gives it (a space is "Ġ"); then one token for each merge that
// makes a new text; then the special tokens. A merge's two parts and its product are always tokens, and merges are in
// order of rank.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hearth::make_model {

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;  // kNormalToken or kControlToken, one each
  std::vector<std::string> merges;  // "left right"
  std::uint32_t begin_of_text = 0;
  std::uint32_t end_of_text = 0;
  std::uint32_t turn_start = 0;  // <|im_start|>
  std::uint32_t turn_end = 0;    // <|im_end|>
};

inline constexpr std::int32_t kNormalToken = 1;
inline constexpr std::int32_t kControlToken = 3;
inline constexpr std::size_t kSmallestVocabulary = 256 + 4;  // the bytes and the special tokens

// REQUIRES: size >= kSmallestVocabulary.
[[nodiscard]] Vocabulary make_vocabulary(std::size_t size);

// The character that stands for a byte, as UTF-8.
[[nodiscard]] std::string byte_token(unsigned char byte);

// For the ChatML turns that the special tokens delimit (Jinja).
[[nodiscard]] std::string chat_template();

}  // namespace hearth::make_model
