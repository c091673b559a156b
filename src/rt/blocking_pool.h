#pragma once
// A few threads for system calls that block (files, name look-up, hashing), so that the I/O thread never does.
//
// `run` is called on the I/O thread and resumes there; what the work throws is thrown there. The work cannot be
// cancelled once it is queued: a cancelled caller is resumed only when the work is over, so that what it borrowed stays
// valid, and its next wait tells it. stop() waits for what is running and queued.
//
// Not a coroutine spawned on the pool: Asio (1.81) would carry a cancellation over to the pool's threads, where the end
// of a coroutine that never waited throws it past every handler.
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "rt/asio.h"

namespace hearth::rt {

class BlockingPool {
 public:
  explicit BlockingPool(std::size_t threads) : pool_(threads) {}
  ~BlockingPool() { stop(); }

  template <typename F>
  [[nodiscard]] Task<std::invoke_result_t<F>> run(F work) {
    using Value = std::optional<std::invoke_result_t<F>>;  // empty: it threw
    Value value = co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr, Value)>(
        Start{pool_}, asio::use_awaitable, std::move(work));
    co_return std::move(*value);
  }

  void stop() { pool_.join(); }

 private:
  // Does the work on the pool and hands its outcome to `handler`, whose loop has work until then.
  struct Start {
    asio::thread_pool& pool;

    template <typename Handler, typename F>
    void operator()(Handler handler, F work) const {
      auto executor = asio::get_associated_executor(handler);
      auto home = asio::prefer(executor, asio::execution::outstanding_work.tracked);
      asio::post(pool, [handler = std::move(handler), work = std::move(work), home = std::move(home)]() mutable {
        std::optional<std::invoke_result_t<F>> value;
        std::exception_ptr failure;
        try {
          value.emplace(work());
        } catch (...) {
          failure = std::current_exception();
        }
        asio::post(home, [handler = std::move(handler), failure, value = std::move(value)]() mutable {
          std::move(handler)(failure, std::move(value));
        });
      });
    }
  };

  asio::thread_pool pool_;
};

}  // namespace hearth::rt
