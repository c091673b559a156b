#pragma once
// A few threads for system calls that block (files, name look-up, hashing), so that the I/O thread never does.
//
// `run` is called on the I/O thread and resumes there. The work cannot be cancelled once it runs: a cancelled caller is
// resumed only when the work is over, so that what it borrowed stays valid. stop() waits for what is running and
// queued.
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
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
    // In an optional, because co_spawn makes an empty result when the work throws.
    using Value = std::optional<std::invoke_result_t<F>>;
    Value value = co_await asio::co_spawn(
        pool_, [](F inner) -> Task<Value> { co_return inner(); }(std::move(work)), asio::use_awaitable);
    co_return std::move(*value);
  }

  void stop() { pool_.join(); }

 private:
  asio::thread_pool pool_;
};

}  // namespace hearth::rt
