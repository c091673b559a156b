#pragma once
// Bounds a wait in time.
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <optional>
#include <variant>

#include "rt/asio.h"

namespace hearth::rt {

// Runs `task` for at most `limit`: its value, or nothing when the time was up (it is then cancelled and awaited).
// Cancelling the caller cancels the task. The task must return normally when cancelled.
template <typename T>
[[nodiscard]] Task<std::optional<T>> within(std::chrono::steady_clock::duration limit, Task<T> task) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(co_await asio::this_coro::executor, limit);
  auto first = co_await (std::move(task) || timer.async_wait(kTuple));
  if (first.index() == 1) co_return std::nullopt;
  co_return std::optional<T>(std::get<0>(std::move(first)));
}

// The same for a task without a value: false when the time was up.
[[nodiscard]] inline Task<bool> within(std::chrono::steady_clock::duration limit, Task<void> task) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(co_await asio::this_coro::executor, limit);
  const auto first = co_await (std::move(task) || timer.async_wait(kTuple));
  co_return first.index() == 0;
}

// Waits; false when cancelled.
[[nodiscard]] inline Task<bool> pause(std::chrono::steady_clock::duration duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  const auto [error] = co_await timer.async_wait(kTuple);
  co_return !error;
}

}  // namespace hearth::rt
