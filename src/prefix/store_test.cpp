#include "prefix/store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/sealed_text.h"
#include "prefix/store_fixture.h"

namespace hearth::prefix {
namespace {

using base::ErrorCode;

class PrefixStore : public testing::Test, protected StoreFixture {
 protected:
  void SetUp() override { ASSERT_TRUE(open()); }
  [[nodiscard]] std::string path_of(const Match& match, std::string_view ending) const {
    return "/prefix/states/" + kFingerprint + "/" + match.key + std::string(ending);
  }
  std::mt19937 random{7};
};

TEST_F(PrefixStore, FindsTheLongestStoredBeginning) {
  const Tokens all = random_tokens(random, 700);
  const Tokens half(all.begin(), all.begin() + 300);
  ASSERT_TRUE(save(kFingerprint, half));
  ASSERT_TRUE(save(kFingerprint, all));
  Tokens prompt = all;
  prompt.push_back(1);
  ASSERT_TRUE(store->find(kFingerprint, prompt, 64));
  EXPECT_EQ(store->find(kFingerprint, prompt, 64)->tokens, 700U);
  prompt.resize(400);
  prompt[350] = -1;
  const auto match = store->find(kFingerprint, prompt, 64);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->tokens, 350U) << "a longer state serves the part that is the same";
  EXPECT_FALSE(store->find(std::string(32, 'b'), all, 64));
  EXPECT_FALSE(store->find(kFingerprint, TokenView(all).first(63), 64));
}

TEST_F(PrefixStore, WhereStatesCannotBeCutBackOnlyThoseThatEndInTimeAreOffered) {
  const Tokens all = random_tokens(random, 700);
  const Tokens half(all.begin(), all.begin() + 300);
  ASSERT_TRUE(save(kFingerprint, all));
  Tokens prompt = all;
  prompt[500] ^= 1;
  EXPECT_EQ(store->find(kFingerprint, prompt, 64)->tokens, 500U);
  EXPECT_FALSE(store->find(kFingerprint, prompt, 64, 1));
  ASSERT_TRUE(save(kFingerprint, half));
  EXPECT_EQ(store->find(kFingerprint, prompt, 64, 1)->tokens, 300U);
  prompt = half;
  prompt.back() ^= 1;
  EXPECT_EQ(store->find(kFingerprint, prompt, 64, 1)->tokens, 299U);
}

TEST_F(PrefixStore, TokensBeyondTheLastWholeBlockCountToo) {
  const Tokens tokens = random_tokens(random, 100);
  ASSERT_TRUE(save(kFingerprint, tokens));
  EXPECT_EQ(store->find(kFingerprint, tokens, 64)->tokens, 100U);
}

TEST_F(PrefixStore, SurvivesAReopeningAndTheLossOfItsIndex) {
  const Tokens tokens = random_tokens(random, 200);
  ASSERT_TRUE(save(kFingerprint, tokens, "house"));
  ASSERT_TRUE(open());  // the index in memory is gone: made again from the record
  const auto match = store->find(kFingerprint, tokens, 64);
  ASSERT_TRUE(match);
  EXPECT_TRUE(store->verify(match->key));
  EXPECT_EQ(store->list().front().record.name, "house");
  EXPECT_EQ(store->row(match->key)->record.tokens, tokens);
}

TEST_F(PrefixStore, ASecondStoreOnTheSameFolderIsRefused) {
  auto other = Store::open(
      {.folder = "/prefix", .files = files, .clock = clock, .limits = {}, .on_event = {}, .index_path = ":memory:"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::in_use);
}

TEST_F(PrefixStore, ANewerLayoutIsLeftAlone) {
  store.reset();
  ASSERT_TRUE(put("/prefix/prefix.json", R"({"format": 2})"));
  EXPECT_EQ(open().error().code, ErrorCode::unsupported);
  EXPECT_EQ(files.read("/prefix/prefix.json", 100), R"({"format": 2})");
}

TEST_F(PrefixStore, ANewerRecordIsLeftWhereItIs) {
  const auto match = save(kFingerprint, random_tokens(random, 200));
  ASSERT_TRUE(match);
  ASSERT_TRUE(put(path_of(*match, ".prefix"), base::seal("hearth-prefix", 2, "{}")));
  ASSERT_TRUE(open());
  EXPECT_EQ(store->size(), 0U);
  EXPECT_TRUE(files.size(path_of(*match, ".kv")));
  EXPECT_TRUE(files.size(path_of(*match, ".prefix")));
}

TEST_F(PrefixStore, EveryBitFlipInAStateIsFoundBeforeTheEngineReadsIt) {
  const Tokens tokens = random_tokens(random, 96);
  const std::size_t size = state_of(tokens).size();
  for (std::size_t at = 0; at < size; at += 13) {
    const auto match = save(kFingerprint, tokens);
    ASSERT_TRUE(match);
    std::string bytes = *files.read(path_of(*match, ".kv"), size);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    ASSERT_TRUE(put(path_of(*match, ".kv"), bytes));
    EXPECT_EQ(store->verify(match->key).error().code, ErrorCode::corrupt);
    EXPECT_FALSE(store->find(kFingerprint, tokens, 64)) << "and never offered again";
    EXPECT_FALSE(files.size(path_of(*match, ".kv")));
  }
  EXPECT_TRUE(told("prefix_quarantined"));
}

TEST_F(PrefixStore, ATruncatedStateIsFound) {
  const auto match = save(kFingerprint, random_tokens(random, 96));
  ASSERT_TRUE(match);
  ASSERT_TRUE(put(path_of(*match, ".kv"), "qsgg"));
  EXPECT_EQ(store->verify(match->key).error().code, ErrorCode::corrupt);
  const auto again = save(kFingerprint, random_tokens(random, 96));
  ASSERT_TRUE(put(path_of(*again, ".kv"), "qsgg"));
  ASSERT_TRUE(open());
  EXPECT_EQ(store->size(), 0U) << "the opening compares sizes";
}

TEST_F(PrefixStore, ADamagedRecordIsSetAsideWhenTheIndexIsMadeAgain) {
  const auto match = save(kFingerprint, random_tokens(random, 96));
  std::string text = *files.read(path_of(*match, ".prefix"), 100'000);
  text[text.size() / 2] ^= 1;
  ASSERT_TRUE(put(path_of(*match, ".prefix"), text));
  ASSERT_TRUE(open());
  EXPECT_EQ(store->size(), 0U);
  EXPECT_TRUE(told("prefix_quarantined"));
}

TEST_F(PrefixStore, WhatTheEngineWroteIsCheckedBeforeItIsKept) {
  const Tokens tokens = random_tokens(random, 100);
  Tokens others = tokens;
  others[99] ^= 1;
  const std::string folder = *store->folder_for(kFingerprint);
  const auto commit = [&](const std::string& bytes, std::size_t told_size) {
    const std::string part = *store->begin_save(kFingerprint, tokens.size());
    EXPECT_TRUE(put(folder + "/" + part, bytes));
    const auto done = store->commit(part, {.fingerprint = kFingerprint, .tokens = tokens}, told_size);
    EXPECT_FALSE(files.size(folder + "/" + part));
    return done ? std::string("kept") : std::string(name_of(done.error().code));
  };
  const std::string good = state_of(tokens);
  EXPECT_EQ(commit(good, good.size() + 1), "corrupt");
  EXPECT_EQ(commit(state_of(others), good.size()), "corrupt");
  EXPECT_EQ(commit("GGUF" + good.substr(4), good.size()), "unsupported");
  EXPECT_EQ(commit(good, good.size()), "kept");
}

TEST_F(PrefixStore, WhatIsWorthLeastGoesFirstAndDeclaredOnesLast) {
  limits.disk = 8'000;
  ASSERT_TRUE(open());
  const auto one = save(kFingerprint, random_tokens(random, 100), "declared");
  const auto used = save(kFingerprint, random_tokens(random, 100));
  store->note_use(used->key);
  const auto unused = save(kFingerprint, random_tokens(random, 100));
  ASSERT_TRUE(one && used && unused);
  const auto fourth = save(kFingerprint, random_tokens(random, 100));
  ASSERT_TRUE(fourth);
  const auto there = [&](const base::Result<Match>& match) { return !store->path_of(match->key).empty(); };
  EXPECT_TRUE(there(one) && there(used) && there(fourth));
  EXPECT_FALSE(there(unused));
  EXPECT_TRUE(told("prefix_evicted"));
}

TEST_F(PrefixStore, WhatIsSparedStaysAndNothingIsEvictedForWhatDoesNotFitBesideIt) {
  limits.disk = 5'000;
  ASSERT_TRUE(open());
  const auto declared = save(kFingerprint, random_tokens(random, 100), "one");
  const auto found = save(kFingerprint, random_tokens(random, 100));
  ASSERT_TRUE(declared && found);
  EXPECT_TRUE(store->room_for(kFingerprint, 100, {declared->key}));
  EXPECT_EQ(store->room_for(kFingerprint, 200, {declared->key}).error().code, ErrorCode::no_space);
  EXPECT_EQ(save(kFingerprint, random_tokens(random, 200), "two", {declared->key}).error().code, ErrorCode::no_space);
  EXPECT_EQ(store->size(), 2U);
  EXPECT_TRUE(save(kFingerprint, random_tokens(random, 100), "three", {declared->key}));
  EXPECT_FALSE(store->path_of(declared->key).empty());
  EXPECT_TRUE(store->path_of(found->key).empty());
}

TEST_F(PrefixStore, AFirstStateThatIsLargerThanTheQuotaIsRefusedAndItsSizeKnownFromThenOn) {
  limits.disk = 2'000;
  ASSERT_TRUE(open());
  const Tokens tokens = random_tokens(random, 100);
  EXPECT_TRUE(store->room_for(kFingerprint, tokens.size()));
  EXPECT_EQ(save(kFingerprint, tokens).error().code, ErrorCode::no_space);
  EXPECT_EQ(store->size(), 0U);
  EXPECT_TRUE(files.list("/prefix/states/" + kFingerprint)->empty());
  EXPECT_EQ(store->room_for(kFingerprint, tokens.size()).error().code, ErrorCode::no_space);
}

TEST_F(PrefixStore, ASaveThatDoesNotFitIsNotBegun) {
  files.set_free_space(1500);
  EXPECT_EQ(save(kFingerprint, random_tokens(random, 100)).error().code, ErrorCode::no_space);
  EXPECT_TRUE(files.list("/prefix/states/" + kFingerprint)->empty());
}

TEST_F(PrefixStore, RemembersWhichEngineDoesNotUseWhatItRestores) {
  EXPECT_FALSE(store->ineffective("digest", "build"));
  store->set_ineffective("digest", "build", "because");
  EXPECT_EQ(store->ineffective("digest", "build"), "because");
  EXPECT_FALSE(store->ineffective("digest", "other"));
  EXPECT_TRUE(told("prefix_ineffective"));
}

// A real index file, as SQLite writes it.
TEST(PrefixIndex, ADamagedIndexIsMadeAgainAndAGoodOneKeepsItsCounts) {
  const auto folder = std::filesystem::temp_directory_path() / ("hearth-prefix-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  StoreFixture fixture;
  fixture.index_path = folder / "index.sqlite";
  ASSERT_TRUE(fixture.open());
  std::mt19937 random{1};
  const Tokens tokens = random_tokens(random, 200);
  const auto match = fixture.save(kFingerprint, tokens);
  ASSERT_TRUE(match);
  fixture.store->note_use(match->key);
  fixture.store->set_ineffective("d", "e", "why");
  ASSERT_TRUE(fixture.open());
  EXPECT_EQ(fixture.store->list().front().uses, 1);
  EXPECT_TRUE(fixture.store->ineffective("d", "e"));
  fixture.store.reset();
  std::ofstream(fixture.index_path, std::ios::binary | std::ios::trunc) << std::string(20'000, 'x');
  for (const auto* ending : {"-wal", "-shm"})
    std::filesystem::remove(fixture.index_path + ending);
  // The store's files are in memory, the index is not: what the store removes there must be removed here.
  std::filesystem::remove(fixture.index_path);
  ASSERT_TRUE(fixture.open());
  EXPECT_EQ(fixture.store->list().front().uses, 0);
  EXPECT_TRUE(fixture.store->find(kFingerprint, tokens, 64));
  fixture.store.reset();
  std::filesystem::remove_all(folder);
}

TEST(PrefixIndex, ANewerIndexIsLeftAloneAndSoIsTheStore) {
  const auto folder = std::filesystem::temp_directory_path() / ("hearth-newer-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  StoreFixture fixture;
  fixture.index_path = folder / "index.sqlite";
  ASSERT_TRUE(base::Database::open(fixture.index_path, {.name = "the prefix index", .version = 2}));
  // If the store removed or changed anything it would do so through its files.
  ASSERT_TRUE(fixture.files.ensure_directory(folder, 0700));
  ASSERT_TRUE(fixture.put(fixture.index_path, "as it was"));
  const auto opened = fixture.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
  EXPECT_EQ(opened.error().message,
            "opening the prefix store: the prefix index is of version 2, which a newer hearth wrote; it is left alone");
  EXPECT_EQ(fixture.files.read(fixture.index_path, 100), "as it was");
  EXPECT_TRUE(fixture.events.empty());
  std::filesystem::remove_all(folder);
}

TEST(PrefixIndex, GarbageIsCorruptNotACrash) {
  const std::string path = std::filesystem::temp_directory_path() / ("hearth-index-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << std::string(20'000, 'x');
  const auto index = IndexDb::open(path);
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, ErrorCode::corrupt);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hearth::prefix
