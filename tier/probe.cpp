#include "probe.h"

#include "channel.h"
#include "os.h"

namespace hearth::tier {
namespace {
constinit std::atomic<std::uint64_t> the_computations{0};
constinit std::atomic<int> the_running{0};
}  // namespace

SpanTimer::SpanTimer(SpanKind kind) : kind_(kind), begin_(os::now_ns()) {}

void SpanTimer::done(std::int64_t count, std::int64_t result) { send_span(kind_, begin_, os::now_ns(), count, result); }

void send_span(SpanKind kind, std::uint64_t begin_ns, std::uint64_t end_ns, std::int64_t count, std::int64_t result) {
  Span span{};
  span.kind = kind;
  span.thread = os::thread_id();
  span.begin_ns = begin_ns;
  span.end_ns = end_ns;
  span.count = count;
  span.result = result;
  channel().send(span, RecordType::kSpan);
}

bool StepFilter::tells(std::int64_t count, std::uint64_t begin_ns, std::uint64_t end_ns) {
  const bool same = last_count_.exchange(count, std::memory_order_relaxed) == count;
  const bool recent = begin_ns - last_told_.load(std::memory_order_relaxed) < kInterval;
  if (same && recent && end_ns - begin_ns < kLong) return false;
  last_told_.store(begin_ns, std::memory_order_relaxed);
  return true;
}

std::uint64_t computations() { return the_computations.load(std::memory_order_acquire); }
bool computing() { return the_running.load(std::memory_order_acquire) > 0; }

Computation::Computation() {
  the_running.fetch_add(1, std::memory_order_acq_rel);
  the_computations.fetch_add(1, std::memory_order_acq_rel);
}

Computation::~Computation() { the_running.fetch_sub(1, std::memory_order_acq_rel); }

}  // namespace hearth::tier
