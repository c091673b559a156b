#include "rt/blocking_pool.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/detached.hpp>
#include <future>
#include <stdexcept>
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

Task<void> throw_there(BlockingPool& pool) {
  (void)co_await pool.run([]() -> int { throw std::runtime_error("the disk is full"); });
}

TEST(BlockingPool, WhatTheWorkThrowsIsThrownHere) {
  BlockingPool pool(1);
  asio::io_context io;
  std::exception_ptr thrown;
  asio::co_spawn(io, throw_there(pool), [&](std::exception_ptr failure) { thrown = failure; });
  io.run();
  EXPECT_THROW(std::rethrow_exception(thrown), std::runtime_error);
}

struct Gate {
  std::promise<void> begun;
  std::promise<void> open;
};

Task<void> wait_at(BlockingPool& pool, Gate& gate, bool& over) {
  (void)co_await pool.run([&] {
    gate.begun.set_value();
    gate.open.get_future().wait();
    over = true;
    return true;
  });
}

// The pool has threads to spare: the cancellation must not reach the work by way of another of them.
TEST(BlockingPool, ACancelledCallerWaitsForItsWork) {
  BlockingPool pool(4);
  asio::io_context io;
  Gate gate;
  bool over = false;
  bool ended = false;
  asio::cancellation_signal cancel;
  asio::co_spawn(io, wait_at(pool, gate, over),
                 asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr) { ended = true; }));
  io.poll();
  gate.begun.get_future().wait();
  cancel.emit(asio::cancellation_type::terminal);
  // Whatever the cancellation queued on the pool is done when this is.
  std::thread::id worker;
  std::thread::id after;
  asio::co_spawn(io, look(pool, worker, after), asio::detached);
  while (after == std::thread::id())
    io.run_one();
  EXPECT_FALSE(ended);
  gate.open.set_value();
  io.run();
  EXPECT_TRUE(over);
  EXPECT_TRUE(ended);
}

Task<void> work_long(BlockingPool& pool, std::promise<void>& begun) {
  (void)co_await pool.run_long([&](const GoOn& go_on) {
    begun.set_value();
    while (go_on())
      std::this_thread::yield();
    return true;
  });
}

TEST(BlockingPool, LongWorkIsToldThatItsCallerIsCancelled) {
  BlockingPool pool(1);
  asio::io_context io;
  std::promise<void> begun;
  bool ended = false;
  asio::cancellation_signal cancel;
  asio::co_spawn(io, work_long(pool, begun),
                 asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr) { ended = true; }));
  io.poll();
  begun.get_future().wait();
  cancel.emit(asio::cancellation_type::terminal);
  io.run();
  EXPECT_TRUE(ended);
}

TEST(BlockingPool, ShortWorkDoesNotWaitForLongWorkWhichEndsWhenAllIsToEnd) {
  BlockingPool pool(1);
  asio::io_context io;
  std::promise<void> first;
  std::promise<void> second;
  asio::co_spawn(io, work_long(pool, first), asio::detached);
  asio::co_spawn(io, work_long(pool, second), asio::detached);
  io.poll();
  first.get_future().wait();
  std::thread::id worker;
  std::thread::id after;
  asio::co_spawn(io, look(pool, worker, after), asio::detached);
  while (after == std::thread::id())
    io.run_one();
  pool.end_long_work();
  io.run();
  second.get_future().wait();
}

}  // namespace
}  // namespace hearth::rt
