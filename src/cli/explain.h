#pragma once
// A request's timeline in one sentence, for people. Pure.
#include <string>

#include "domain/request.h"

namespace hearth::cli {

// "0.4 ms", "412 ms", "12.3 s".
[[nodiscard]] std::string format_ms(double ms);

// "412 ms to the first token; 310 ms (75 %) of it was starting the engine process, because the model had not been
// started since the server came up; to avoid it: keep the model loaded longer." Text from outside is made fit for one
// line.
[[nodiscard]] std::string explain_sentence(const domain::RequestRecord& record);

}  // namespace hearth::cli
