#include "lab/report.h"

#include <gmock/gmock.h>

namespace hearth::lab {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Report, ShowsEveryPolicyAndEscapesNames) {
  Experiment experiment{.trace = "<script>", .seed = 7, .models = 1, .requests = 3};
  ReplayResult lru{.contestant = "lru", .cold_starts = 2};
  lru.by_class[0].cold_start_s = 1.5;
  experiment.results = {lru, {.contestant = "hearth"}};
  experiment.optimum = Optimum{.cold_start_s = 1};
  const auto html = html_report({experiment});
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;, seed 7"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  for (const auto* part : {">lru<", ">hearth<", ">optimum<", "voice: 1.50 s", "</svg>", "</html>"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_THAT(html, Not(HasSubstr("http"))) << "nothing is fetched";
}

TEST(Report, WithoutColdStartsTheBarsAreEmpty) {
  Experiment experiment{.trace = "t"};
  experiment.results = {{.contestant = "lru"}};
  EXPECT_THAT(html_report({experiment}), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace hearth::lab
