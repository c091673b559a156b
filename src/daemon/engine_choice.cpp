#include "daemon/engine_choice.h"

#include <spdlog/spdlog.h>

namespace hearth::daemon {

engine::CatalogueOptions catalogue_options(const config::Config& config) {
  engine::CatalogueOptions options;
  options.configured = config.engine().command;
  options.data_dir = config.server().data_dir;
  options.on_skipped = [](std::string_view why) { spdlog::warn("{}", why); };
  return options;
}

}  // namespace hearth::daemon
