#include "cli/model_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/explain.h"
#include "cli/json_view.h"
#include "cli/table.h"

namespace hearth::cli {
namespace {

using domain::Json;

// The layers that a MODEL has; `power` is the machine's.
constexpr std::array kModelLayers = {domain::Layer::artifact, domain::Layer::pages,   domain::Layer::packed,
                                     domain::Layer::process,  domain::Layer::weights, domain::Layer::device,
                                     domain::Layer::kernels,  domain::Layer::prefix};
constexpr std::string_view kUnknown = "unknown";

std::string size_or(const std::optional<std::uint64_t>& bytes, std::string_view otherwise) {
  return bytes ? base::format_bytes(*bytes) : std::string(otherwise);
}

std::string count_or_dash(const std::optional<std::uint64_t>& count) { return count ? fmt::format("{}", *count) : "-"; }

std::string layer_cell(const Json& layer) {
  const auto state = text_at(layer, {"state"});
  if (!state) return std::string(kUnknown);
  const auto bytes = count_at(layer, {"bytes"});
  if (!bytes || *state == "cold") return *state;
  const auto total = count_at(layer, {"total"});
  if (*state == "partial" && total)
    return fmt::format("partial {}/{}", base::format_bytes(*bytes), base::format_bytes(*total));
  return fmt::format("{} {}", *state, base::format_bytes(*bytes));
}

const Json& layer_of(const Json& model, domain::Layer layer) { return at_path(model, {"layers", name_of(layer)}); }

std::string state_cell(const Json& model) { return text_at(model, {"state"}).value_or(std::string(kUnknown)); }
std::string id_cell(const Json& model) { return base::printable(text_at(model, {"id"}).value_or("?"), 130); }

// An instant to the second: "2026-01-31 08:15:30Z".
std::string short_instant(const std::string& instant) {
  constexpr std::size_t kSeconds = 19;  // of RFC 3339
  if (instant.size() < kSeconds) return base::printable(instant, kSeconds);
  std::string text = base::printable(instant.substr(0, kSeconds), kSeconds + 1) + "Z";
  text[10] = ' ';
  return text;
}

std::string keep_cell(const Json& model) {
  if (text_at(model, {"keep", "source"}) == "pin") return "pinned";
  const auto until = text_at(model, {"keep", "until"});
  if (!until) return "-";
  return *until == "forever" ? *until : short_instant(*until);
}

Table layers_table(const Json& models) {
  std::vector<std::string> headers = {"MODEL", "STATE", ">PID", ">RESERVED", ">MEMORY", "KEPT UNTIL"};
  for (const auto layer : kModelLayers)
    headers.emplace_back(name_of(layer));
  Table table(headers);
  for (const auto& model : models) {
    std::vector<std::string> cells = {id_cell(model),
                                      state_cell(model),
                                      count_or_dash(count_at(model, {"layers", "process", "pid"})),
                                      size_or(count_at(model, {"memory", "reserved"}), "-"),
                                      size_or(count_at(model, {"memory", "measured"}), "-"),
                                      keep_cell(model)};
    for (const auto layer : kModelLayers)
      cells.push_back(layer_cell(layer_of(model, layer)));
    table.add(std::move(cells));
  }
  return table;
}

std::string layers_block(const Json& model) {
  std::string head = fmt::format("{}: {}", id_cell(model), base::printable(state_cell(model), 20));
  if (const auto pid = count_at(model, {"layers", "process", "pid"})) head += fmt::format(", pid {}", *pid);
  if (const auto memory = count_at(model, {"memory", "measured"}))
    head += fmt::format(", {} of memory", base::format_bytes(*memory));
  if (const auto reserved = count_at(model, {"memory", "reserved"}))
    head += fmt::format(", {} reserved", base::format_bytes(*reserved));
  if (const std::string keep = keep_cell(model); keep != "-") head += ", kept until " + keep;
  std::string block = head + "\n";
  for (const auto layer : kModelLayers) {
    block += fmt::format("  {:<9} {}\n", name_of(layer), base::printable(layer_cell(layer_of(model, layer)), 60));
  }
  return block;
}

std::string line(std::string_view name, const std::optional<std::string>& value) {
  return fmt::format("{:<15} {}\n", name, value ? base::printable(*value, 400) : std::string(kUnknown));
}

std::string failure_lines(const Json& model) {
  const auto reason = text_at(model, {"failure", "reason"});
  if (!reason) return {};
  std::string lines = line("failure", reason) + line("failed at", text_at(model, {"failure", "at"}));
  if (const auto retry = text_at(model, {"failure", "retry_at"})) lines += line("next try at", retry);
  return lines;
}

// Who wishes to keep it, a line each.
std::string keep_lines(const Json& model) {
  const std::string keep = keep_cell(model);
  std::string lines = line("kept until", keep == "-" ? "nobody keeps it" : keep);
  const Json& votes = at_path(model, {"keep", "votes"});
  if (!votes.is_array()) return lines;
  for (const auto& vote : votes) {
    const auto until = text_at(vote, {"until"}).value_or("forever");
    lines += line("  wished by",
                  fmt::format("{}: {} ({}), until {}", text_at(vote, {"owner"}).value_or("?"),
                              text_at(vote, {"keep_alive"}).value_or("?"), text_at(vote, {"source"}).value_or("?"),
                              until == "forever" ? until : short_instant(until)));
  }
  return lines;
}

std::optional<std::string> ready_text(const Json& model) {
  const auto estimate = number_at(model, {"ready_in_ms", "estimate"});
  if (!estimate) return std::nullopt;
  const auto basis = text_at(model, {"ready_in_ms", "basis"}).value_or("");
  return format_ms(*estimate) + (basis.empty() ? "" : " (" + basis + ")");
}

// When it is expected to be used, and how that went so far.
std::string expected_lines(const Json& model) {
  const auto reuse = number_at(model, {"expected", "reuse"});
  if (!reuse) return {};
  const auto horizon = number_at(model, {"expected", "horizon_ms"}).value_or(0);
  std::string text = fmt::format("{:.0f} % likely within {:.0f} min", *reuse * 100, horizon / 60'000);
  if (const auto next = text_at(model, {"expected", "next_prewarm_at"}))
    text +=
        fmt::format(", warm again at {} ({})", short_instant(*next), text_at(model, {"expected", "why"}).value_or("?"));
  std::string lines = line("expected use", text);
  const auto prewarms = count_at(model, {"expected", "prewarms"}).value_or(0);
  if (prewarms == 0) return lines;
  return lines + line("warmed before", fmt::format("{} times: {} used, {} wasted", prewarms,
                                                   count_at(model, {"expected", "used"}).value_or(0),
                                                   count_at(model, {"expected", "wasted"}).value_or(0)));
}

std::string thrashing_line(const Json& model) {
  const auto again = count_at(model, {"memory", "reread_per_token"});
  if (!again) return {};
  return fmt::format("{} is thrashing: its weights do not fit into memory, {} are read again for each token\n",
                     id_cell(model), base::format_bytes(*again));
}

// A class that was promised more than it gets.
std::string promise_line(const Json& model) {
  const Json& kept = at_path(model, {"cold_start", "kept"});
  if (!kept.is_boolean() || kept.get<bool>() || !number_at(model, {"cold_start", "limit_ms"})) return {};
  return fmt::format("{} ({}): {}\n", id_cell(model), base::printable(text_at(model, {"class"}).value_or("?"), 20),
                     base::printable(text_at(model, {"cold_start", "why"}).value_or(""), 300));
}

std::string memory_text(const Json& model) {
  return fmt::format("{} reserved, {} measured, {} estimated", size_or(count_at(model, {"memory", "reserved"}), "none"),
                     size_or(count_at(model, {"memory", "measured"}), "none"),
                     size_or(count_at(model, {"memory", "estimated"}), "nothing"));
}

}  // namespace

std::string format_count(std::uint64_t count) {
  constexpr std::array<std::string_view, 4> kUnits = {"", "k", "M", "B"};
  auto value = static_cast<double>(count);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", value, unit > 0 && value < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string list_text(const Json& models) {
  Table table({"NAME", ">SIZE", "QUANTISATION", ">PARAMETERS", ">CONTEXT", "STATE"});
  for (const auto& model : models) {
    const auto parameters = count_at(model, {"details", "parameters"});
    table.add({id_cell(model), size_or(count_at(model, {"layers", "artifact", "total"}), "-"),
               text_at(model, {"details", "quantisation"}).value_or("-"), parameters ? format_count(*parameters) : "-",
               count_or_dash(count_at(model, {"details", "context_length"})), state_cell(model)});
  }
  return table.text();
}

std::string layers_text(const Json& models, std::size_t columns) {
  const Table table = layers_table(models);
  const bool fits = columns == 0 || table.width() <= columns;
  std::string text = fits ? table.text() : "";
  std::vector<std::string> told;  // of models that push each other out each says the same
  for (const auto& model : models) {
    text += (fits ? "" : layers_block(model)) + thrashing_line(model) + promise_line(model);
    const auto thrashing = text_at(model, {"thrashing"});
    if (thrashing && std::ranges::find(told, *thrashing) == told.end()) told.push_back(*thrashing);
  }
  for (const auto& sentence : told)
    text += base::printable(sentence, 400) + "\n";
  return text;
}

std::string model_text(const Json& model) {
  const auto parameters = count_at(model, {"details", "parameters"});
  const auto context = count_at(model, {"details", "context_length"});
  const auto size = count_at(model, {"layers", "artifact", "total"});
  const auto requests = count_at(model, {"requests"});
  std::string text = line("name", text_at(model, {"id"}));
  text += line("state", text_at(model, {"state"}));
  text += failure_lines(model);
  text += line("size", size ? std::optional(base::format_bytes(*size)) : std::nullopt);
  text += line("architecture", text_at(model, {"details", "architecture"}));
  text += line("quantisation", text_at(model, {"details", "quantisation"}));
  text += line("parameters", parameters ? std::optional(format_count(*parameters)) : std::nullopt);
  text += line("context", context ? std::optional(fmt::format("{} tokens", *context)) : std::nullopt);
  text += line("engine", text_at(model, {"engine"}));
  text += line("class", text_at(model, {"class"}));
  text += keep_lines(model);
  text += line("ready in", ready_text(model));
  if (const auto promise = text_at(model, {"cold_start", "why"})) text += line("cold start", promise);
  text += expected_lines(model);
  if (const auto evictions = count_at(model, {"evictions"}); evictions && *evictions > 0)
    text += line("evictions", fmt::format("{}", *evictions));
  text += line("memory", memory_text(model));
  text += line("last used at", text_at(model, {"last_used_at"}).value_or("never"));
  text += line("requests", requests ? std::optional(fmt::format("{}", *requests)) : std::nullopt);
  text += "\nlayers\n";
  for (const auto layer : kModelLayers)
    text += line(fmt::format("  {}", name_of(layer)), layer_cell(layer_of(model, layer)));
  return text;
}

}  // namespace hearth::cli
