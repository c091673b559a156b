#include "tools/make_model/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "artifact/digest.h"
#include "artifact/gguf.h"
#include "base/scope_exit.h"
#include "tests/support/temp_folder.h"

namespace hearth::make_model {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

const std::atomic<bool> kGoOn = false;

Shape small(WeightType type = WeightType::q4_0) {
  return {.layers = 2,
          .embd = 256,
          .ff = 512,
          .heads = 4,
          .kv_heads = 2,
          .vocab = 600,
          .context = 512,
          .type = type,
          .seed = 42};
}

class ModelFile : public ::testing::Test {
 protected:
  base::Status write(const Shape& shape) { return write_model(llama_plan(shape), path_, {}, kGoOn); }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  test::TempFolder own_;
  std::string folder_ = own_.path();
  std::string path_ = folder_ + "/m.gguf";
};

TEST_F(ModelFile, IsAWholeModelOfTheShapeAskedFor) {
  for (const auto type : {WeightType::q4_0, WeightType::q8_0, WeightType::f16, WeightType::q4_k}) {
    ASSERT_TRUE(write(small(type)));
    const std::string file = bytes();
    const auto gguf = artifact::read_gguf(artifact::MemorySource(std::as_bytes(std::span(file))));
    ASSERT_TRUE(gguf) << gguf.error().message;
    EXPECT_TRUE(artifact::check_is_model(*gguf));
    const auto summary = artifact::summarise(*gguf);
    EXPECT_EQ(summary.architecture, "llama");
    EXPECT_EQ(summary.block_count, 2U);
    EXPECT_EQ(summary.head_count_kv, 2U);
    EXPECT_EQ(summary.vocabulary, 600U);
    EXPECT_EQ(summary.tensors, 1U + 2 * 9 + 1);
    // embedding; per block: q, o, k, v, three of the feed-forward, two norms; the last norm
    EXPECT_EQ(summary.parameters, 600U * 256 + 2 * (2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 512 + 2 * 256) + 256);
    EXPECT_TRUE(summary.chat_template);
    EXPECT_EQ(file.size(), file_bytes(llama_plan(small(type))));
  }
}

TEST_F(ModelFile, SameSeedSameBytes) {
  ASSERT_TRUE(write(small()));
  const std::string first = bytes();
  ASSERT_TRUE(write(small()));
  EXPECT_EQ(bytes(), first);
  Shape other = small();
  other.seed = 43;
  ASSERT_TRUE(write(other));
  EXPECT_NE(bytes(), first);
}

// Pinned, so that a file made from a seed today can be made again tomorrow and on another machine.
TEST_F(ModelFile, BytesNeverChange) {
  const auto digest = [&](WeightType type) {
    EXPECT_TRUE(write(small(type)));
    return artifact::sha256(bytes()).text();
  };
  EXPECT_EQ(digest(WeightType::q4_0), "6bb4988143211260cf6056e15f9139b4fe7223cc18ef6204f7f8528759552ed7");
  EXPECT_EQ(digest(WeightType::q8_0), "ebcd79cda64715594307b4dfe42c3c46ef2233f523da5b328c2f4ec09bb134b2");
  EXPECT_EQ(digest(WeightType::f16), "b4a95776f0ec8257545bdfed4f2aa0ffb8939de4c3e8a7b27601a06ebfebf609");
  EXPECT_EQ(digest(WeightType::q4_k), "e24f3e17aa8a5c212415a072b3377aef79524705467d32e44768043c29bb84b8");
}

TEST_F(ModelFile, CanHaveAnOutputMatrixOfItsOwn) {
  Shape shape = small();
  shape.untied = true;
  EXPECT_EQ(llama_plan(shape).tensors.back().name, "output.weight");
  EXPECT_EQ(llama_plan(shape).tensors.size(), llama_plan(small()).tensors.size() + 1);
}

TEST_F(ModelFile, ASlidingWindowAddsItsNormsToEachBlock) {
  Shape shape = small();
  shape.sliding_window = 64;
  EXPECT_EQ(plan_for(shape).tensors.size(), llama_plan(small()).tensors.size() + 4 * shape.layers);
  EXPECT_EQ(plan_for(small()).tensors.size(), llama_plan(small()).tensors.size());
}

TEST_F(ModelFile, TellsHowFarItIs) {
  const Plan plan = llama_plan(small());
  base::Bytes last = 0;
  ASSERT_TRUE(write_model(
      plan, path_, [&](base::Bytes bytes) { last = bytes; }, kGoOn));
  EXPECT_EQ(last, file_bytes(plan));
}

TEST_F(ModelFile, AStoppedOneLeavesNothing) {
  const std::atomic<bool> stop = true;
  const auto written = write_model(llama_plan(small()), path_, {}, stop);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::cancelled);
  EXPECT_EQ(files(), 0U);
}

// The kernel refuses the write in the middle, as a full disk does.
TEST_F(ModelFile, AWriteThatFailsLeavesTheOldFile) {
  ASSERT_TRUE(write(small()));
  const std::string before = bytes();
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const base::ScopeExit restore([&] {
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, handler);
  });
  const rlimit less{.rlim_cur = before.size() / 2, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &less), 0);
  Shape other = small();
  other.seed = 43;
  const auto written = write(other);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("writing " + path_));
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(bytes(), before);
}

TEST_F(ModelFile, ComparesItsSizeWithTheFreeSpaceFirst) {
  Plan plan = llama_plan(small());
  plan.head.tensor("huge", {1ULL << 50}, 0, 1ULL << 52);
  const auto written = write_model(plan, path_, {}, kGoOn);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::no_space);
  EXPECT_THAT(written.error().message, HasSubstr("its disk has"));
  EXPECT_EQ(files(), 0U);
}

TEST_F(ModelFile, NamesAFolderThatIsNotThere) {
  path_ = folder_ + "/no/such/m.gguf";
  EXPECT_EQ(write(small()).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace hearth::make_model
