#include "config/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace hearth::config {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"listen", "data_dir", "keep_alive", "class"};

TEST(Nearest, FindsTypingErrors) {
  for (const auto& [typed, meant] : {std::pair{"listn", "listen"},
                                     {"lisetn", "listen"},
                                     {"datadir", "data_dir"},
                                     {"keepalive", "keep_alive"},
                                     {"clas", "class"},
                                     {"keep-alive", "keep_alive"}}) {
    EXPECT_EQ(nearest(typed, kNames), meant) << typed;
  }
}

TEST(Nearest, GivesNoWildGuess) {
  for (const auto& typed : {std::string(), std::string("x"), std::string("temperature"), std::string(100'000, 'l')}) {
    EXPECT_EQ(nearest(typed, kNames), std::nullopt) << typed.substr(0, 20);
  }
}

TEST(Nearest, AdviceListsWhatIsAllowed) {
  EXPECT_EQ(advice("clas", kNames), "; did you mean \"class\"? allowed: listen, data_dir, keep_alive, class");
  EXPECT_EQ(advice("temperature", kNames, "keys"), "; keys: listen, data_dir, keep_alive, class");
}

}  // namespace
}  // namespace hearth::config
