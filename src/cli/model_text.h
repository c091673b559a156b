#pragma once
// MODEL of the native API as text for people. Pure, and tolerant: what a server leaves out or writes in another type is
// unknown, and is shown as that.
#include <cstddef>
#include <string>

#include "domain/json.h"

namespace hearth::cli {

// `models` is an array of MODEL.
[[nodiscard]] std::string list_text(const domain::Json& models);
// Every model by every layer: a table where `columns` allow (0: they do), else a block a model.
[[nodiscard]] std::string layers_text(const domain::Json& models, std::size_t columns);
[[nodiscard]] std::string model_text(const domain::Json& model);

// "1.2B", "350M", "12k".
[[nodiscard]] std::string format_count(std::uint64_t count);

}  // namespace hearth::cli
