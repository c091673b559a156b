// Ten thousand prompts that almost match what is stored. None may be offered more than it really shares.
#include <gtest/gtest.h>

#include "prefix/fingerprint.h"
#include "prefix/store_fixture.h"

namespace hearth::prefix {
namespace {

FingerprintParts parts() {
  return {.model_digest = std::string(64, '1'),
          .engine_version = "0.7.0",
          .engine_build = "b11669",
          .backends = {"cpu-haswell", "cpu-zen4"},
          .context = 4096,
          .slots = std::nullopt,
          .flags = {"--cache-type-k", "q8_0", "--lora", "/a.gguf"},
          .files = {{"/a.gguf", 1000, 5}}};
}

// One thing changed; the kinds are those that make a state of another run useless or wrong.
FingerprintParts changed(std::mt19937& random) {
  FingerprintParts other = parts();
  switch (random() % 12) {
    case 0:
      other.model_digest[random() % 64] = 'e';
      break;  // another quantisation is another file
    case 1:
      other.engine_version += "1";
      break;
    case 2:
      other.engine_build = "b11670";
      break;
    case 3:
      other.backends = {"cpu-haswell"};
      break;
    case 4:
      other.flags.insert(other.flags.end(), {"--chat-template", "chatml"});
      break;
    case 5:
      other.context = 4096 + static_cast<std::uint32_t>(random() % 1000) + 1;
      break;
    case 6:
      other.context.reset();
      break;
    case 7:
      other.slots = 1 + static_cast<std::uint32_t>(random() % 16);
      break;
    case 8:
      other.flags[1] = "f16";
      break;
    case 9:
      other.flags = {"--cache-type-k", "q8_0"};
      other.files.clear();
      break;  // without the adapter
    case 10:
      other.files[0].modified_ns += 1;
      break;  // another adapter under the same name
    default:
      other.flags.insert(other.flags.end(), {"--rope-freq-scale", "0.5"});
      break;
  }
  return other;
}

TEST(NearMiss, TenThousandRandomOnesGiveNoFalseHit) {
  StoreFixture fixture;
  fixture.limits.disk = 1'000'000'000;
  ASSERT_TRUE(fixture.open());
  std::mt19937 random{20};
  const std::string right = *make_fingerprint(parts());
  std::vector<Tokens> stored;
  for (int index = 0; index < 40; ++index) {
    stored.push_back(random_tokens(random, 64 + random() % 1200));
    ASSERT_TRUE(fixture.save(right, stored.back()));
  }
  for (int round = 0; round < 10'000; ++round) {
    Tokens prompt = stored[random() % stored.size()];
    if (random() % 2 == 0) {
      const std::size_t at = random() % prompt.size();
      prompt[at] = prompt[at] == 7 ? 8 : 7;
      const auto match = fixture.store->find(right, prompt, 32);
      const std::size_t offered = match ? match->tokens : 0;
      ASSERT_LE(offered, at) << "more than what is the same";
      if (at >= 64) {
        ASSERT_EQ(offered, at) << "and not less, where whole blocks are the same";
      }
    } else {
      const auto wrong = make_fingerprint(changed(random));
      ASSERT_TRUE(wrong);
      ASSERT_NE(*wrong, right);
      ASSERT_FALSE(fixture.store->find(*wrong, prompt, 1));
    }
  }
}

TEST(Fingerprint, IsStableAndWantsToKnowTheModelAndTheBuild) {
  FingerprintParts same = parts();
  std::swap(same.backends[0], same.backends[1]);
  EXPECT_EQ(*make_fingerprint(parts()), *make_fingerprint(same));
  FingerprintParts unknown = parts();
  unknown.engine_build.clear();
  EXPECT_EQ(make_fingerprint(unknown).error().code, base::ErrorCode::unsupported);
}

TEST(Fingerprint, PartsDoNotRunIntoEachOther) {
  FingerprintParts one = parts();
  one.flags = {"ab", "c"};
  FingerprintParts other = parts();
  other.flags = {"a", "bc"};
  EXPECT_NE(*make_fingerprint(one), *make_fingerprint(other));
}

}  // namespace
}  // namespace hearth::prefix
