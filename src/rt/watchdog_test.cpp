#include "rt/watchdog.h"

#include <gtest/gtest.h>

namespace hearth::rt {
namespace {

using namespace std::chrono_literals;

TEST(Watchdog, TellsOfSilenceOnceAndNotEarly) {
  asio::io_context io(1);
  int told = 0;
  const auto begun = std::chrono::steady_clock::now();
  const Watchdog watchdog(io.get_executor(), 4ms, [&] { ++told; });
  io.run();
  EXPECT_EQ(told, 1);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 4ms);
}

TEST(Watchdog, StaysQuietWhileThereAreSignsOfLife) {
  asio::io_context io(1);
  bool told = false;
  Watchdog watchdog(io.get_executor(), 4ms, [&] { told = true; });
  for (int tick = 0; tick < 12; ++tick) {  // three limits' worth of ticks
    io.run_one();
    watchdog.touch();
  }
  EXPECT_FALSE(told);
}

TEST(Watchdog, IsSilentOnceItIsGone) {
  asio::io_context io(1);
  bool told = false;
  {
    const Watchdog watchdog(io.get_executor(), 0ms, [&] { told = true; });
  }
  io.run();
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace hearth::rt
