#pragma once
// Hearth's configuration: a TOML file made into plain values, checked as a whole, then never changed.
//
// Every key, its default and its meaning for people is in docs/configuration.md; a test holds the two together. Reading
// is pure but for load_config, which opens the file. A Config can be had only by passing every check, and is a value:
// copy it, share it between threads, as you like.
//
// Errors are bad_request with one sentence that names file, line, column, the key and what is allowed; when there are
// several faults it tells the first and their number.
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "config/duration.h"
#include "config/listen_address.h"
#include "config/schedule.h"
#include "domain/model.h"
#include "domain/model_id.h"

namespace hearth::config {

struct ServerConfig {
  ListenAddress listen;
  std::filesystem::path data_dir;  // absolute
  std::optional<std::string> api_key;
  bool allow_remote_without_key = false;
  base::Bytes max_body = 100'000'000;  // of a request; model uploads are not bound by it
  Milliseconds stop_grace{30'000};     // for streams to finish after SIGTERM
};

struct EngineConfig {
  std::vector<std::string> command;         // argv up to and including llama-server; empty: look for one
  bool tier = true;                         // preload libhearth_tier.so where the engine can take it
  std::optional<base::Bytes> packed_quota;  // for all packed weights; empty: half of the room there
  Milliseconds start_stall{60'000};         // an engine start with no sign of progress for this long has failed
  Milliseconds start_limit{1'800'000};      // and so has one that took this long in all
};

struct MemoryConfig {
  std::optional<base::Bytes> host_budget;
  std::optional<base::Bytes> reserve;
};

struct ResidencyConfig {
  bool prewarm = true;  // warm what is expected to be used, as learnt
  // What all models together may hold that were warmed like this and not used yet; empty: half of the budget.
  std::optional<base::Bytes> prewarm_memory;
  std::vector<Schedule> schedules;
};

struct ClassConfig {
  std::optional<Milliseconds> max_cold_ttft;  // empty: any cold start is accepted
};

struct HistoryConfig {
  Milliseconds keep{std::chrono::hours(24 * 180)};  // 0: nothing is written
};

struct PrefixConfig {
  bool enabled = true;
  base::Bytes disk = 4'000'000'000;  // of all stored states
  base::Bytes memory = 256'000'000;  // the engine's own cache of prompts that left their slot, each model
  bool exact = false;                // reuse only what leaves an answer as it would be without any reuse, bit for bit
};

// A prompt beginning that is computed before anybody asks. One of `system` and `text` is set.
struct DeclaredPrefix {
  domain::ModelId model;
  std::string system;  // a system message, rendered with the model's template
  std::string text;    // the beginning of a prompt as it is, for /v1/completions
};

// For clients that say nothing where the file does not either; Ollama's own choice.
inline constexpr std::chrono::minutes kDefaultKeepAlive{5};

// What [defaults] and [models."id"] may both say. Empty: not said.
struct ModelConfig {
  std::optional<domain::ServiceClass> service_class;
  std::optional<bool> pinned;  // [models] only
  std::optional<unsigned> context;
  std::optional<KeepAlive> keep_alive;
  std::optional<unsigned> slots;
  std::vector<std::string> flags;  // for llama-server, none that Hearth owns
};

class Config {
 public:
  // What an empty file gives. `data_dir` must be absolute.
  explicit Config(std::filesystem::path data_dir) { server_.data_dir = std::move(data_dir); }

  [[nodiscard]] const ServerConfig& server() const { return server_; }
  [[nodiscard]] const EngineConfig& engine() const { return engine_; }
  [[nodiscard]] const MemoryConfig& memory() const { return memory_; }
  [[nodiscard]] const ResidencyConfig& residency() const { return residency_; }
  // What holds for a class, whether the file names it or not.
  [[nodiscard]] const ClassConfig& for_class(domain::ServiceClass service_class) const {
    return classes_[static_cast<std::size_t>(service_class)];
  }
  [[nodiscard]] const HistoryConfig& history() const { return history_; }
  [[nodiscard]] const PrefixConfig& prefix() const { return prefix_; }
  // By name.
  [[nodiscard]] const std::map<std::string, DeclaredPrefix>& prefixes() const { return prefixes_; }
  [[nodiscard]] const ModelConfig& defaults() const { return defaults_; }
  [[nodiscard]] const std::map<domain::ModelId, ModelConfig>& models() const { return models_; }

  // What holds for this model: its own word before [defaults]; flags are those of [defaults] followed by its own (of
  // two equal flags llama-server takes the last). service_class, pinned and keep_alive are never empty in the answer.
  [[nodiscard]] ModelConfig effective_for(const domain::ModelId& id) const;

 private:
  friend class ConfigReader;
  ServerConfig server_;
  EngineConfig engine_;
  MemoryConfig memory_;
  ResidencyConfig residency_;
  std::array<ClassConfig, 3> classes_;  // by domain::ServiceClass
  HistoryConfig history_;
  PrefixConfig prefix_;
  std::map<std::string, DeclaredPrefix> prefixes_;
  ModelConfig defaults_;
  std::map<domain::ModelId, ModelConfig> models_;
};

// A variable of the environment, or nothing. Empty variables count as nothing.
using Environment = std::function<std::optional<std::string>(const char* name)>;
[[nodiscard]] std::optional<std::string> process_environment(const char* name);

// What the command line says in place of the file; checked as if the file said it.
struct Overrides {
  std::optional<std::string> listen;
  std::optional<std::filesystem::path> data_dir;  // relative: to the working directory
};

// `name` stands for the file in errors.
[[nodiscard]] base::Result<Config> parse_config(std::string_view text, std::string_view name,
                                                const Overrides& overrides = {},
                                                const Environment& environment = process_environment);
// Besides bad_request: not_found, permission, io, too_large (over 1 MB), each naming the file.
[[nodiscard]] base::Result<Config> load_config(const std::filesystem::path& file, const Overrides& overrides = {},
                                               const Environment& environment = process_environment);
// The file that is named, else the first there is of $XDG_CONFIG_HOME/hearth/hearth.toml (~/.config without the
// variable) and /etc/hearth/hearth.toml, else no file at all.
[[nodiscard]] base::Result<Config> find_config(const std::optional<std::filesystem::path>& named,
                                               const Overrides& overrides = {},
                                               const Environment& environment = process_environment);

// Every section and its keys, as written in the file: the source of "allowed:" in errors, and of the documentation's
// test.
struct SectionKeys {
  std::string_view section;  // "[models.\"id\"]"
  std::span<const std::string_view> keys;
};
[[nodiscard]] std::span<const SectionKeys> all_keys();

}  // namespace hearth::config
