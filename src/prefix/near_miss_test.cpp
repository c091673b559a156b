// Ten thousand prompts that almost match what is stored. None may be offered more than it really shares.
#include <gtest/gtest.h>

#include "prefix/near_miss.h"
#include "prefix/store_fixture.h"

namespace hearth::prefix {
namespace {

TEST(NearMiss, TenThousandRandomOnesGiveNoFalseHit) {
  StoreFixture fixture;
  fixture.limits.disk = 1'000'000'000;
  ASSERT_TRUE(fixture.open());
  std::mt19937 random{20};
  const std::string right = *make_fingerprint(run_parts());
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
      const auto wrong = make_fingerprint(changed_run(random));
      ASSERT_TRUE(wrong);
      ASSERT_NE(*wrong, right);
      ASSERT_FALSE(fixture.store->find(*wrong, prompt, 1));
    }
  }
}

TEST(Fingerprint, IsStableAndWantsToKnowTheModelAndTheBuild) {
  FingerprintParts same = run_parts();
  std::swap(same.backends[0], same.backends[1]);
  EXPECT_EQ(*make_fingerprint(run_parts()), *make_fingerprint(same));
  FingerprintParts unknown = run_parts();
  unknown.engine_build.clear();
  EXPECT_EQ(make_fingerprint(unknown).error().code, base::ErrorCode::unsupported);
}

TEST(Fingerprint, PartsDoNotRunIntoEachOther) {
  FingerprintParts one = run_parts();
  one.flags = {"ab", "c"};
  FingerprintParts other = run_parts();
  other.flags = {"a", "bc"};
  EXPECT_NE(*make_fingerprint(one), *make_fingerprint(other));
}

}  // namespace
}  // namespace hearth::prefix
