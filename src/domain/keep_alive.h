#pragma once
// How long a client wants a model kept after its last request ends: Ollama's `keep_alive`. A plain value; pure.
//
// Grammar (Ollama 0.12, api/types.go; Go's time.ParseDuration): a number is seconds, fractions allowed; a text is a Go
// duration, an optional sign and then numbers each with a unit of ns, us, µs, ms, s, m or h ("300ms", "1.5h", "2h45m",
// "-1m"), or a bare "0". Negative is forever, zero is not at all. One thing more than Ollama takes: the text "-1",
// which many clients send, is forever. Other texts without a unit ("300") stay errors there and here.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace hearth::domain {

struct KeepAlive {
  std::optional<base::Duration> span;  // empty: forever; zero: gone as soon as nobody uses it; never negative

  [[nodiscard]] static KeepAlive forever() { return {}; }
  [[nodiscard]] bool is_forever() const { return !span; }
  [[nodiscard]] bool is_unload() const { return span && span->count() == 0; }
  friend bool operator==(const KeepAlive&, const KeepAlive&) = default;
};

// Errors: bad_request, naming the forms that are understood.
[[nodiscard]] base::Result<KeepAlive> parse_keep_alive(std::string_view text);
// More than a duration can hold (292 years) is forever. Errors: bad_request, for what is no number.
[[nodiscard]] base::Result<KeepAlive> keep_alive_of_seconds(double seconds);
// The error for a value that is neither a number nor a text; `what` names it ("a boolean").
[[nodiscard]] base::Error keep_alive_of_wrong_type(std::string_view what);

// Which of two keeps longer: forever is the longest.
[[nodiscard]] bool outlasts(const KeepAlive& one, const KeepAlive& other);

// Where a wish to keep a model comes from.
enum class KeepSource { request, config, api, pin, schedule, demand };
[[nodiscard]] std::string_view name_of(KeepSource source);

// One owner's wish, as it is told.
struct KeepVote {
  std::string owner;
  KeepAlive wish;
  KeepSource source = KeepSource::request;
  std::optional<base::Wall> until;  // empty: forever. While its request runs: as if it ended now
};
// How long a model is kept, and for whom.
struct Keep {
  bool forever = false;
  std::optional<base::Wall> until;   // empty and not forever: nobody keeps it
  std::optional<KeepSource> source;  // of what decides; empty when nobody keeps it
  std::vector<KeepVote> votes;
};

// As Go writes a duration, less the units that are zero: "1h30m", "5m", "90s" is "1m30s", "300ms", "1.5s", "0s";
// "forever". Except for "forever", parses back to the same value.
[[nodiscard]] std::string text_of(const KeepAlive& keep_alive);

}  // namespace hearth::domain
