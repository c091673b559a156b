#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"

namespace hearth::cli {
namespace {

constexpr const char* kFooter =
    "Environment: HEARTH_URL is the server that commands talk to (http://127.0.0.1:11434), HEARTH_API_KEY the key it "
    "asks for.\n"
    "Exit status: 0 done, 1 the operation failed, 2 wrong usage.";
constexpr const char* kModel = "Name of a model, as `hearth list` prints it";

// What is wrong with it, or "". The library's own range lets "nan" through.
std::string check_temperature(const std::string& text) {
  double value = 0;
  const bool good = CLI::detail::lexical_cast(text, value) && value >= 0 && value <= 100;
  return good ? std::string() : "\"" + base::printable(text, 40) + "\" is not a number from 0 to 100";
}

// Builds the tree into `app`, bound to `into`.
class Tree {
 public:
  Tree(CLI::App& app, Invocation& into) : app_(app), into_(into) {}

  void build() {
    app_.require_subcommand(1);
    app_.footer(kFooter);
    app_.set_version_flag("--version", "hearth " + std::string(version()), "Print the version and end");
    add_server();
    add_models();
    add_answers();
    add_prefixes();
    add_lab();
    add_machine();
    add_shell();
  }

 private:
  CLI::App& command(CLI::App& parent, const char* name, const char* description, Command value) {
    CLI::App* sub = parent.add_subcommand(name, description);
    // The tree is gone when the callback is called; what it fills in is not.
    sub->callback([&into = into_, value] { into.command = value; });
    return *sub;
  }

  void add_json(CLI::App& sub) { sub.add_flag("--json", into_.json, "Print one JSON document instead of text"); }

  void add_places(CLI::App& sub, std::optional<std::filesystem::path>& config,
                  std::optional<std::filesystem::path>& data_dir) {
    sub.add_option("--config", config,
                   "Configuration file (~/.config/hearth/hearth.toml, else /etc/hearth/hearth.toml)")
        ->type_name("FILE");
    sub.add_option("--data-dir", data_dir, "Where models, engines and history are kept")->type_name("DIR");
  }

  void add_server() {
    auto& serve = command(app_, "serve", "Run the server", Command::serve);
    add_places(serve, into_.serve.config, into_.serve.data_dir);
    serve.add_option("--listen", into_.serve.listen, "Address to listen on (127.0.0.1:11434)")->type_name("HOST:PORT");
    serve.add_flag("--check-config", into_.serve.check_config, "Only say whether the configuration is right");
  }

  void add_models() {
    auto& import = command(app_, "import", "Bring a GGUF file into the server's store", Command::import);
    import.add_option("FILE", into_.file, "The file; it is copied and stays as it is")->required()->type_name("");
    import.add_option("--name", into_.name, "Name of the model (made from the file's name)")->type_name("ID");
    add_json(import);
    add_json(command(app_, "list", "List the models in the store", Command::list));
    auto& show = command(app_, "show", "Show everything known of one model", Command::show);
    show.add_option("MODEL", into_.model, kModel)->required()->type_name("");
    add_json(show);
    auto& rm = command(app_, "rm", "Delete a model from the store", Command::rm);
    rm.add_option("MODEL", into_.model, kModel)->required()->type_name("");
    add_json(rm);
    auto& verify =
        command(app_, "verify", "Read all that is kept of a model and set aside what is damaged", Command::verify);
    verify.add_option("MODEL", into_.model, "Name of a model (every model)")->type_name("");
    add_json(verify);
  }

