#include "tools/make_model/vocabulary.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace hearth::make_model {
namespace {

using Pair = std::pair<std::string, std::string>;

std::vector<Pair> merge_pairs(const Vocabulary& vocabulary) {
  std::vector<Pair> pairs;
  for (const auto& merge : vocabulary.merges) {
    const auto space = merge.find(' ');
    pairs.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  return pairs;
}

// Byte-pair encoding of one word, as its definition says it: the pair of lowest rank first.
std::vector<std::string> encode(const Vocabulary& vocabulary, std::string_view word) {
  std::map<Pair, std::size_t> ranks;
  for (const auto& pair : merge_pairs(vocabulary))
    ranks.try_emplace(pair, ranks.size());
  std::vector<std::string> pieces;
  for (const char c : word)
    pieces.push_back(byte_token(static_cast<unsigned char>(c)));
  for (;;) {
    std::size_t best = SIZE_MAX;
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
      const auto rank = ranks.find({pieces[i], pieces[i + 1]});
      if (rank == ranks.end() || rank->second >= best) continue;
      best = rank->second;
      place = i;
    }
    if (best == SIZE_MAX) return pieces;
    pieces[place] += pieces[place + 1];
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

TEST(Vocabulary, HasExactlyTheSizeAskedFor) {
  for (const std::size_t size : {kSmallestVocabulary, std::size_t{261}, std::size_t{1000}, std::size_t{128'256}}) {
    const auto vocabulary = make_vocabulary(size);
    EXPECT_EQ(vocabulary.tokens.size(), size);
    EXPECT_EQ(vocabulary.types.size(), size);
    EXPECT_EQ(std::set(vocabulary.tokens.begin(), vocabulary.tokens.end()).size(), size) << "tokens are distinct";
  }
}

TEST(Vocabulary, WritesBytesAsTheFormDoes) {
  EXPECT_EQ(byte_token('a'), "a");
  EXPECT_EQ(byte_token(' '), "Ġ");
  EXPECT_EQ(byte_token('\n'), "Ċ");
  EXPECT_EQ(byte_token(0x00), "Ā");
  EXPECT_EQ(byte_token(0xad), "Ń");
  EXPECT_EQ(byte_token(0xff), "ÿ");
}

TEST(Vocabulary, EveryMergeJoinsTokensIntoAToken) {
  const auto vocabulary = make_vocabulary(20'000);
  const std::set<std::string> tokens(vocabulary.tokens.begin(), vocabulary.tokens.end());
  std::set<Pair> seen;
  for (const auto& pair : merge_pairs(vocabulary)) {
    EXPECT_TRUE(tokens.contains(pair.first) && tokens.contains(pair.second)) << pair.first << " " << pair.second;
    EXPECT_TRUE(tokens.contains(pair.first + pair.second)) << pair.first << pair.second;
    EXPECT_TRUE(seen.insert(pair).second) << "a pair has one rank";
  }
}

TEST(Vocabulary, SplitsEnglishIntoTokensOfSeveralBytes) {
  const auto vocabulary = make_vocabulary(32'000);
  const std::set<std::string> tokens(vocabulary.tokens.begin(), vocabulary.tokens.end());
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (const std::string_view word :
       {"Turn", " on", " the", " kitchen", " lights", " and", " close", " every", " window"}) {
    const auto pieces = encode(vocabulary, word);
    for (const auto& piece : pieces)
      EXPECT_TRUE(tokens.contains(piece)) << piece;
    bytes += word.size();
    count += pieces.size();
  }
  EXPECT_GE(static_cast<double>(bytes) / static_cast<double>(count), 2.5);
}

TEST(Vocabulary, EndsWithItsSpecialTokens) {
  const auto vocabulary = make_vocabulary(1000);
  EXPECT_EQ(vocabulary.tokens[vocabulary.begin_of_text], "<|begin_of_text|>");
  EXPECT_EQ(vocabulary.tokens[vocabulary.turn_end], "<|im_end|>");
  EXPECT_EQ(vocabulary.turn_end, 999U);
  EXPECT_EQ(vocabulary.types[vocabulary.turn_start], kControlToken);
  EXPECT_EQ(vocabulary.types[995], kNormalToken);
}

}  // namespace
}  // namespace hearth::make_model
