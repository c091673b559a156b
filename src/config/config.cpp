#include "config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "config/nearest.h"
#include "config/toml_reader.h"
#include "domain/engine_flags.h"

namespace hearth::config {
namespace {

using Names = std::string_view;
constexpr std::array kSections = {Names("server"),  Names("engine"),   Names("memory"), Names("residency"),
                                  Names("classes"), Names("defaults"), Names("models"), Names("history"),
                                  Names("prefix"),  Names("prefixes")};
constexpr std::array kServerKeys = {Names("listen"),   Names("data_dir"),
                                    Names("api_key"),  Names("allow_remote_without_key"),
                                    Names("max_body"), Names("stop_grace")};
constexpr std::array kEngineKeys = {Names("command"),      Names("path"),        Names("tier"),
                                    Names("packed_quota"), Names("start_stall"), Names("start_limit")};
constexpr std::array kMemoryKeys = {Names("host_budget"), Names("reserve")};
constexpr std::array kResidencyKeys = {Names("prewarm"), Names("prewarm_memory"), Names("schedules")};
constexpr std::array kClassKeys = {Names("max_cold_ttft")};
constexpr std::array kHistoryKeys = {Names("keep")};
constexpr std::array kPrefixKeys = {Names("enabled"), Names("disk"), Names("memory"), Names("exact")};
constexpr std::array kPrefixesKeys = {Names("model"), Names("system"), Names("text")};
constexpr std::array kDefaultsKeys = {Names("class"), Names("context"), Names("keep_alive"), Names("slots"),
                                      Names("flags")};
constexpr std::array kModelKeys = {Names("class"),      Names("pinned"), Names("context"),
                                   Names("keep_alive"), Names("slots"),  Names("flags")};
constexpr std::array kClasses = {Names("voice"), Names("interactive"), Names("background")};
const std::array kAllKeys = {
    SectionKeys{"[server]", kServerKeys},       SectionKeys{"[engine]", kEngineKeys},
    SectionKeys{"[memory]", kMemoryKeys},       SectionKeys{"[defaults]", kDefaultsKeys},
    SectionKeys{"[models.\"id\"]", kModelKeys}, SectionKeys{"[history]", kHistoryKeys},
    SectionKeys{"[prefix]", kPrefixKeys},       SectionKeys{"[prefixes.\"name\"]", kPrefixesKeys}};

constexpr std::uintmax_t kLargestFile = 1'000'000;
constexpr base::Bytes kLeastBody = 1024;
constexpr base::Bytes kLargestBody = 4'000'000'000;
constexpr unsigned kLargestContext = 16'777'216;
constexpr unsigned kMostSlots = 256;
constexpr Milliseconds kLongestGrace{3'600'000};

base::Result<domain::ServiceClass> class_of(const toml::node& node) {
  const auto text = node.value_exact<std::string>();
  const auto found = text ? domain::service_class_named(*text) : std::nullopt;
  if (found) return *found;
  return base::fail(base::ErrorCode::bad_request, "unknown class" + advice(text.value_or(""), kClasses));
}

base::Result<ListenAddress> listen_of(const toml::node& node) {
  auto text = text_of(node);
  if (!text) return base::pass(text);
  return parse_listen_address(*text);
}

base::Result<std::string> api_key_of(const toml::node& node) {
  auto key = text_of(node);
  const bool fits = key && std::ranges::all_of(*key, [](char c) { return c > ' ' && c < 0x7f; });
  if (fits) return key;
  return base::fail(base::ErrorCode::bad_request,
                    "must be a string of visible ASCII characters without spaces, as it travels in a header");
}

base::Result<base::Bytes> body_of(const toml::node& node) {
  auto bytes = bytes_of(node);
  if (bytes && (*bytes < kLeastBody || *bytes > kLargestBody)) {
    return base::fail(base::ErrorCode::bad_request, "must be from 1KiB to 4GB");
  }
  return bytes;
}

base::Result<Milliseconds> grace_of(const toml::node& node) {
  auto span = duration_of(node);
  if (span && *span > kLongestGrace) return base::fail(base::ErrorCode::bad_request, "must be at most 1h");
  return span;
}

base::Result<Milliseconds> positive_duration_of(const toml::node& node) {
  auto span = duration_of(node);
  if (span && span->count() == 0) return base::fail(base::ErrorCode::bad_request, "must be more than 0");
  return span;
}

base::Result<std::vector<std::string>> flags_of(const toml::node& node) {
  auto flags = texts_of(node);
  if (!flags) return base::pass(flags);
  if (auto checked = domain::check_engine_flags(*flags); !checked) return base::pass(checked);
  return flags;
}

base::Result<std::vector<std::string>> command_of(const toml::node& node) {
  auto command = texts_of(node);
  if (!command)
    return base::fail(base::ErrorCode::bad_request, "must be a list of strings like [\"/usr/bin/llama-server\"]");
  const bool usable = !command->empty() && !command->front().empty() &&
                      std::ranges::none_of(*command, [](const auto& word) { return word.contains('\0'); });
  if (!usable)
    return base::fail(base::ErrorCode::bad_request, "must name a program first, like [\"/usr/bin/llama-server\"]");
  return command;
}

// A prompt: any text, line feeds included.
base::Result<std::string> prompt_of(const toml::node& node) {
  const auto text = node.value_exact<std::string>();
  if (text && !text->empty()) return *text;
  return base::fail(base::ErrorCode::bad_request, "must be a string that is not empty");
}

base::Result<std::optional<domain::ModelId>> model_id_of(const toml::node& node) {
  auto text = text_of(node);
  if (!text) return base::pass(text);
  auto id = domain::ModelId::parse(*text);
  if (!id) return base::pass(id);
  return std::optional(std::move(*id));
}

base::Result<unsigned> context_of(const toml::node& node) { return number_of(node, 1, kLargestContext); }
base::Result<unsigned> slots_of(const toml::node& node) { return number_of(node, 1, kMostSlots); }

// Absolute, or "~/…" for the home folder.
base::Result<std::filesystem::path> absolute_of(const toml::node& node, const Environment& environment) {
  auto text = text_of(node);
  if (!text) return base::pass(text);
  if (text->starts_with("~/")) {
    if (const auto home = environment("HOME")) return std::filesystem::path(*home) / text->substr(2);
  }
  std::filesystem::path path(*text);
  if (path.is_absolute()) return path;
  return base::fail(base::ErrorCode::bad_request, "must be an absolute path, or begin with ~/ where HOME is set");
}

std::filesystem::path home_folder(const Environment& environment, const char* variable, std::string_view below_home) {
  if (const auto set = environment(variable); set && std::filesystem::path(*set).is_absolute()) return *set;
  if (const auto home = environment("HOME")) return std::filesystem::path(*home) / below_home;
  return {};
}

std::filesystem::path default_data_dir(const Environment& environment) {
  const auto folder = home_folder(environment, "XDG_DATA_HOME", ".local/share");
  return folder.empty() ? std::filesystem::path("/var/lib/hearth") : folder / "hearth";
}

template <typename T>
std::optional<T> first_of(const std::optional<T>& own, const std::optional<T>& general) {
  return own ? own : general;
}

}  // namespace

// Fills a Config from a parsed file. Lives for one parse.
class ConfigReader {
 public:
  ConfigReader(const toml::table& root, std::string file, const Environment& environment)
      : root_(root), faults_(std::move(file)), environment_(environment), config_(default_data_dir(environment)) {}

