#pragma once
// Spans of time as people write them in a configuration file.
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "domain/keep_alive.h"

namespace hearth::config {

using Milliseconds = std::chrono::milliseconds;

// "30s", "5m", "1h30m", "500ms", "1.5h", "2d"; a bare number is seconds ("90", "0"). Not negative, at most ten years.
// Errors: bad_request, naming the forms that are understood.
[[nodiscard]] base::Result<Milliseconds> parse_duration(std::string_view text);
[[nodiscard]] base::Result<Milliseconds> duration_of_seconds(double seconds);

// How long a model stays after its last request. A file may write it as any duration here, days and bare seconds
// included, which is more than clients may (domain/keep_alive.h); besides, anything negative ("-1", "-5m") and
// "forever" are forever.
using domain::KeepAlive;
[[nodiscard]] base::Result<KeepAlive> parse_keep_alive(std::string_view text);
[[nodiscard]] base::Result<KeepAlive> keep_alive_of_seconds(double seconds);

// The shortest form that parses back: "1h30m", "500ms", "0s".
[[nodiscard]] std::string format_duration(Milliseconds span);

}  // namespace hearth::config
