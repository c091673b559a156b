#include "artifact/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "artifact/gguf_sample.h"
#include "artifact/gguf_types.h"

namespace hearth::artifact {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

base::Result<Gguf> read(const std::string& bytes) { return read_gguf(MemorySource(std::as_bytes(std::span(bytes)))); }

base::Error error_of(const std::string& bytes) {
  const auto gguf = read(bytes);
  return gguf ? base::Error{ErrorCode::internal, "no error"} : gguf.error();
}

GgufSample llama() { return std::move(GgufSample().text("general.architecture", "llama")); }

TEST(Gguf, ReadsWhatAModelSaysOfItself) {
  const auto gguf = read(GgufSample::model("Demo"));
  ASSERT_TRUE(gguf) << gguf.error().message;
  const GgufSummary expected = {.version = 3,
                                .architecture = "llama",
                                .name = "Demo",
                                .quantisation = "Q4_0",
                                .parameters = 64 * 4 + 64,
                                .tensors = 2,
                                .context_length = 4096,
                                .block_count = 2,
                                .embedding_length = 64,
                                .head_count = 4,
                                .head_count_kv = 2,
                                .vocabulary = 4,
                                .chat_template = true};
  EXPECT_EQ(summarise(*gguf), expected);
  EXPECT_TRUE(check_is_model(*gguf));
}

TEST(Gguf, PlacesEachTensorInTheFile) {
  const std::string bytes = GgufSample::model();
  const auto gguf = read(bytes);
  ASSERT_TRUE(gguf);
  ASSERT_EQ(gguf->tensors.size(), 2U);
  const auto& [first, second] = std::tie(gguf->tensors[0], gguf->tensors[1]);
  EXPECT_EQ(first.name, "token_embd.weight");
  EXPECT_EQ(first.bytes, 144U);
  EXPECT_EQ(second.bytes, 256U);
  EXPECT_EQ(bytes[first.offset], 'b');
  EXPECT_EQ(bytes[second.offset], 'c');
  EXPECT_EQ(second.offset + *second.bytes, bytes.size());
}

TEST(Gguf, ReadsVersion2) { EXPECT_EQ(read(GgufSample(2).text("general.architecture", "llama").bytes())->version, 2U); }

TEST(Gguf, KeepsArraysAsTypeAndCount) {
  const auto gguf = read(GgufSample::model());
  ASSERT_TRUE(gguf);
  EXPECT_EQ(gguf->array("tokenizer.ggml.tokens"), (GgufArray{GgufType::text, 4}));
  EXPECT_EQ(gguf->array("tokenizer.ggml.scores"), (GgufArray{GgufType::f32, 4}));
}

TEST(Gguf, StepsOverVeryLongTexts) {
  const auto gguf = read(llama().text("a.license", std::string(kLongestKeptText + 1, 'x')).u32("after", 7).bytes());
  ASSERT_TRUE(gguf);
  EXPECT_EQ(std::get<GgufLongText>(gguf->metadata.at("a.license")).bytes, kLongestKeptText + 1);
  EXPECT_EQ(gguf->number("after"), 7U);
}

TEST(Gguf, ObeysAlignment) {
  const auto gguf = read(llama().alignment(256).tensor("a", {8}, 0, 32).tensor("b", {8}, 0, 32).bytes());
  ASSERT_TRUE(gguf) << gguf.error().message;
  EXPECT_EQ(gguf->data_offset % 256, 0U);
  EXPECT_EQ(gguf->tensors[1].offset, gguf->data_offset + 256);
}

TEST(Gguf, CannotSizeUnknownTensorTypesAndGoesOn) {
  const auto gguf = read(llama().tensor("new", {64}, 99, 50).tensor("after", {8}, 0, 32).bytes());
  ASSERT_TRUE(gguf) << gguf.error().message;
  EXPECT_FALSE(gguf->tensors[0].bytes);
  EXPECT_EQ(gguf->tensors[1].bytes, 32U);
}

TEST(Gguf, SaysWhatIsNotGguf) {
  EXPECT_EQ(error_of("").code, ErrorCode::bad_request);
  EXPECT_THAT(error_of("").message, HasSubstr("is empty"));
  EXPECT_EQ(error_of("HELLO, this is text").code, ErrorCode::bad_request);
  EXPECT_THAT(error_of("<!doctype html>").message, HasSubstr("not a GGUF file"));
}

TEST(Gguf, SaysWhichVersionItCannotRead) {
  EXPECT_EQ(error_of(GgufSample(1).bytes()).code, ErrorCode::unsupported);
  EXPECT_THAT(error_of(GgufSample(4).bytes()).message, HasSubstr("version 4"));
}

TEST(Gguf, KnowsBigEndianFiles) {
  const auto error = error_of(GgufSample(0x03000000).bytes());
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("big-endian"));
}

TEST(Gguf, CountsTheBytesThatAreMissing) {
  std::string bytes = GgufSample::model();
  const std::size_t whole = bytes.size();
  bytes.resize(whole - 100);
  const auto error = error_of(bytes);
  EXPECT_EQ(error.code, ErrorCode::corrupt);
  EXPECT_THAT(error.message, HasSubstr("truncated: 100 of " + std::to_string(whole) + " bytes are missing"));
}

TEST(Gguf, EveryTruncationIsOneError) {
  const std::string whole = GgufSample::model();
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const auto gguf = read(whole.substr(0, length));
    ASSERT_FALSE(gguf) << length;
    EXPECT_EQ(gguf.error().code, ErrorCode::corrupt) << length << ": " << gguf.error().message;
    EXPECT_THAT(gguf.error().message, HasSubstr("truncated")) << length;
  }
}