  base::Result<Config> read(const Overrides& overrides) && {
    check_sections();
    with_table("server", [&](const toml::table& table) { read_server(table); });
    with_table("engine", [&](const toml::table& table) { read_engine(table); });
    with_table("memory", [&](const toml::table& table) { read_memory(table); });
    with_table("residency", [&](const toml::table& table) { read_residency(table); });
    with_table("classes", [&](const toml::table& table) { read_classes(table); });
    with_table("defaults",
               [&](const toml::table& table) { read_model(table, "[defaults]", kDefaultsKeys, config_.defaults_); });
    with_table("models", [&](const toml::table& table) { read_models(table); });
    with_table("history", [&](const toml::table& table) { read_history(table); });
    with_table("prefix", [&](const toml::table& table) { read_prefix(table); });
    with_table("prefixes", [&](const toml::table& table) { read_prefixes(table); });
    if (!faults_.empty()) return std::unexpected(faults_.error());
    if (auto overridden = override_with(overrides); !overridden) return base::pass(overridden);
    if (auto safe = check_exposure(overrides); !safe) return base::pass(safe);
    return std::move(config_);
  }

 private:
  void check_sections() {
    for (const auto& [key, node] : root_) {
      if (std::ranges::find(kSections, key.str()) != kSections.end()) continue;
      faults_.add(key.source(), fmt::format("unknown {} \"{}\"{}", node.is_table() ? "section" : "key",
                                            base::printable(key.str(), 60), advice(key.str(), kSections, "sections")));
    }
  }

