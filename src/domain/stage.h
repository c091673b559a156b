#pragma once
// The stages of one request, in the order in which they happen. Their durations add up to the total; those before the
// first token add up to TTFT. A stage that did not happen is 0, not missing.
#include <array>
#include <optional>
#include <string_view>

namespace hearth::domain {

enum class Stage {
  queue,
  admission,
  artifact_fetch,
  storage_read,
  process_start,
  weights_load,
  device_upload,
  kernel_compile,
  chat_template,  // written "template"
  tokenize,
  prefix_restore,
  prefill,
  first_decode,
  decode,
  other,
};
inline constexpr std::array kAllStages = {
    Stage::queue,          Stage::admission,     Stage::artifact_fetch, Stage::storage_read,  Stage::process_start,
    Stage::weights_load,   Stage::device_upload, Stage::kernel_compile, Stage::chat_template, Stage::tokenize,
    Stage::prefix_restore, Stage::prefill,       Stage::first_decode,   Stage::decode,        Stage::other};
[[nodiscard]] std::string_view name_of(Stage stage);
[[nodiscard]] std::optional<Stage> stage_named(std::string_view name);

// Whose word a duration is.
enum class Source { hearth, tier, engine, kernel };
[[nodiscard]] std::string_view name_of(Source source);
[[nodiscard]] std::optional<Source> source_named(std::string_view name);

}  // namespace hearth::domain
