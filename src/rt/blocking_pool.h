#pragma once
// A few threads for system calls that block (files, name look-up, hashing), so that the I/O thread never does.
//
// Work of minutes (hashing a model) is given to run_long: it has a thread of its own, so that short work never waits
// for it, one is done after the other, and it is asked to stop when nobody wants it any more.
//
// `run` is called on the I/O thread and resumes there; what the work throws is thrown there. The work cannot be
// cancelled once it is queued: a cancelled caller is resumed only when the work is over, so that what it borrowed stays
// valid, and its next wait tells it. stop() waits for what is running and queued.
//
// Not a coroutine spawned on the pool: Asio (1.81) would carry a cancellation over to the pool's threads, where the end
// of a coroutine that never waited throws it past every handler.
#include <atomic>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "rt/asio.h"

namespace hearth::rt {

// What long work asks now and then: false when it is to stop, since its caller was cancelled, or all such work ends.
using GoOn = std::function<bool()>;

class BlockingPool {
 public:
  explicit BlockingPool(std::size_t threads) : pool_(threads) {}
  ~BlockingPool() { stop(); }

  template <typename F>
  [[nodiscard]] Task<std::invoke_result_t<F>> run(F work) {
    using Value = std::optional<std::invoke_result_t<F>>;  // empty: it threw
    const Start start{pool_, nullptr};
    Value value = co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr, Value)>(
        start, asio::use_awaitable, std::move(work));
    co_return std::move(*value);
  }

  // As run(); `work` takes a `const GoOn&`.
  template <typename F>
  [[nodiscard]] Task<std::invoke_result_t<F, const GoOn&>> run_long(F work) {
    using Value = std::optional<std::invoke_result_t<F, const GoOn&>>;
    std::atomic<bool> unwanted = false;
    const GoOn go_on = [&] { return !unwanted && !long_work_ends_; };
    const auto asked = [&] { return work(go_on); };
    const Start start{long_, &unwanted};
    Value value = co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr, Value)>(
        start, asio::use_awaitable, asked);
    co_return std::move(*value);
  }

  // Asks all long work to stop, also what is still to come.
  void end_long_work() { long_work_ends_ = true; }

  void stop() {
    pool_.join();
    long_.join();
  }

 private:
  // Does the work on the pool and hands its outcome to `handler`, whose loop has work until then.
  struct Start {
    asio::thread_pool& pool;
    std::atomic<bool>* unwanted;  // set when the caller is cancelled; null: it is not told

    template <typename Handler, typename F>
    void operator()(Handler handler, F work) const {
      auto executor = asio::get_associated_executor(handler);
      auto slot = asio::get_associated_cancellation_slot(handler);
      const bool tells = unwanted != nullptr && slot.is_connected();
      if (tells) slot.assign([flag = unwanted](asio::cancellation_type) { *flag = true; });
      auto home = asio::prefer(executor, asio::execution::outstanding_work.tracked);
      asio::post(
          pool, [handler = std::move(handler), work = std::move(work), home = std::move(home), slot, tells]() mutable {
            std::optional<std::invoke_result_t<F>> value;
            std::exception_ptr failure;
            try {
              value.emplace(work());
            } catch (...) {
              failure = std::current_exception();
            }
            asio::post(home, [handler = std::move(handler), failure, value = std::move(value), slot, tells]() mutable {
              if (tells) slot.clear();
              std::move(handler)(failure, std::move(value));
            });
          });
    }
  };

  asio::thread_pool pool_;
  asio::thread_pool long_{1};
  std::atomic<bool> long_work_ends_ = false;
};

}  // namespace hearth::rt
