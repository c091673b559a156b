#include "keeper/layer_changer.h"

#include <fmt/format.h>

#include "base/scope_exit.h"
#include "rt/deadline.h"

namespace hearth::keeper {

using base::ErrorCode;
using engine::TierOp;

namespace {

constexpr std::chrono::minutes kLongestChange{10};
constexpr std::chrono::seconds kLongestStatus{2};
constexpr std::chrono::milliseconds kLook{20};
// Read-ahead that brings nothing for so long has brought all that it will.
constexpr std::chrono::seconds kArrived{1};

domain::LayerWork work_of(const engine::TierReply& reply, std::optional<base::Bytes> bytes) {
  return {.ms = base::to_ms(reply.end - reply.begin), .bytes = bytes};
}

// The arena holds the packed weights; an engine that packs nothing uses them straight from the model's mapping.
domain::LayerReading reading_of(const engine::TierReply& reply) {
  const bool packed = reply.arena && *reply.arena > 0;
  const auto total = packed ? reply.arena : reply.model;
  const auto bytes = packed ? reply.arena_after : reply.model_after;
  if (!total || !bytes) return {};
  domain::LayerReading reading = domain::reading_of(*bytes, *total);
  reading.locked = reply.locked;
  return reading;
}

}  // namespace

rt::Task<base::Bytes> LayerChanger::resident_bytes(const std::string& path) {
  const auto residency = co_await pool_.run([&] { return pages_.residency(path); });
  co_return residency ? residency->resident : 0;
}

rt::Task<WorkResult> LayerChanger::warm_pages(std::string path) {
  const base::Mono begun = clock_.now();
  const base::Bytes before = co_await resident_bytes(path);
  const auto asked = co_await pool_.run([&] { return pages_.read_ahead(path); });
  if (!asked) co_return std::unexpected(asked.error());
  base::Bytes now = before;
  base::Mono moved = clock_.now();
  while (clock_.now() - moved < kArrived && clock_.now() - begun < kLongestChange) {
    const auto residency = co_await pool_.run([&] { return pages_.residency(path); });
    if (!residency) co_return std::unexpected(residency.error());
    if (residency->resident != now) moved = clock_.now();
    now = residency->resident;
    if (now >= residency->total) break;
    co_await rt::pause(kLook);
  }
  domain::LayerWork work{.ms = base::to_ms(clock_.now() - begun), .bytes = now > before ? now - before : 0};
  co_return work;
}

rt::Task<WorkResult> LayerChanger::cool_pages(std::string path) {
  const base::Mono begun = clock_.now();
  const base::Bytes before = co_await resident_bytes(path);
  const auto dropped = co_await pool_.run([&] { return pages_.drop(path); });
  if (!dropped) co_return std::unexpected(dropped.error());
  const base::Bytes after = co_await resident_bytes(path);
  domain::LayerWork work{.ms = base::to_ms(clock_.now() - begun), .bytes = before > after ? before - after : 0};
  co_return work;
}

rt::Task<base::Result<engine::TierReply>> LayerChanger::command(std::shared_ptr<Resident> resident, TierOp op,
                                                                engine::TierOptions options) {
  const std::shared_ptr<engine::TierLink> link = resident->supervisor().tier();
  if (!link) {
    co_return base::fail(ErrorCode::unsupported, fmt::format("the engine cannot {}: it runs without the tier library; "
                                                             "`hearth doctor` says what is missing",
                                                             engine::name_of(op)));
  }
  auto reply = co_await link->command(op, options, clock_.now() + kLongestChange);
  if (!reply) co_return base::pass(reply);
  if (reply->reason == engine::TierReason::kBusy || reply->reason == engine::TierReason::kCancelled) {
    co_return base::fail(ErrorCode::in_use, "a request came meanwhile and went first; ask again when it is done");
  }
  if (reply->reason == engine::TierReason::kPinned) {
    co_return base::fail(ErrorCode::pinned_conflict, "the model's weights are pinned; unpin it first");
  }
  if (!reply->done())
    co_return base::fail(ErrorCode::unsupported,
                         fmt::format("the engine cannot {}: {}", engine::name_of(op), reply->why));
  co_return reply;
}

rt::Task<WorkResult> LayerChanger::hibernate(std::shared_ptr<Resident> resident, Pages pages) {
  const std::shared_ptr<PrefixSession> prefix = resident->prefix;
  if (prefix) prefix->pause_work();
  const base::ScopeExit resumed([&] {
    if (prefix) prefix->resume_work();
  });
  if (prefix) co_await prefix->work_ended();
  if (resident->in_flight() > 0) {
    co_return base::fail(ErrorCode::in_use, "the model is answering; its weights can leave when it is done");
  }
  const bool kept = pages == Pages::keep;
  const engine::TierOptions options{.only_mark = kept};
  auto reply = co_await command(resident, TierOp::kHibernate, options);
  if (!reply) co_return base::pass(reply);
  resident->hibernated_left = kept ? 0 : reading_of(*reply).bytes;
  // A request that came while the pages left has begun to bring them back.
  resident->set_hibernated(resident->in_flight() == 0, kept);
  co_return work_of(*reply, kept ? std::nullopt : std::optional(reply->moved));
}

rt::Task<WorkResult> LayerChanger::wake(std::shared_ptr<Resident> resident) {
  resident->set_hibernated(false);
  resident->waking = true;
  const base::ScopeExit over([&] { resident->waking = false; });
  auto reply = co_await command(resident, TierOp::kWake);
  if (!reply) co_return base::pass(reply);
  // Pages that had stayed tell nothing of how long it takes to read them.
  if (reply->moved > 0 || !resident->last_wake_s) resident->last_wake_s = base::to_ms(reply->end - reply->begin) / 1000;
  co_return work_of(*reply, reply->moved);
}

rt::Task<WorkResult> LayerChanger::pin(std::shared_ptr<Resident> resident) {
  resident->set_hibernated(false);
  auto reply = co_await command(resident, TierOp::kPin);
  if (!reply) co_return base::pass(reply);
  co_return work_of(*reply, reply->locked);
}

rt::Task<WorkResult> LayerChanger::unpin(std::shared_ptr<Resident> resident) {
  auto reply = co_await command(resident, TierOp::kUnpin);
  if (!reply) co_return base::pass(reply);
  co_return work_of(*reply, reply->locked);
}

rt::Task<domain::LayerReading> LayerChanger::measure_weights(std::shared_ptr<Resident> resident) {
  const std::shared_ptr<engine::TierLink> link = resident->supervisor().tier();
  // One command at a time: while another runs, its own answer says what changed.
  if (!link || link->running()) co_return domain::LayerReading{};
  const auto reply = co_await link->command(TierOp::kStatus, {}, clock_.now() + kLongestStatus);
  if (!reply || !reply->done()) co_return domain::LayerReading{};
  co_return reading_of(*reply);
}

}  // namespace hearth::keeper
