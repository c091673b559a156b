#include "cli/cli.h"

#include <fmt/format.h>

#include <ostream>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "domain/json_text.h"

namespace hearth::cli {
namespace {

Outcome serve(const Invocation& invocation, const LocalCommands& local) {
  if (!local.serve) return base::fail(base::ErrorCode::unsupported, "this program was built without the server");
  return local.serve(invocation.serve);
}

Outcome print_version(const Invocation& invocation, Console& console) {
  if (invocation.json) {
    print_json(console, {{"version", version()}});
  } else {
    console.out << "hearth " << version() << "\n";
  }
  return 0;
}

Outcome print_text(Console& console, const std::string& text) {
  console.out << text;
  return 0;
}

Outcome carry_out(const Invocation& invocation, Console& console, const LocalCommands& local) {
  switch (invocation.command) {
    case Command::serve:
      return serve(invocation, local);
    case Command::import:
      return import_model(invocation, console);
    case Command::list:
      return list_models(invocation, console);
    case Command::show:
      return show_model(invocation, console);
    case Command::rm:
      return remove_model(invocation, console);
    case Command::verify:
      return verify_models(invocation, console);
    case Command::run:
      return run_model(invocation, console);
    case Command::ps:
      return watch_models(invocation, console);
    case Command::warm:
      return change_layer(invocation, console, "warm");
    case Command::cool:
      return change_layer(invocation, console, "cool");
    case Command::pin:
      return change_layer(invocation, console, "pin");
    case Command::unpin:
      return change_layer(invocation, console, "unpin");
    case Command::explain:
      return explain_requests(invocation, console);
    case Command::prefix_list:
      return list_prefixes(invocation, console);
    case Command::prefix_show:
      return show_prefix(invocation, console);
    case Command::prefix_rm:
      return remove_prefix(invocation, console);
    case Command::prefix_verify:
      return verify_prefix(invocation, console);
    case Command::doctor:
      return examine_machine(invocation, console, local);
    case Command::engine_list:
      return list_engines(invocation, console, local);
    case Command::engine_install:
      return install_engine(invocation, console, local);
    case Command::lab_replay:
      return replay_trace(invocation, console);
    case Command::version:
      return print_version(invocation, console);
    case Command::completion:
      return print_text(console, completion_script(describe_commands(), invocation.shell));
    case Command::man:
      return print_text(console, man_page(describe_commands()));
    case Command::model_names:
      return print_model_names(invocation, console);
  }
  return base::fail(base::ErrorCode::internal, "a command without a body");
}

}  // namespace

std::string_view version() { return HEARTH_VERSION; }

base::Result<client::NativeClient> connect(const Console& console) {
  auto options = client::options_from(console.environment);
  if (!options) return base::pass(options);
  return client::NativeClient(*std::move(options));
}

void print_json(Console& console, const domain::Json& json) { console.out << domain::text_of(json, 2) << "\n"; }

int run_in(Console& console, int argc, const char* const* argv, const LocalCommands& local) {
  const auto invocation = parse_command_line(argc, argv);
  if (!invocation) {
    (invocation.error().status == 0 ? console.out : console.err) << invocation.error().text << std::flush;
    return invocation.error().status;
  }
  const Outcome outcome = carry_out(*invocation, console, local);
  console.out << std::flush;
  if (!outcome) {
    console.err << "hearth: " << outcome.error().message << std::endl;
    return 1;
  }
  if (console.out) return *outcome;
  console.err << "hearth: the output could not be written; is the disk full?" << std::endl;
  return 1;
}

int run(int argc, const char* const* argv, const LocalCommands& local, std::ostream& out, std::ostream& err) {
  const base::SystemClock clock;
  Console console = process_console(out, err, clock);
  return run_in(console, argc, argv, local);
}

}  // namespace hearth::cli
