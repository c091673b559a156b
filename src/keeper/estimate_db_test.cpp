// The estimates' file: what is written is read again, what is damaged, newer or senseless harms nothing.
#include "keeper/estimate_db.h"

#include <gmock/gmock.h>

#include <fstream>

namespace hearth::keeper {
namespace {

using namespace std::chrono_literals;
using policy::Charge;
using policy::Footprint;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class EstimateDbTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  EstimateDb::Opened open() {
    auto opened = EstimateDb::open(folder, now);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : EstimateDb::Opened{};
  }
  std::unique_ptr<base::Database> raw(int version) {
    return base::Database::open(file.string(), {.name = "it", .version = version, .schema = ""}).value();
  }
  static policy::Learnt learnt(std::string_view model, std::uint64_t context, base::Bytes weights = 700) {
    policy::Learnt one{.id = domain::ModelId::parse(model).value(),
                       .options = {.context = context, .slots = 2, .other = "--flash-attn on"},
                       .times = 3};
    one.measured[Charge::weights] = Footprint::host(weights);
    one.measured[Charge::kv] = Footprint{.at = {1, 2}};
    one.prior[Charge::weights] = Footprint::host(600);
    return one;
  }

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("hearth-estimates-" + std::to_string(::getpid()));
  const std::filesystem::path file = folder / "estimates.sqlite";
  const base::Wall now{std::chrono::seconds(1'700'000'000)};
};

TEST_F(EstimateDbTest, WhatIsWrittenIsReadAgainAndReplacesWhatWasThere) {
  {
    const auto opened = open();
    ASSERT_TRUE(opened.db->write(learnt("a", 4096), now));
    ASSERT_TRUE(opened.db->write(learnt("a", 8192), now + 1s));
    ASSERT_TRUE(opened.db->write(learnt("a", 4096, 800), now + 2s));
  }
  const auto again = open();
  EXPECT_FALSE(again.set_aside);
  EXPECT_THAT(again.db->all().value(), ElementsAre(learnt("a", 8192), learnt("a", 4096, 800)));
}

TEST_F(EstimateDbTest, AModelIsForgotten) {
  const auto opened = open();
  ASSERT_TRUE(opened.db->write(learnt("a", 4096), now));
  ASSERT_TRUE(opened.db->write(learnt("b", 4096), now));
  ASSERT_TRUE(opened.db->forget(learnt("a", 0).id));
  EXPECT_THAT(opened.db->all().value(), ElementsAre(learnt("b", 4096)));
}

TEST_F(EstimateDbTest, TheOldestGoBeyondTheLimit) {
  const auto opened = open();
  for (std::uint64_t context = 1; context <= policy::Estimator::kMostEntries + 2; ++context)
    ASSERT_TRUE(opened.db->write(learnt("a", context), now + std::chrono::seconds(context)));
  const auto all = opened.db->all().value();
  ASSERT_THAT(all, SizeIs(policy::Estimator::kMostEntries));
  EXPECT_EQ(all.front().options.context, 3U);
}

TEST_F(EstimateDbTest, ADamagedOneIsSetAside) {
  std::filesystem::create_directories(folder);
  std::ofstream(file) << std::string(10'000, 'x');
  const auto opened = open();
  ASSERT_TRUE(opened.set_aside);
  EXPECT_TRUE(std::filesystem::exists(*opened.set_aside));
  EXPECT_TRUE(opened.db->write(learnt("a", 1), now));
}

TEST_F(EstimateDbTest, ANewerOneIsLeftAsItIs) {
  ASSERT_TRUE(open().db->write(learnt("a", 1), now));
  (void)raw(2);
  const auto refused = EstimateDb::open(folder, now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::unsupported);
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(EstimateDbTest, RowsThatMakeNoSenseAreLeftOut) {
  (void)open();
  const auto db = raw(1);
  for (const char* row :
       {"('no name/', 1, 1, 0, '', 1, 1, '{\"weights\":[1]}', '{}')",
        "('a', -1, 1, 0, '', 1, 1, '{\"weights\":[1]}', '{}')", "('b', 1, 0, 0, '', 1, 1, '{\"weights\":[1]}', '{}')",
        "('c', 1, 1, 0, '', 1, 1, '{\"weights\":[-1]}', '{}')",
        "('d', 1, 1, 0, '', 1, 1, '{\"weights\":[1,2,3,4,5,6]}', '{}')",
        "('e', 1, 1, 0, '', 1, 1, '{\"weights\":[2000000000000000]}', '{}')", "('f', 1, 1, 0, '', 1, 1, '{}', '{}')",
        "('g', 1, 1, 0, '', 1, 1, '[', '{}')"})
    ASSERT_TRUE(db->execute((std::string("INSERT INTO estimate VALUES") + row).c_str())) << row;
  EXPECT_THAT(open().db->all().value(), IsEmpty());
}

}  // namespace
}  // namespace hearth::keeper