  template <typename Read>
  void with_table(std::string_view name, Read read) {
    const toml::node* node = root_.get(name);
    if (node == nullptr) return;
    if (const auto* table = node->as_table()) {
      read(*table);
    } else {
      faults_.add(node->source(), fmt::format("{0} must be a section: write [{0}]", name));
    }
  }

  void read_server(const toml::table& table) {
    TableReader reader(table, "[server]", kServerKeys, faults_);
    auto& server = config_.server_;
    reader.read("listen", server.listen, listen_of);
    reader.read("data_dir", server.data_dir, [&](const toml::node& node) { return absolute_of(node, environment_); });
    reader.read("api_key", server.api_key, api_key_of);
    reader.read("allow_remote_without_key", server.allow_remote_without_key, bool_of);
    reader.read("max_body", server.max_body, body_of);
    reader.read("stop_grace", server.stop_grace, grace_of);
    listen_place_ = reader.place_of("listen");
  }

  void read_engine(const toml::table& table) {
    TableReader reader(table, "[engine]", kEngineKeys, faults_);
    std::filesystem::path path;
    reader.read("command", config_.engine_.command, command_of);
    reader.read("path", path, [&](const toml::node& node) { return absolute_of(node, environment_); });
    reader.read("tier", config_.engine_.tier, bool_of);
    reader.read("packed_quota", config_.engine_.packed_quota, bytes_of);
    reader.read("start_stall", config_.engine_.start_stall, positive_duration_of);
    reader.read("start_limit", config_.engine_.start_limit, positive_duration_of);
    if (path.empty()) return;
    if (table.contains("command"))
      faults_.add(reader.place_of("path"), "path and command in [engine] say the same thing; keep one of them");
    config_.engine_.command = {path.string()};
  }

  void read_memory(const toml::table& table) {
    TableReader reader(table, "[memory]", kMemoryKeys, faults_);
    reader.read("host_budget", config_.memory_.host_budget, bytes_of);
    reader.read("reserve", config_.memory_.reserve, bytes_of);
  }

  void read_model(const toml::table& table, std::string section, std::span<const std::string_view> keys,
                  ModelConfig& model) {
    TableReader reader(table, std::move(section), keys, faults_);
    reader.read("class", model.service_class, class_of);
    reader.read("context", model.context, context_of);
    reader.read("keep_alive", model.keep_alive, keep_alive_of);
    reader.read("slots", model.slots, slots_of);
    reader.read("flags", model.flags, flags_of);
    if (std::ranges::find(keys, "pinned") != keys.end()) reader.read("pinned", model.pinned, bool_of);
  }

  void read_models(const toml::table& table) {
    for (const auto& [key, node] : table) {
      auto id = domain::ModelId::parse(key.str());
      if (!id) {
        faults_.add(key.source(), id.error());
      } else if (!node.is_table()) {
        faults_.add(key.source(), fmt::format("{0} in [models] must be a section: write [models.\"{0}\"]", id->text()));
      } else if (config_.models_.contains(*id)) {
        faults_.add(key.source(),
                    fmt::format("model \"{}\" is named twice; upper and lower case are the same", id->text()));
      } else {
        read_model(*node.as_table(), fmt::format("[models.\"{}\"]", id->text()), kModelKeys, config_.models_[*id]);
      }
    }
  }

