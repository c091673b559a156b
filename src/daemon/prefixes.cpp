#include "daemon/prefixes.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <filesystem>

#include "artifact/byte_source.h"
#include "artifact/gguf.h"
#include "prefix/fingerprint.h"

namespace hearth::daemon {

using base::ErrorCode;
using domain::Json;
using domain::PrefixView;

namespace {

std::vector<keeper::DeclaredPrefix> configured(const config::Config& config) {
  std::vector<keeper::DeclaredPrefix> declared;
  for (const auto& [name, prefix] : config.prefixes()) {
    Json request = Json::object();
    if (prefix.system.empty()) {
      request["prompt"] = prefix.text;
    } else {
      const Json message = {{"role", "system"}, {"content", prefix.system}};
      request["messages"] = Json::array();
      request["messages"].push_back(message);
    }
    declared.push_back({keeper::PrefixTier::id_of(prefix.model, name), prefix.model, name, std::move(request), true});
  }
  return declared;
}

// Every file that a flag or its value names; another file under the same name is another state.
std::vector<prefix::NamedFile> files_named_in(const std::vector<std::string>& flags) {
  std::vector<prefix::NamedFile> files;
  for (const auto& flag : flags) {
    for (const std::string& path : {flag, flag.substr(flag.find('=') + 1)}) {
      struct stat facts {};
      if (path.empty() || ::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
      files.push_back({path, static_cast<std::uint64_t>(facts.st_size),
                       facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec});
    }
  }
  return files;
}

// A dense llama whose layers look back on everything. A file that cannot be read is not known to be one.
bool is_plain(const std::string& path) {
  const auto source = artifact::FileSource::open(path.c_str());
  if (!source) return false;
  const auto gguf = artifact::read_gguf(*source);
  if (!gguf) return false;
  const std::string* architecture = gguf->text("general.architecture");
  return architecture != nullptr && *architecture == "llama" && gguf->number("llama.expert_count").value_or(0) == 0 &&
         !gguf->metadata.contains("llama.attention.sliding_window");
}

prefix::BatchFacts batch_facts(const domain::EngineInfo& engine, const config::ModelConfig& config, bool plain_model) {
  return {.build = engine.build,
          .backends = engine.backends,
          .flags = config.flags,
          .slots = config.slots,
          .plain_model = plain_model};
}

base::Error not_kept() {
  return {ErrorCode::unsupported,
          "prefixes are not kept here; see [prefix] enabled in the configuration and the server's log"};
}

}  // namespace

std::unique_ptr<keeper::PrefixTier> open_prefixes(const config::Config& config, sys::Files& files,
                                                  rt::BlockingPool& pool, sys::Pages& pages, const base::Clock& clock,
                                                  std::function<void(domain::Event)> on_event) {
  if (!config.prefix().enabled) return nullptr;
  const std::string folder = config.server().data_dir / "prefix";
  prefix::StoreLimits limits;
  limits.disk = config.prefix().disk;
  auto store = prefix::Store::open(
      {folder, files, clock, limits, [on_event](const domain::Event& event) { on_event(event); }, {}});
  if (!store) {
    spdlog::warn("prompt states are not kept: {}", store.error().message);
    return nullptr;
  }
  return std::make_unique<keeper::PrefixTier>(keeper::PrefixTier::Parts{std::move(*store), folder + "/declared.json",
                                                                        files, pool, pages, clock, configured(config),
                                                                        std::move(on_event)});
}

Exactness exactness_of(const artifact::StoredModel& model, const domain::EngineInfo& engine,
                       const config::ModelConfig& config) {
  prefix::BatchFacts facts = batch_facts(engine, config, is_plain(model.path));
  Exactness exactness{.rule = std::nullopt, .added = prefix::exact_flags(facts)};
  facts.flags.insert(facts.flags.end(), exactness.added.flags.begin(), exactness.added.flags.end());
  exactness.rule = prefix::batch_rule(facts);
  return exactness;
}

base::Result<keeper::PrefixPlan> plan_prefixes(const artifact::StoredModel& model, const domain::EngineInfo& engine,
                                               const config::ModelConfig& config, unsigned slots, bool exact) {
  prefix::FingerprintParts parts;
  parts.model_digest = model.manifest.digest.text();
  parts.engine_version = engine.version;
  parts.engine_build = engine.build.value_or("");
  parts.backends = engine.backends;
  if (config.context) parts.context = *config.context;
  if (config.slots) parts.slots = *config.slots;
  parts.flags = config.flags;
  if (exact) {
    const auto added = prefix::exact_flags(batch_facts(engine, config, true));
    parts.flags.insert(parts.flags.end(), added.flags.begin(), added.flags.end());
  }
  parts.files = files_named_in(config.flags);
  parts.exact = exact;
  const std::string build = parts.engine_build;
  auto fingerprint = prefix::make_fingerprint(std::move(parts));
  if (!fingerprint) return base::pass(fingerprint);
  return keeper::PrefixPlan{.model = model.manifest.id,
                            .model_digest = model.manifest.digest.text(),
                            .engine = engine.id,
                            .engine_build = build,
                            .fingerprint = std::move(*fingerprint),
                            .slots = slots,
                            .exact = exact,
                            .rule = std::nullopt};
}

rt::Task<std::vector<PrefixView>> TierPrefixes::list() {
  if (tier_ == nullptr) co_return std::vector<PrefixView>();
  co_return co_await tier_->list();
}

rt::Task<base::Result<PrefixView>> TierPrefixes::find(std::string id) {
  if (tier_ == nullptr) co_return std::unexpected(not_kept());
  co_return co_await tier_->find(std::move(id));
}

rt::Task<base::Result<PrefixView>> TierPrefixes::declare(domain::ModelId model, std::string name, Json request) {
  if (tier_ == nullptr) co_return std::unexpected(not_kept());
  auto known = co_await keeper_.find(model);
  if (!known) co_return base::pass(known);
  auto view = co_await tier_->declare(model, std::move(name), std::move(request));
  if (view) keeper_.settle_soon(model);
  co_return view;
}

rt::Task<base::Status> TierPrefixes::remove(std::string id) {
  if (tier_ == nullptr) co_return std::unexpected(not_kept());
  co_return co_await tier_->remove(std::move(id));
}

rt::Task<base::Result<PrefixView>> TierPrefixes::verify(std::string id) {
  if (tier_ == nullptr) co_return std::unexpected(not_kept());
  co_return co_await tier_->verify(std::move(id));
}

}  // namespace hearth::daemon
