#include "daemon/adapters.h"

#include <gtest/gtest.h>

namespace hearth::daemon {
namespace {

TEST(EngineFinder, NoEngineIsNoMissingModel) {
  const auto config = config::parse_config("[engine]\ncommand = [\"/nowhere/llama-server\"]\n", "test");
  ASSERT_TRUE(config) << config.error().message;
  rt::asio::io_context io;
  rt::BlockingPool pool(1);
  EngineFinder finder(*config, pool, io.get_executor());
  std::optional<base::Result<domain::EngineInfo>> found;
  rt::asio::co_spawn(io, finder.find(), [&](std::exception_ptr, auto result) { found = std::move(result); });
  io.run();
  ASSERT_TRUE(found && !found->has_value());
  EXPECT_EQ(found->error().code, base::ErrorCode::engine_failed) << "404 would have clients pull the model";
  EXPECT_EQ(finder.last()->error().code, base::ErrorCode::engine_failed);
}

}  // namespace
}  // namespace hearth::daemon