  void read_residency(const toml::table& table) {
    TableReader reader(table, "[residency]", kResidencyKeys, faults_);
    reader.read("prewarm", config_.residency_.prewarm, bool_of);
    reader.read("prewarm_memory", config_.residency_.prewarm_memory, bytes_of);
    if (const toml::node* list = table.get("schedules")) read_schedules(*list);
  }

  // Each wrong line is a fault of its own, at its place.
  void read_schedules(const toml::node& node) {
    constexpr std::string_view kWanted =
        "schedules in [residency]: must be a list of strings like [\"weekdays 06:45: voice resident\"]";
    const auto* list = node.as_array();
    if (list == nullptr) return faults_.add(node.source(), std::string(kWanted));
    for (const auto& item : *list) {
      const auto text = item.value_exact<std::string>();
      base::Result<Schedule> schedule = base::fail(base::ErrorCode::bad_request, std::string(kWanted));
      if (text) schedule = parse_schedule(*text);
      if (schedule)
        config_.residency_.schedules.push_back(std::move(*schedule));
      else
        faults_.add(item.source(), schedule.error());
    }
  }

  void read_classes(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const auto found = domain::service_class_named(key.str());
      if (!found) {
        faults_.add(key.source(), fmt::format("unknown class \"{}\" in [classes]{}", base::printable(key.str(), 60),
                                              advice(key.str(), kClasses)));
      } else if (!node.is_table()) {
        faults_.add(key.source(), fmt::format("{0} in [classes] must be a section: write [classes.{0}]", key.str()));
      } else {
        TableReader reader(*node.as_table(), fmt::format("[classes.{}]", key.str()), kClassKeys, faults_);
        reader.read("max_cold_ttft", config_.classes_[static_cast<std::size_t>(*found)].max_cold_ttft,
                    positive_duration_of);
      }
    }
  }

  void read_history(const toml::table& table) {
    TableReader reader(table, "[history]", kHistoryKeys, faults_);
    reader.read("keep", config_.history_.keep, duration_of);
  }

  void read_prefix(const toml::table& table) {
    TableReader reader(table, "[prefix]", kPrefixKeys, faults_);
    reader.read("enabled", config_.prefix_.enabled, bool_of);
    reader.read("disk", config_.prefix_.disk, bytes_of);
    reader.read("memory", config_.prefix_.memory, bytes_of);
    reader.read("exact", config_.prefix_.exact, bool_of);
    if (config_.prefix_.exact && !config_.prefix_.enabled)
      faults_.add(reader.place_of("exact"),
                  "exact in [prefix] needs enabled: leave out enabled = false, or leave out exact");
  }

  void read_prefixes(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (!node.is_table()) {
        faults_.add(key.source(), fmt::format("\"{0}\" in [prefixes] must be a section: write [prefixes.\"{0}\"]",
                                              base::printable(name, 60)));
        continue;
      }
      TableReader reader(*node.as_table(), fmt::format("[prefixes.\"{}\"]", base::printable(name, 60)), kPrefixesKeys,
                         faults_);
      std::optional<domain::ModelId> model;
      std::string system;
      std::string text;
      reader.read("model", model, model_id_of);
      reader.read("system", system, prompt_of);
      reader.read("text", text, prompt_of);
      if (!model)
        faults_.add(key.source(), fmt::format("[prefixes.\"{}\"] must name its model", base::printable(name, 60)));
      else if (system.empty() == text.empty())
        faults_.add(key.source(),
                    fmt::format("[prefixes.\"{}\"] must have one of system and text", base::printable(name, 60)));
      else
        config_.prefixes_.emplace(name, DeclaredPrefix{std::move(*model), std::move(system), std::move(text)});
    }
  }

  base::Status override_with(const Overrides& overrides) {
    if (overrides.listen) {
      auto listen = parse_listen_address(*overrides.listen);
      if (!listen) return base::pass(listen, "--listen");
      config_.server_.listen = *listen;
    }
    if (overrides.data_dir) {
      std::error_code error;
      auto folder = std::filesystem::absolute(*overrides.data_dir, error);
      if (error || folder.empty())
        return base::fail(base::ErrorCode::bad_request, "--data-dir must be the path of a folder");
      config_.server_.data_dir = folder.lexically_normal();
    }
    return {};
  }

  base::Status check_exposure(const Overrides& overrides) {
    const auto& server = config_.server_;
    if (server.listen.is_loopback() || server.api_key || server.allow_remote_without_key) return {};
    std::string refusal = fmt::format(
        "listening on {} lets other machines in and no API key is set; set api_key in [server], or say "
        "allow_remote_without_key = true",
        server.listen.text());
    if (overrides.listen) return base::fail(base::ErrorCode::bad_request, "--listen: " + refusal);
    faults_.add(listen_place_, std::move(refusal));
    return std::unexpected(faults_.error());
  }

  const toml::table& root_;
  Faults faults_;
  const Environment& environment_;
  Config config_;
  toml::source_region listen_place_;
};

