#include "http/ollama_options.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace hearth::http {
namespace {

using Json = nlohmann::ordered_json;

enum class Kind { number, integer, boolean, texts };

struct Option {
  std::string_view name;
  Kind kind;
  std::string_view field;           // at the engine; empty: nothing to send
  std::optional<double> otherwise;  // what Ollama takes when it is not given; empty: not sent then
};

// Source: Ollama's api.Options and llama-server's completion parameters (build 11669).
constexpr std::array kOptions = {
    Option{"temperature", Kind::number, "temperature", 0.8},
    Option{"top_k", Kind::integer, "top_k", 40},
    Option{"top_p", Kind::number, "top_p", 0.9},
    Option{"min_p", Kind::number, "min_p", 0},
    Option{"typical_p", Kind::number, "typical_p", 1},
    Option{"repeat_penalty", Kind::number, "repeat_penalty", 1},
    Option{"repeat_last_n", Kind::integer, "repeat_last_n", 64},
    Option{"presence_penalty", Kind::number, "presence_penalty", 0},
    Option{"frequency_penalty", Kind::number, "frequency_penalty", 0},
    Option{"mirostat", Kind::integer, "mirostat", {}},
    Option{"mirostat_tau", Kind::number, "mirostat_tau", {}},
    Option{"mirostat_eta", Kind::number, "mirostat_eta", {}},
    Option{"seed", Kind::integer, "seed", {}},
    Option{"num_predict", Kind::integer, "n_predict", {}},
    Option{"num_keep", Kind::integer, "n_keep", {}},
    Option{"stop", Kind::texts, "stop", {}},
    Option{"num_ctx", Kind::integer, "", {}},
    Option{"num_batch", Kind::integer, "", {}},
    Option{"num_gpu", Kind::integer, "", {}},
    Option{"main_gpu", Kind::integer, "", {}},
    Option{"num_thread", Kind::integer, "", {}},
    Option{"draft_num_predict", Kind::integer, "", {}},
    Option{"use_mmap", Kind::boolean, "", {}},
};

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::number:
      return "number";
    case Kind::integer:
      return "integer";
    case Kind::boolean:
      return "boolean";
    case Kind::texts:
      return "array of strings";
  }
  return "";
}

bool all_texts(const Json& value) {
  if (!value.is_array()) return false;
  for (const auto& item : value)
    if (!item.is_string()) return false;
  return true;
}

// The value in the engine's form; empty when it is of another kind. A whole number may be written with a fraction of
// zero, as JavaScript and Go do.
std::optional<Json> converted(const Json& value, Kind kind) {
  switch (kind) {
    case Kind::number:
      return value.is_number() ? std::optional(value) : std::nullopt;
    case Kind::integer: {
      if (value.is_number_integer()) return value;
      constexpr double kMost = 9e15;  // exact in a double
      if (!value.is_number_float() || std::abs(value.get<double>()) > kMost) return std::nullopt;
      return Json(static_cast<std::int64_t>(value.get<double>()));
    }
    case Kind::boolean:
      return value.is_boolean() ? std::optional(value) : std::nullopt;
    case Kind::texts:
      if (value.is_string()) return Json::array({value});
      return all_texts(value) ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

void take(OllamaOptions& into, const Option& option, const Json& value) {
  if (option.name == "num_ctx") into.context = value.get<std::int64_t>();
  if (option.field.empty()) return;
  if (option.name == "seed" && value.get<std::int64_t>() < 0) return;  // the engine picks one
  const std::string field(option.field);
  into.fields[field] = value;
  // No bound, in Ollama for all of these. -2 is no value of the engine's, and with 0 it answers one token.
  if (option.name == "num_predict" && value.get<std::int64_t>() <= 0) into.fields[field] = -1;
  if (option.name == "repeat_last_n") into.repeat_over_context = value.get<std::int64_t>() < 0;
}

}  // namespace

base::Result<OllamaOptions> read_ollama_options(const Json& options) {
  OllamaOptions read;
  if (!options.is_null() && !options.is_object())
    return base::fail(base::ErrorCode::bad_request, "\"options\" must be an object such as {\"temperature\": 0.8}");
  for (const auto& option : kOptions) {
    const auto found = options.is_object() ? options.find(std::string(option.name)) : options.end();
    if (!options.is_object() || found == options.end() || found->is_null()) {
      if (option.otherwise && option.kind == Kind::integer)
        read.fields[std::string(option.field)] = static_cast<std::int64_t>(*option.otherwise);
      else if (option.otherwise)
        read.fields[std::string(option.field)] = *option.otherwise;
      continue;
    }
    const auto value = converted(*found, option.kind);
    if (!value) {
      return base::fail(base::ErrorCode::bad_request,
                        fmt::format("option \"{}\" must be of type {}", option.name, name_of(option.kind)));
    }
    take(read, option, *value);
  }
  return read;
}

}  // namespace hearth::http
