#include "lab/trace.h"

#include <algorithm>

namespace hearth::lab {

void sort_by_time(Trace& trace) { std::ranges::stable_sort(trace.requests, {}, &TraceRequest::at_ns); }

}  // namespace hearth::lab
