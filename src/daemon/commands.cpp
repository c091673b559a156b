#include "daemon/commands.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <iostream>

#include "daemon/app.h"
#include "daemon/machine.h"
#include "engine/install.h"

namespace hearth::daemon {
namespace {

int report(const base::Error& error) {
  std::cerr << "hearth: " << error.message << "\n";
  return 1;
}

void log_to_stderr() {
  spdlog::set_default_logger(spdlog::stderr_color_mt("hearth"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
}

int serve(const cli::ServeOptions& options) {
  log_to_stderr();
  auto config = config::find_config(options.config, {.listen = options.listen, .data_dir = options.data_dir});
  if (!config) return report(config.error());
  if (options.check_config) {
    std::cout << "the configuration is right\n";
    return 0;
  }
  auto app = App::make(std::move(*config));
  if (!app) return report(app.error());
  std::cout << "listening on " << (*app)->address() << std::endl;
  return (*app)->run();
}

base::Result<config::Config> config_of(const cli::EngineOptions& options) {
  return config::find_config(options.config, {.listen = std::nullopt, .data_dir = options.data_dir});
}

base::Result<std::vector<domain::EngineInfo>> engine_list(const cli::EngineOptions& options) {
  log_to_stderr();
  const auto config = config_of(options);
  if (!config) return std::unexpected(config.error());
  return engine::list_engines(catalogue_options(*config));
}

base::Result<domain::EngineInfo> engine_install(const cli::EngineOptions& options, const cli::Progress& progress) {
  log_to_stderr();
  const auto config = config_of(options);
  if (!config) return std::unexpected(config.error());
  engine::InstallOptions install;
  install.catalogue = catalogue_options(*config);
  return engine::install_engine(install, [&progress](std::string_view step, std::optional<double> fraction) {
    progress({.what = fraction ? fmt::format("{} ({:.0f} %)", step, *fraction * 100) : std::string(step)});
  });
}

base::Result<domain::MachineView> doctor(const cli::EngineOptions& options) {
  log_to_stderr();
  const auto config = config_of(options);
  if (!config) return std::unexpected(config.error());
  return look_at_machine(sys::LinuxMemory(), config->server().data_dir,
                         engine::find_engine(catalogue_options(*config)));
}

}  // namespace

cli::LocalCommands local_commands() {
  return {.serve = serve, .engine_list = engine_list, .engine_install = engine_install, .doctor = doctor};
}

}  // namespace hearth::daemon