TEST(Gguf, RefusesWhatContradictsItself) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {llama().u32("a", 1).u32("a", 2).bytes(), "\"a\" is there twice"},
      {llama().tensor("t", {8}, 0, 32).tensor("t", {8}, 0, 32).bytes(), "\"t\" is there twice"},
      {llama().alignment(48).bytes(), "power of two"},
      {llama().alignment(0).bytes(), "power of two"},
      {llama().text("general.alignment", "32").bytes(), "power of two"},
      {llama().entry("k", 13, "").bytes(), "unknown type"},
      {llama().entry("k", 9, GgufSample::raw<std::uint32_t>(9) + GgufSample::raw<std::uint64_t>(0)).bytes(),
       "array of arrays"},
      {llama().floats("k", 1ULL << 62, 0).bytes(), "elements"},
      {llama().entry("k", 8, GgufSample::raw<std::uint64_t>(UINT64_MAX)).bytes(), "a metadata text of"},
      {llama().tensor("t", {33}, 2, 18).bytes(), "do not divide"},
      {llama().tensor("t", {}, 0, 0).bytes(), "0 dimensions"},
      {llama().tensor("t", {1, 1, 1, 1, 1}, 0, 4).bytes(), "5 dimensions"},
      {llama().tensor("t", {1ULL << 40, 1ULL << 40}, 0, 4).bytes(), "impossible size"},
      {llama().tensor("t", {1ULL << 61, 1}, 28, 4).bytes(), "impossible size"},
      {llama().tensor_at("t", {8}, 0, 32, 32).bytes(), "does not begin"},
      {llama().tensor_at("t", {8}, 0, 32, 1).bytes(), "does not begin"},
      {llama().tensor("u", {8}, 99, 32).tensor_at("t", {8}, 0, 32, UINT64_MAX - 31).bytes(), "does not begin"},
      {llama().tensor(std::string(300, 'n'), {8}, 0, 32).bytes(), "a tensor name of 300 bytes"},
  };
  for (const auto& [bytes, said] : cases) {
    EXPECT_EQ(error_of(bytes).code, ErrorCode::corrupt) << said;
    EXPECT_THAT(error_of(bytes).message, HasSubstr(said));
  }
}

TEST(Gguf, RefusesMoreThanAnyModelHas) {
  const auto claims = [](std::uint64_t tensors, std::uint64_t keys) {
    return "GGUF" + GgufSample::raw<std::uint32_t>(3) + GgufSample::raw(tensors) + GgufSample::raw(keys) +
           std::string(64, '\0');
  };
  EXPECT_EQ(error_of(claims(UINT64_MAX, 0)).code, ErrorCode::too_large);
  EXPECT_EQ(error_of(claims(0, UINT64_MAX)).code, ErrorCode::too_large);
  EXPECT_EQ(error_of(claims(kMostTensors + 1, 0)).code, ErrorCode::too_large);
}

// What is kept in memory is bounded even where the file really holds that much.
TEST(Gguf, KeepsNoMoreTextThanItsBound) {
  GgufSample sample;
  const std::string text(kLongestKeptText, 'x');
  for (int i = 0; i < 65; ++i)
    sample.text("k" + std::to_string(i), text);
  EXPECT_EQ(error_of(sample.bytes()).code, ErrorCode::too_large);
}

// A short file that claims long texts costs no memory for them: the claim is compared with the file first.
TEST(Gguf, ComparesClaimsWithTheFileFirst) {
  const auto error = error_of(llama().entry("k", 8, GgufSample::raw<std::uint64_t>(1ULL << 30)).bytes());
  EXPECT_THAT(error.message, HasSubstr("truncated: at least 1073741824 bytes"));
}

TEST(Gguf, ShowsNamesCleanly) {
  const auto gguf = read(llama().text("general.name", "bad\n\xff\xc3\xa9").bytes());
  ASSERT_TRUE(gguf);
  EXPECT_EQ(summarise(*gguf).name, "bad??\xc3\xa9");
}

TEST(Gguf, LeavesOutWhatTheFileDoesNotSay) {
  const auto summary = summarise(*read(GgufSample().u32("general.file_type", 777).bytes()));
  EXPECT_EQ(summary, (GgufSummary{.version = 3}));
}

TEST(Gguf, SaysWhyAFileIsNotAModelByItself) {
  const auto said = [](const GgufSample& sample) { return check_is_model(*read(sample.bytes())).error().message; };
  EXPECT_THAT(said(llama()), HasSubstr("no weights"));
  EXPECT_THAT(said(llama().text("general.type", "mmproj")), HasSubstr("\"mmproj\""));
  EXPECT_THAT(said(llama().u32("split.no", 1).u32("split.count", 3)), HasSubstr("part 2 of 3"));
  EXPECT_THAT(said(GgufSample().tensor("t", {8}, 0, 32)), HasSubstr("architecture"));
}

TEST(GgufHead, JudgesWhatIsThere) {
  const std::string good = GgufSample::model();
  for (std::size_t length = 0; length <= 8; ++length) {
    EXPECT_TRUE(check_gguf_head(std::as_bytes(std::span(good).first(length)))) << length;
  }
  const std::string bad = "GGXF";
  EXPECT_FALSE(check_gguf_head(std::as_bytes(std::span(bad).first(3))));
}

TEST(GgufTypes, KnowsFilesWhoseTypeWasGuessed) {
  EXPECT_EQ(file_type_name(15), "Q4_K_M");
  EXPECT_EQ(file_type_name(1024 + 15), "Q4_K_M");
  EXPECT_EQ(file_type_name(5), std::nullopt);
  EXPECT_EQ(tensor_type_of(12)->bytes, 144U);
  EXPECT_EQ(tensor_type_of(4), std::nullopt);
}

}  // namespace
}  // namespace hearth::artifact
