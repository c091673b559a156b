#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace hearth::base {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(Fd, ClosesWhenItGoes) {
  int raw = -1;
  {
    Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    raw = fd.get();
    ASSERT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(Fd, MoveAssignmentClosesWhatItReplaces) {
  Fd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Fd second(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int replaced = first.get();
  const int kept = second.get();
  first = std::move(second);
  EXPECT_FALSE(is_open(replaced));
  EXPECT_EQ(first.get(), kept);
}

}  // namespace
}  // namespace hearth::base
