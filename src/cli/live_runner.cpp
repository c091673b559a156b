#include "cli/live_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/json_view.h"
#include "lab/observed.h"

namespace hearth::cli {
namespace {

using namespace std::chrono_literals;
using domain::Json;
using domain::ServiceClass;

constexpr auto kSlice = 20ms;
constexpr base::Duration kTimelineIsThere = 200ms;  // after an answer's last byte
constexpr base::Duration kLook = 1s;                // between two looks at the memory

std::optional<std::string> wish_of(ServiceClass service_class) {
  if (service_class == ServiceClass::voice) return "-1s";
  if (service_class == ServiceClass::interactive) return "5m";
  return std::nullopt;
}

std::uint32_t answer_tokens(const lab::TraceRequest& request, const lab::ModelSize& size) {
  if (request.generated_tokens > 0 || request.busy_s <= 0 || !size.measured) return request.generated_tokens;
  const double left = static_cast<double>(request.busy_s) - lab::first_token_s(size, {}, request.prompt_tokens);
  return static_cast<std::uint32_t>(std::max(1.0, left * size.measured->decode_per_s));
}

const lab::TraceModel* model_named(const lab::Trace& trace, const std::optional<std::string>& name) {
  const auto found = std::ranges::find_if(
      trace.models, [&](const lab::TraceModel& model) { return name && model.id.text() == *name; });
  return found == trace.models.end() ? nullptr : &*found;
}

// "request for MODEL"
const lab::TraceModel* model_behind(const lab::Trace& trace, const Json& event) {
  constexpr std::string_view kRequest = "request for ";
  const std::string by = text_at(event, {"by"}).value_or("");
  return by.starts_with(kRequest) ? model_named(trace, by.substr(kRequest.size())) : nullptr;
}

void count(const lab::Trace& trace, const Json& event, lab::ReplayResult& result) {
  const auto* model = model_named(trace, text_at(event, {"model"}));
  if (model == nullptr) return;
  const std::string what = text_at(event, {"what"}).value_or("");
  result.loads += what == "process_ready";
  result.wakes += what == "woken";
  result.prewarms += what == "prewarm";
  result.prewarm_hits += what == "prewarm_used";
  result.prewarm_wasted += what == "prewarm_wasted";
  if (what != "hibernated" && what != "evicted") return;
  ++result.demotions;
  const auto* by = model_behind(trace, event);
  result.voice_evicted_by_background +=
      model->service_class == ServiceClass::voice && by != nullptr && by->service_class == ServiceClass::background;
}

bool can_never_fit(base::ErrorCode code) {
  return code == base::ErrorCode::does_not_fit || code == base::ErrorCode::pinned_conflict;
}

}  // namespace

base::Result<lab::ReplayResult> LiveRunner::run(const lab::Trace& trace) {
  auto before = server_.events(0);
  if (!before) return base::pass(before);
  if (!before->empty()) last_event_ = count_at(before->back(), {"id"}).value_or(0);
  lab::Tally tally("live");
  if (auto done = send_all(trace, tally); !done) return std::unexpected(std::move(done.error()));
  if (auto done = count_events(trace, tally.result()); !done) return std::unexpected(std::move(done.error()));
  return tally.finish();
}

base::Status LiveRunner::send_all(const lab::Trace& trace, lab::Tally& tally) {
  ProgressLine progress(console_);
  progress_ = &progress;
  began_ = looked_ = console_.clock.now();
  for (std::size_t index = 0; index < trace.requests.size(); ++index) {
    const base::Mono due = began_ + std::chrono::nanoseconds(trace.requests[index].at_ns);
    const bool goes_on = wait_until(due, trace, tally);
    if (!goes_on) return base::fail(base::ErrorCode::cancelled, "the replay was stopped");
    latest_ = std::max(latest_, console_.clock.now() - due);
    tally.asked(trace.models[trace.requests[index].model].service_class);
    send(trace, index);
  }
  while (!calls_.empty()) {
    if (auto taken = take_finished(trace, tally, {}); !taken) return taken;
    const bool goes_on = calls_.empty() || wait_until(console_.clock.now() + kSlice, trace, tally);
    if (!goes_on) return base::fail(base::ErrorCode::cancelled, "the replay was stopped");
  }
  return {};
}

bool LiveRunner::wait_until(base::Mono when, const lab::Trace& trace, lab::Tally& tally) {
  const base::Duration whole = std::chrono::nanoseconds(trace.requests.empty() ? 0 : trace.requests.back().at_ns);
  while (console_.clock.now() < when || calls_.size() >= kMostAtOnce) {
    const auto now = console_.clock.now();
    progress_->show({fmt::format("replaying {} requests on {}", trace.requests.size(), server_.url())}, whole);
    if (when - now > kTimelineIsThere) {  // else the next request would be late
      if (auto taken = take_finished(trace, tally, kTimelineIsThere); !taken) first_failure_ = taken.error().message;
      if (now - looked_ >= kLook) look_at_memory(tally);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - now);
    if (!console_.pause(std::clamp<std::chrono::milliseconds>(left, 1ms, kSlice))) return false;
  }
  return true;
}

void LiveRunner::send(const lab::Trace& trace, std::size_t index) {
  const auto& request = trace.requests[index];
  const auto& model = trace.models[request.model];
  Call& call = calls_.emplace_back();
  call.model = request.model;
  const auto seed = static_cast<std::uint64_t>(console_.clock.wall().time_since_epoch().count()) + index;
  LiveServer::Question question{model.id, request.prompt_tokens, answer_tokens(request, model.size), seed,
                                wish_of(model.service_class)};
  call.thread = std::jthread([this, &call, question = std::move(question)] {
    call.id = server_.ask(question);
    call.done = true;
  });
}

base::Status LiveRunner::take_finished(const lab::Trace& trace, lab::Tally& tally, base::Duration age) {
  const auto now = console_.clock.now();
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (call->done && !call->seen_done) call->seen_done = now;
    if (!call->seen_done || now - *call->seen_done < age) {
      ++call;
      continue;
    }
    auto taken = take(trace, tally, *call);
    call = calls_.erase(call);
    if (!taken) return taken;
  }
  return {};
}

base::Status LiveRunner::take(const lab::Trace& trace, lab::Tally& tally, Call& call) {
  if (call.id) {
    auto record = server_.timeline(*call.id);
    if (!record) return std::unexpected(std::move(record.error()));
    auto served = lab::served_of(*record, trace.models[call.model].size);
    tally.served(served);
    return {};
  }
  const auto& error = call.id.error();
  ++(can_never_fit(error.code) ? tally.result().refused : tally.result().unfinished);
  if (first_failure_.empty()) first_failure_ = trace.models[call.model].id.text() + ": " + error.message;
  return {};
}

void LiveRunner::look_at_memory(lab::Tally& tally) {
  looked_ = console_.clock.now();
  const auto memory = server_.memory();
  if (!memory) return;  // the next look may succeed
  auto& result = tally.result();
  result.most_reserved = result.most_reserved.at_least(policy::Footprint::host(memory->reserved));
  if (memory->reserved > memory_) ++result.broken_invariants;
}

base::Status LiveRunner::count_events(const lab::Trace& trace, lab::ReplayResult& result) const {
  auto events = server_.events(last_event_);
  if (!events) return std::unexpected(std::move(events.error()));
  if (!events->empty() && count_at(events->front(), {"id"}) != last_event_ + 1) {
    return base::fail(base::ErrorCode::too_large,
                      "the server keeps fewer events than the replay caused; replay a shorter history");
  }
  for (const Json& event : *events)
    count(trace, event, result);
  return {};
}

}  // namespace hearth::cli