ModelConfig Config::effective_for(const domain::ModelId& id) const {
  static const ModelConfig kUnnamed;
  const auto found = models_.find(id);
  const ModelConfig& own = found == models_.end() ? kUnnamed : found->second;
  ModelConfig merged;
  merged.service_class =
      first_of(own.service_class, defaults_.service_class).value_or(domain::ServiceClass::interactive);
  merged.pinned = own.pinned.value_or(false);
  merged.context = first_of(own.context, defaults_.context);
  merged.keep_alive = first_of(own.keep_alive, defaults_.keep_alive).value_or(KeepAlive{kDefaultKeepAlive});
  merged.slots = first_of(own.slots, defaults_.slots);
  if (!merged.slots && prefix_.exact) merged.slots = 1;
  merged.flags = defaults_.flags;
  merged.flags.insert(merged.flags.end(), own.flags.begin(), own.flags.end());
  return merged;
}

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

base::Result<Config> parse_config(std::string_view text, std::string_view name, const Overrides& overrides,
                                  const Environment& environment) {
  const toml::parse_result parsed = toml::parse(text, name);
  if (!parsed) {
    Faults faults{std::string(name)};
    faults.add(parsed.error().source(), base::printable(parsed.error().description(), 300));
    return std::unexpected(faults.error());
  }
  return ConfigReader(parsed.table(), std::string(name), environment).read(overrides);
}

base::Result<Config> load_config(const std::filesystem::path& file, const Overrides& overrides,
                                 const Environment& environment) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) {
    return base::fail_errno(fmt::format("reading the configuration {}", file.string()), error ? error.value() : ENOENT);
  }
  if (std::filesystem::is_directory(status))
    return base::fail_errno(fmt::format("reading the configuration {}", file.string()), EISDIR);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return base::fail_errno(fmt::format("reading the configuration {}", file.string()), errno);
  std::string text(kLargestFile + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad())
    return base::fail(base::ErrorCode::io, fmt::format("reading the configuration {} failed", file.string()));
  if (text.size() > kLargestFile) {
    return base::fail(base::ErrorCode::too_large,
                      fmt::format("the configuration {} is larger than 1 MB; is it the right file?", file.string()));
  }
  return parse_config(text, file.string(), overrides, environment);
}

base::Result<Config> find_config(const std::optional<std::filesystem::path>& named, const Overrides& overrides,
                                 const Environment& environment) {
  if (named) return load_config(*named, overrides, environment);
  const auto personal = home_folder(environment, "XDG_CONFIG_HOME", ".config");
  for (const auto& folder : {personal, std::filesystem::path("/etc")}) {
    if (folder.empty()) continue;
    const auto file = folder / "hearth" / "hearth.toml";
    std::error_code ignored;  // load_config says what is wrong with a file that cannot be looked at
    const bool absent = std::filesystem::status(file, ignored).type() == std::filesystem::file_type::not_found;
    if (!absent) return load_config(file, overrides, environment);
  }
  return parse_config("", "", overrides, environment);
}

std::span<const SectionKeys> all_keys() { return kAllKeys; }

}  // namespace hearth::config
