#include "domain/stage.h"

#include "domain/named.h"

namespace hearth::domain {

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::queue:
      return "queue";
    case Stage::admission:
      return "admission";
    case Stage::artifact_fetch:
      return "artifact_fetch";
    case Stage::storage_read:
      return "storage_read";
    case Stage::process_start:
      return "process_start";
    case Stage::weights_load:
      return "weights_load";
    case Stage::device_upload:
      return "device_upload";
    case Stage::kernel_compile:
      return "kernel_compile";
    case Stage::chat_template:
      return "template";
    case Stage::tokenize:
      return "tokenize";
    case Stage::prefix_restore:
      return "prefix_restore";
    case Stage::prefill:
      return "prefill";
    case Stage::first_decode:
      return "first_decode";
    case Stage::decode:
      return "decode";
    case Stage::other:
      return "other";
  }
  return "";
}

std::optional<Stage> stage_named(std::string_view name) { return find_named(kAllStages, name); }

std::string_view name_of(Source source) {
  switch (source) {
    case Source::hearth:
      return "hearth";
    case Source::tier:
      return "tier";
    case Source::engine:
      return "engine";
    case Source::kernel:
      return "kernel";
  }
  return "";
}

std::optional<Source> source_named(std::string_view name) {
  return find_named(std::array{Source::hearth, Source::tier, Source::engine, Source::kernel}, name);
}

}  // namespace hearth::domain
