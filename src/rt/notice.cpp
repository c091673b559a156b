#include "rt/notice.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

namespace hearth::rt {

Task<bool> Notice::wait_until(std::chrono::steady_clock::time_point deadline) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer limit(co_await asio::this_coro::executor, deadline);
  const auto first = co_await (timer_.async_wait(kTuple) || limit.async_wait(kTuple));
  const auto state = co_await asio::this_coro::cancellation_state;
  co_return first.index() == 0 && state.cancelled() == asio::cancellation_type::none;
}

}  // namespace hearth::rt
