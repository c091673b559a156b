#pragma once
// Public trace formats, read into a Trace. The formats as their publishers describe them:
//
//   azure2019  Azure Functions 2019, invocations_per_function_md.anon.dNN.csv: HashOwner, HashApp, HashFunction,
//   Trigger,
//              then 1440 counts, one a minute. One file is one day. An application is a model; requests fall anywhere
//              in their minute (seeded).
//   azure2021  Azure Functions 2021: app, func, end_timestamp, duration (seconds); a request began at end - duration.
//   azurellm   Azure LLM inference 2023 and 2024: TIMESTAMP, ContextTokens, GeneratedTokens. One model, named by the
//   file. burstgpt   BurstGPT: Timestamp (seconds), Model, Request tokens, Response tokens, Total tokens, Log Type.
//   Columns are
//              found by name. Rows without response tokens are failures and are left out.
//   mooncake   Mooncake, JSON lines: timestamp (ms), input_length, output_length, hash_ids. One model.
//   chutes     Chutes: CSV with function_name, chute_id, started_at, completed_at, it, ot, … by name. Null token counts
//              are 0. A chute is a model.
//   hearth     what `hearth lab replay --save` writes: JSON lines, the first describes the models (docs/lab.md).
//
// Times start at the trace's first request, on the weekday and at the time of day that the file gives, where it does.
// Models get sizes by the order in which they first appear (from a fixed list), unless `sizes_gb` names them. Rows that
// cannot be read are counted, not guessed; more than one in ten is an error.
#include <cstdint>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lab/trace.h"

namespace hearth::lab {

enum class TraceFormat { azure2019, azure2021, azurellm, burstgpt, mooncake, chutes, hearth };
inline constexpr std::array kAllTraceFormats = {TraceFormat::azure2019, TraceFormat::azure2021, TraceFormat::azurellm,
                                                TraceFormat::burstgpt,  TraceFormat::mooncake,  TraceFormat::chutes,
                                                TraceFormat::hearth};
[[nodiscard]] std::string_view name_of(TraceFormat format);
[[nodiscard]] std::optional<TraceFormat> trace_format_named(std::string_view name);

struct ImportOptions {
  TraceFormat format = TraceFormat::azurellm;
  std::string name = "trace";  // of the trace, and of the model of a format that has only one
  std::uint64_t seed = 1;
  double speed = 1;                          // times are divided by it
  std::size_t most_models = 40;              // the most used ones; the rest is left out
  std::map<std::string, std::string> names;  // model of the trace -> model of ours
};

struct Imported {
  Trace trace;
  std::uint64_t skipped = 0;   // rows that could not be read
  std::uint64_t failures = 0;  // rows that say they failed
};

// Errors: bad_request with the line, when the file is not of this format; too_large beyond 20 million requests.
[[nodiscard]] base::Result<Imported> import_trace(std::istream& input, const ImportOptions& options);
// In the format `hearth`.
void write_trace(std::ostream& output, const Trace& trace);

}  // namespace hearth::lab
