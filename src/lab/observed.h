#pragma once
// What a server's own timeline of one request says, in the terms of a replay. Pure.
#include "domain/request.h"
#include "lab/costs.h"
#include "lab/tally.h"

namespace hearth::lab {

// A start is told by its stages: they are the load, `queue` what came before it. A wake has none, it goes on beside the
// request; it is told by the promise that the record carries (where its class has a limit that is not kept, by weights
// that were not warm before), and costs what the first token took longer than a serving model's (`size.measured`; the
// whole time to first token where nothing was measured).
[[nodiscard]] Served served_of(const domain::RequestRecord& record, const ModelSize& size);

// What a serving model takes until its first token, and each token: `brief` and `lengthy` are requests to it that
// differ in the length of their prompts; what is measured of decoding is taken from `lengthy`.
struct Speeds {
  double first_token_s = 0;
  double prefill_per_s = 0;
  double decode_per_s = 0;
};
// Errors: bad_request where a figure is missing: no first token, no tokens, no time.
[[nodiscard]] base::Result<Speeds> speeds_of(const domain::RequestRecord& brief, const domain::RequestRecord& lengthy);

}  // namespace hearth::lab
