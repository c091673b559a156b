#pragma once
// What `hearth lab replay` was asked for, as the command line says it.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hearth::cli {

struct LabOptions {
  std::optional<std::filesystem::path> trace;  // none: invented
  std::string format = "hearth";               // of `trace`
  std::string shape = "household";             // of an invented one
  std::vector<std::uint64_t> seeds = {1};
  double days = 28;
  double intensity = 1;
  double speed = 1;
  bool live = false;                  // also on the server that HEARTH_URL names
  std::vector<std::string> names;     // "model of the trace=model"
  std::string memory = "8GB";         // a size
  std::vector<std::string> policies;  // none: all
  std::optional<std::filesystem::path> html;
  std::optional<std::filesystem::path> save;
};

}  // namespace hearth::cli