  void add_answers() {
    auto& run = command(app_, "run", "Ask a model one thing, print its answer and where the time went", Command::run);
    run.add_option("MODEL", into_.model, kModel)->required()->type_name("");
    run.add_option("PROMPT", into_.prompt, "What to ask (standard input)")->type_name("");
    run.add_option("--system", into_.system, "System prompt (none)")->type_name("TEXT");
    run.add_option("--temperature", into_.temperature, "Sampling temperature (the engine's choice)")
        ->type_name("T")
        ->check(CLI::Validator(check_temperature, ""));
    run.add_option("--max-tokens", into_.max_tokens, "Longest answer in tokens (the engine's choice)")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}).description(""));
    add_json(run);
    auto& ps = command(app_, "ps", "Show how warm every layer of every model is", Command::ps);
    auto* watch = ps.add_flag("--watch", into_.watch, "Print it again every second, until Ctrl-C");
    ps.add_flag("--json", into_.json, "Print one JSON document instead of text")->excludes(watch);
    add_layer_change("warm", "Warm one layer of a model: read its pages, start its engine, wake its weights",
                     Command::warm, true);
    add_layer_change("cool", "Cool one layer of a model: drop its pages, stop its engine, hibernate its weights",
                     Command::cool, true);
    add_layer_change("pin", "Lock a model's weights in memory", Command::pin, false);
    add_layer_change("unpin", "Unlock a model's weights", Command::unpin, false);
    auto& explain = command(app_, "explain", "Say why the first token of a request took that long", Command::explain);
    auto* request = explain.add_option("REQUEST", into_.request, "Id of a request (the last one)")->type_name("");
    explain.add_option("--last", into_.last, "The last N requests, newest first")
        ->type_name("N")
        ->check(CLI::Range(1U, 1000U).description(""))
        ->excludes(request);
    add_json(explain);
  }

  void add_layer_change(const char* name, const char* description, Command value, bool with_layer) {
    auto& change = command(app_, name, description, value);
    change.add_option("MODEL", into_.model, kModel)->required()->type_name("");
    if (with_layer) {
      change.add_option("--layer", into_.layer, "pages, process, weights or prefix (weights)")
          ->type_name("LAYER")
          ->check(CLI::IsMember({"pages", "process", "weights", "prefix"}).description(""));
    }
    if (value == Command::warm) {
      change
          .add_option("--keep-alive", into_.keep_alive,
                      "How long to keep it after its last request: 10m, 1h30m, -1 for ever (the server's choice)")
          ->type_name("SPAN");
    }
    add_json(change);
  }

  void add_prefixes() {
    CLI::App* prefix =
        app_.add_subcommand("prefix", "Beginnings of prompts that are kept, so that they need not be evaluated again");
    prefix->require_subcommand(1);
    add_json(command(*prefix, "list", "List what is stored and declared", Command::prefix_list));
    const auto one = [&](const char* name, const char* description, Command value) {
      auto& sub = command(*prefix, name, description, value);
      sub.add_option("ID", into_.prefix, "Id of a prefix, as in `hearth prefix list`")->required()->type_name("");
      add_json(sub);
    };
    one("show", "Show everything known of one prefix", Command::prefix_show);
    one("rm", "Remove a prefix, and its declaration", Command::prefix_rm);
    one("verify", "Read a stored prefix and compare its checksum", Command::prefix_verify);
  }

  void add_lab() {
    CLI::App* lab = app_.add_subcommand("lab", "Experiments");
    lab->require_subcommand(1);
    auto& replay =
        command(*lab, "replay", "Replay a history of requests through every residency policy", Command::lab_replay);
    LabOptions& options = into_.lab;
    auto* trace =
        replay.add_option("--trace", options.trace, "A recorded history (an invented one)")->type_name("FILE");
    add_choice(replay, "--format", options.format, "Format of the recorded history (hearth)",
               {"hearth", "azure2019", "azure2021", "azurellm", "burstgpt", "mooncake", "chutes"})
        .needs(trace);
    replay.add_option("--map", options.names, "Call a model of the recorded history MODEL; repeat it for others")
        ->type_name("NAME=MODEL")
        ->allow_extra_args(false)
        ->needs(trace);
    add_number(replay, "--speed", options.speed, "Divide the recorded times by this (1)").needs(trace);
    replay.add_flag("--live", options.live, "Also replay it on the running server, and measure its costs for the rest")
        ->needs(trace);
    add_choice(replay, "--shape", options.shape, "household, popular, timers or bursty: what to invent (household)",
               {"household", "popular", "timers", "bursty"})
        .excludes(trace);
    add_number(replay, "--days", options.days, "Length of the invented history (28)").excludes(trace);
    add_number(replay, "--intensity", options.intensity, "How often everybody asks (1)").excludes(trace);
    replay.add_option("--seed", options.seeds, "What chance makes of it (1); repeat it for several runs")
        ->type_name("N")
        ->allow_extra_args(false);
    replay.add_option("--memory", options.memory, "Memory for every policy (8GB; with --live what the server has)")
        ->type_name("SIZE");
    replay.add_option("--policy", options.policies, "Only this policy (all); repeat it for others")
        ->type_name("NAME")
        ->allow_extra_args(false);
    replay.add_option("--html", options.html, "Also write a page with plots")->type_name("FILE");
    replay.add_option("--save", options.save, "Also write the history, in Hearth's own format")->type_name("FILE");
    add_json(replay);
  }

  CLI::Option& add_choice(CLI::App& sub, const char* name, std::string& into, const char* description,
                          std::vector<std::string> choices) {
    return *sub.add_option(name, into, description)
                ->type_name("NAME")
                ->check(CLI::IsMember(std::move(choices)).description(""));
  }
  CLI::Option& add_number(CLI::App& sub, const char* name, double& into, const char* description) {
    return *sub.add_option(name, into, description)
                ->type_name("X")
                ->check(CLI::Range(0.001, 100'000.0).description(""));
  }

  void add_machine() {
    auto& doctor = command(app_, "doctor", "Say what this machine can and cannot do, and the fix", Command::doctor);
    add_places(doctor, into_.engine.config, into_.engine.data_dir);
    add_json(doctor);
    CLI::App* engine = app_.add_subcommand("engine", "The programs that compute the tokens");
    engine->require_subcommand(1);
    auto& list = command(*engine, "list", "List the engines found here", Command::engine_list);
    add_places(list, into_.engine.config, into_.engine.data_dir);
    add_json(list);
    auto& install = command(*engine, "install", "Find or fetch a usable llama-server", Command::engine_install);
    add_places(install, into_.engine.config, into_.engine.data_dir);
    add_json(install);
  }

  void add_shell() {
    add_json(command(app_, "version", "Print the version", Command::version));
    auto& completion = command(app_, "completion", "Print the completions for a shell", Command::completion);
    completion.add_option("SHELL", into_.shell, "bash, zsh or fish")
        ->required()
        ->type_name("")
        ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
    command(app_, "man", "Print the manual page, as troff source", Command::man);
    command(app_, "__models", "Names of the models, one a line, for completions", Command::model_names).group("");
  }

  CLI::App& app_;
  Invocation& into_;
};

CLI::App& innermost(CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.back());
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : path_of(*app.get_parent()) + " " + app.get_name();
}

