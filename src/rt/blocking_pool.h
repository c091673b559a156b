#pragma once
// A few threads for system calls that block (files, name look-up, hashing), so that the I/O thread never does.
//
// `run` is called on the I/O thread and resumes there. The work cannot be cancelled once it runs: a cancelled caller is
// resumed only when the work is over, so that what it borrowed stays valid. stop() waits for what is running and queued.
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
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
    co_return co_await asio::co_spawn(
        pool_, [](F inner) -> Task<std::invoke_result_t<F>> { co_return inner(); }(std::move(work)),
        asio::use_awaitable);
  }

  void stop() { pool_.join(); }

 private:
  asio::thread_pool pool_;
};

}  // namespace hearth::rt
