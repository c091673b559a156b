#include "domain/model_id.h"

#include <gtest/gtest.h>

namespace hearth::domain {
namespace {

TEST(ModelId, AcceptsNamesWithAndWithoutTag) {
  EXPECT_EQ(ModelId::parse("qwen3-4b:q4_k_m").value().text(), "qwen3-4b:q4_k_m");
  EXPECT_EQ(ModelId::parse("Hearth-Mini").value().text(), "hearth-mini");
}

TEST(ModelId, RefusesWhatCouldBecomeAPathOrAnOption) {
  for (const char* text : {"", "..", "../x", "a/b", "-rf", ":x", "x:", "a:b:c", "a b", "a\n", ".hidden", "a\\b"}) {
    EXPECT_FALSE(ModelId::parse(text)) << text;
  }
  EXPECT_FALSE(ModelId::parse(std::string(200, 'a')));
}

TEST(ModelId, ComesFromAFileName) {
  EXPECT_EQ(ModelId::from_file_name("/tmp/My Model (v2).GGUF").value().text(), "my-model--v2-");
  EXPECT_EQ(ModelId::from_file_name("hearth-mini.gguf").value().text(), "hearth-mini");
  EXPECT_FALSE(ModelId::from_file_name("/tmp/.gguf"));
}

TEST(ModelId, FileStemsAreDistinct) { EXPECT_EQ(ModelId::parse("a:b").value().file_stem(), "a@b"); }

}  // namespace
}  // namespace hearth::domain