std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

std::string names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* sub : visible_commands(app))
    names.push_back(sub->get_name());
  return base::join(names, ", ");
}

std::string usage_error(CLI::App& app, const CLI::ParseError& error) {
  CLI::App& command = innermost(app);
  std::string reason = base::printable(error.what(), 300);
  const auto rest = command.remaining();
  if (!visible_commands(command).empty()) {
    reason = fmt::format(
        "{}; commands: {}",
        rest.empty() ? "a command is missing" : "there is no command \"" + base::printable(rest.front(), 60) + "\"",
        names_of_commands(command));
  }
  return fmt::format("{}: {}; see `{} --help`\n", path_of(command), reason, path_of(command));
}

OptionDoc described(const CLI::Option& option) {
  OptionDoc doc;
  doc.description = option.get_description();
  doc.required = option.get_required();
  if (option.get_positional()) {
    doc.value = option.get_name(true);
    doc.repeated = option.get_expected_max() > 1;
    return doc;
  }
  for (const auto& name : option.get_snames())
    doc.names.push_back("-" + name);
  for (const auto& name : option.get_lnames())
    doc.names.push_back("--" + name);
  if (option.get_expected_min() > 0) doc.value = option.get_type_name();
  return doc;
}

CommandDoc described(const CLI::App& app) {
  CommandDoc doc{path_of(app), app.get_name(), app.get_description(), app.get_footer(), {}, {}, {}};
  for (const auto* option : app.get_options()) {
    auto& list = option->get_positional() ? doc.positionals : doc.options;
    list.push_back(described(*option));
  }
  for (const auto* sub : visible_commands(app))
    doc.commands.push_back(described(*sub));
  return doc;
}

constexpr const char* kDescription =
    "Hearth: a home AI server that keeps what is worth keeping warm, and says why the first token was slow";

}  // namespace

std::expected<Invocation, CommandLineEnd> parse_command_line(int argc, const char* const* argv) {
  Invocation invocation;
  CLI::App app(kDescription, "hearth");
  Tree(app, invocation).build();
  // The parser reports through exceptions; they end here.
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return std::unexpected(CommandLineEnd{0, app.help()});
  } catch (const CLI::CallForVersion& version_asked) {
    return std::unexpected(CommandLineEnd{0, std::string(version_asked.what()) + "\n"});
  } catch (const CLI::ParseError& error) {
    return std::unexpected(CommandLineEnd{2, usage_error(app, error)});
  }
  return invocation;
}

CommandDoc describe_commands() {
  Invocation unused;
  CLI::App app(kDescription, "hearth");
  Tree(app, unused).build();
  return described(app);
}

std::string usage_of(const CommandDoc& command) {
  std::string usage = command.path;
  for (const auto& option : command.options) {
    if (option.names.back() == "--help") continue;
    usage += fmt::format(" [{}{}{}]", option.names.back(), option.value.empty() ? "" : " ", option.value);
  }
  for (const auto& positional : command.positionals) {
    const std::string name = positional.value + (positional.repeated ? "..." : "");
    usage += positional.required ? " " + name : " [" + name + "]";
  }
  if (!command.commands.empty()) usage += " COMMAND";
  return usage;
}

}  // namespace hearth::cli
