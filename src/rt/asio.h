#pragma once
// The few names of Asio that Hearth's coroutines are written with. One I/O thread runs everything that is not in a
// BlockingPool; objects in src/rt are confined to that thread unless they say otherwise.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace hearth::rt {

namespace asio = boost::asio;
using boost::system::error_code;

template <typename T>
using Task = asio::awaitable<T>;

// The completion token of every operation whose failure is expected: `auto [error, n] = co_await op(…, kTuple);`
inline constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

}  // namespace hearth::rt
