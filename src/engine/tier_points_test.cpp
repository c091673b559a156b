#include "engine/tier_points.h"

#include <gmock/gmock.h>

#include "engine/backends.h"

namespace hearth::engine {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

LinkedObject object(std::string path, std::set<std::string, std::less<>> offered,
                    std::set<std::string, std::less<>> relocated) {
  ElfSymbols symbols;
  symbols.dynamic = true;
  symbols.offered = std::move(offered);
  symbols.relocated = std::move(relocated);
  return {.path = std::move(path), .symbols = std::move(symbols)};
}

std::vector<LinkedObject> whole_engine() {
  return {object("llama-server", {}, {}),
          object("libllama.so.0", {"llama_process", "llama_decode", "llama_tokenize"},
                 {"posix_memalign", "ggml_backend_tensor_set", "ggml_backend_buffer_set_usage",
                  "llama_state_seq_get_data_ext", "llama_state_seq_set_data_ext"}),
          object("libllama-server-impl.so", {},
                 {"llama_process", "llama_tokenize", "llama_state_seq_save_file", "llama_state_seq_load_file"}),
          object("libggml.so.0", {"ggml_backend_load_all_from_path"}, {"ggml_backend_load_all_from_path"}),
          object("libggml-base.so.0", {"ggml_get_name", "ggml_get_data", "ggml_nbytes"}, {})};
}

TEST(TierPoints, AllThereMeansAvailable) {
  const auto support = judge_tier(whole_engine());
  EXPECT_TRUE(support.available);
  EXPECT_THAT(support.missing, IsEmpty());
  EXPECT_THAT(support.present, SizeIs(13));
  EXPECT_THAT(support.present, Contains("llama_process"));
}

TEST(TierPoints, OlderBuildsDecodeByTheOtherName) {
  auto engine = whole_engine();
  engine[2].symbols.relocated.erase("llama_process");
  EXPECT_FALSE(judge_tier(engine).available);
  engine[2].symbols.relocated.insert("llama_decode");
  EXPECT_TRUE(judge_tier(engine).available);
  EXPECT_THAT(judge_tier(engine).present, Not(Contains("llama_process")));
}

TEST(TierPoints, ADirectCallCannotBeInterposed) {
  auto engine = whole_engine();
  engine[3].symbols.relocated.clear();
  const auto support = judge_tier(engine);
  EXPECT_FALSE(support.available);
  EXPECT_THAT(support.missing,
              testing::ElementsAre(
                  "ggml_backend_load_all_from_path: no object of the engine calls it through the dynamic linker"));
}

TEST(TierPoints, StaticEnginesSayWhy) {
  const std::vector<LinkedObject> linked_in = {object("llama-server", {}, {"posix_memalign", "malloc"})};
  EXPECT_THAT(judge_tier(linked_in).present, testing::ElementsAre("posix_memalign"));
  EXPECT_THAT(judge_tier(linked_in).missing,
              Contains("llama_tokenize: the engine's libraries are linked statically into it"));
  std::vector<LinkedObject> static_program = {object("llama-server", {}, {})};
  static_program[0].symbols.dynamic = false;
  EXPECT_THAT(judge_tier(static_program).missing, Contains(HasSubstr("static program")));
  EXPECT_THAT(judge_tier(static_program).present, IsEmpty());
}

TEST(TierPoints, UnknownIsMissingWithTheReason) {
  const auto support = unknown_tier("it cannot be read");
  EXPECT_FALSE(support.available);
  EXPECT_THAT(support.missing, Contains("posix_memalign: it cannot be read"));
}

TEST(Backends, AreKnownByTheirFileName) {
  EXPECT_EQ(backend_name("libggml-cpu-zen4.so"), "cpu-zen4");
  EXPECT_EQ(backend_name("libggml-vulkan.so"), "vulkan");
  for (const char* other : {"libggml-base.so", "libggml.so", "libggml-.so", "libggml-cpu.so.0", "libllama.so", ""})
    EXPECT_EQ(backend_name(other), "") << other;
}

}  // namespace
}  // namespace hearth::engine
