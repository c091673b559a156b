#pragma once
// Where this configuration has engines looked for.
#include "config/config.h"
#include "engine/catalogue.h"

namespace hearth::daemon {

[[nodiscard]] engine::CatalogueOptions catalogue_options(const config::Config& config);

}  // namespace hearth::daemon
