#include "rt/blocking_pool.h"

#include <gtest/gtest.h>

#include <thread>

namespace hearth::rt {
namespace {

Task<void> look(BlockingPool& pool, std::thread::id& worker, std::thread::id& after) {
  worker = co_await pool.run([] { return std::this_thread::get_id(); });
  after = std::this_thread::get_id();
}

TEST(BlockingPool, WorksElsewhereAndResumesHere) {
  BlockingPool pool(1);
  asio::io_context io;
  std::thread::id worker;
  std::thread::id after;
  asio::co_spawn(io, look(pool, worker, after), [](std::exception_ptr failure) { EXPECT_FALSE(failure); });
  io.run();
  EXPECT_NE(worker, std::this_thread::get_id());
  EXPECT_EQ(after, std::this_thread::get_id());
}

}  // namespace
}  // namespace hearth::rt
