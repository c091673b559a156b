#include "engine/circuit.h"

#include <gtest/gtest.h>

namespace hearth::engine {
namespace {

using namespace std::chrono_literals;

class CircuitTest : public testing::Test {
 protected:
  base::Mono now = base::Mono(1000s);
  Circuit circuit{CircuitLimits{}};
};

TEST_F(CircuitTest, WaitsLongerAfterEachFailureThenOpensThenLetsOneThrough) {
  EXPECT_FALSE(circuit.ask(now).at);
  circuit.failed(now);
  EXPECT_EQ(circuit.ask(now).at, now + 1s);
  EXPECT_FALSE(circuit.ask(now).open);
  EXPECT_FALSE(circuit.ask(now + 1s).at);
  circuit.failed(now);
  EXPECT_EQ(circuit.ask(now).at, now + 4s);
  circuit.failed(now);
  EXPECT_TRUE(circuit.ask(now).open);
  EXPECT_EQ(circuit.ask(now).at, now + 30s);
  EXPECT_FALSE(circuit.ask(now + 30s).open);
  circuit.failed(now + 30s);
  EXPECT_EQ(circuit.ask(now + 30s).at, now + 90s);
}

TEST_F(CircuitTest, TheOpenTimeIsBounded) {
  for (int i = 0; i < 100; ++i)
    circuit.failed(now);
  EXPECT_EQ(circuit.ask(now).at, now + 10min);
}

TEST_F(CircuitTest, SuccessForgets) {
  for (int i = 0; i < 3; ++i)
    circuit.failed(now);
  circuit.proven();
  EXPECT_FALSE(circuit.ask(now).open);
  circuit.failed(now);
  EXPECT_EQ(circuit.ask(now).at, now + 1s);
}

}  // namespace
}  // namespace hearth::engine
