#pragma once
// What each command does once it is known which one it is. Each prints what it has to say and gives the exit status; an
// Error is for the caller to print, and means status 1. Private to src/cli.
#include "base/result.h"
#include "cli/cli.h"
#include "cli/command_line.h"
#include "cli/console.h"
#include "client/native_client.h"

namespace hearth::cli {

using Outcome = base::Result<int>;

[[nodiscard]] base::Result<client::NativeClient> connect(const Console& console);
// One JSON document, indented, with a final newline.
void print_json(Console& console, const domain::Json& json);

[[nodiscard]] Outcome import_model(const Invocation& invocation, Console& console);
[[nodiscard]] Outcome list_models(const Invocation& invocation, Console& console);
[[nodiscard]] Outcome show_model(const Invocation& invocation, Console& console);
[[nodiscard]] Outcome remove_model(const Invocation& invocation, Console& console);
// Status 1 when something was damaged.
[[nodiscard]] Outcome verify_models(const Invocation& invocation, Console& console);
[[nodiscard]] Outcome print_model_names(const Invocation& invocation, Console& console);
[[nodiscard]] Outcome watch_models(const Invocation& invocation, Console& console);

// warm, cool, pin, unpin: `action` as the API names it.
[[nodiscard]] Outcome change_layer(const Invocation& invocation, Console& console, std::string_view action);
[[nodiscard]] Outcome run_model(const Invocation& invocation, Console& console);
[[nodiscard]] Outcome explain_requests(const Invocation& invocation, Console& console);
// The waterfall of a REQUEST. Errors: bad_request when it is none.
[[nodiscard]] base::Status print_request(const domain::Json& request, Console& console);

[[nodiscard]] Outcome list_prefixes(const Invocation& invocation, Console& console);
[[nodiscard]] Outcome show_prefix(const Invocation& invocation, Console& console);
[[nodiscard]] Outcome remove_prefix(const Invocation& invocation, Console& console);
[[nodiscard]] Outcome verify_prefix(const Invocation& invocation, Console& console);

[[nodiscard]] Outcome list_engines(const Invocation& invocation, Console& console, const LocalCommands& local);
[[nodiscard]] Outcome install_engine(const Invocation& invocation, Console& console, const LocalCommands& local);
[[nodiscard]] Outcome examine_machine(const Invocation& invocation, Console& console, const LocalCommands& local);

// Needs no server: replays a trace through the residency policies.
[[nodiscard]] Outcome replay_trace(const Invocation& invocation, Console& console);

// As run(), in a world of the caller's.
int run_in(Console& console, int argc, const char* const* argv, const LocalCommands& local);

}  // namespace hearth::cli
