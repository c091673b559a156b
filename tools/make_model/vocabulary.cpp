#include "tools/make_model/vocabulary.h"

#include <string_view>
#include <unordered_set>

namespace hearth::make_model {
namespace {

// Printable characters of Latin-1 stand for themselves.
bool is_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

std::string utf8(unsigned code_point) {
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xc0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3f))};
}

// Letters by how often English uses them, so that frequent pairs get low ranks and long products.
constexpr std::string_view kLetters = "etaoinshrdlucmfwypvbgkjqxz";
constexpr std::string_view kSpace = " ";
constexpr std::size_t kLongestPiece = 24;

// Pairs of pieces in order of the sum of their places: frequent with frequent first. Every product becomes a piece
// itself.
class Merger {
 public:
  Merger(std::vector<std::string>& tokens, std::vector<std::string>& merges) : tokens_(tokens), merges_(merges) {
    pieces_.push_back(byte_token(static_cast<unsigned char>(kSpace.front())));
    for (const char letter : kLetters)
      pieces_.push_back({letter});
    for (const char letter : kLetters)
      pieces_.push_back({static_cast<char>(letter - 'a' + 'A')});
    known_.insert(pieces_.begin(), pieces_.end());
  }

  void grow_to(std::size_t token_count) {
    for (std::size_t sum = 0; tokens_.size() < token_count; ++sum) {
      for (std::size_t left = 0; left <= sum && tokens_.size() < token_count; ++left)
        merge(left, sum - left);
    }
  }

 private:
  void merge(std::size_t left, std::size_t right) {
    // A space or a capital begins a word, so that neither comes second.
    const bool inside_a_word = pieces_[right].front() >= 'a' && pieces_[right].front() <= 'z';
    if (!inside_a_word || pieces_[left].size() + pieces_[right].size() > kLongestPiece) return;
    std::string product = pieces_[left] + pieces_[right];
    merges_.push_back(pieces_[left] + " " + pieces_[right]);
    // Another way to a text that is a token already: a merge without a token, as real vocabularies have them too.
    if (!known_.insert(product).second) return;
    pieces_.push_back(product);
    tokens_.push_back(std::move(product));
  }

  std::vector<std::string>& tokens_;
  std::vector<std::string>& merges_;
  std::vector<std::string> pieces_;
  std::unordered_set<std::string> known_;
};

}  // namespace

std::string byte_token(unsigned char byte) {
  if (is_itself(byte)) return utf8(byte);
  // The others get the characters from U+0100 on, in order.
  unsigned others_before = 0;
  for (unsigned other = 0; other < byte; ++other)
    others_before += is_itself(other) ? 0 : 1;
  return utf8(0x100 + others_before);
}

Vocabulary make_vocabulary(std::size_t size) {
  Vocabulary vocabulary;
  for (unsigned byte = 0; byte < 256; ++byte)
    vocabulary.tokens.push_back(byte_token(static_cast<unsigned char>(byte)));
  const std::size_t normal = size - (kSmallestVocabulary - 256);
  Merger(vocabulary.tokens, vocabulary.merges).grow_to(normal);
  vocabulary.types.assign(normal, kNormalToken);
  const auto add_special = [&](const char* text) {
    vocabulary.tokens.emplace_back(text);
    vocabulary.types.push_back(kControlToken);
    return static_cast<std::uint32_t>(vocabulary.tokens.size() - 1);
  };
  vocabulary.begin_of_text = add_special("<|begin_of_text|>");
  vocabulary.end_of_text = add_special("<|end_of_text|>");
  vocabulary.turn_start = add_special("<|im_start|>");
  vocabulary.turn_end = add_special("<|im_end|>");
  return vocabulary;
}

std::string chat_template() {
  return "{% for message in messages %}"
         "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
         "{% endfor %}"
         "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
}

}  // namespace hearth::make_model
