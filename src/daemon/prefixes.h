#pragma once
// The prefix tier as this server has it: opened from the configuration, planned for each model, shown over HTTP.
// Thread: the I/O thread.
#include <memory>
#include <optional>

#include "artifact/stored_model.h"
#include "config/config.h"
#include "domain/engine_info.h"
#include "http/prefix_api.h"
#include "keeper/keeper.h"
#include "keeper/prefix_tier.h"

namespace hearth::daemon {

// Empty where prefixes are not kept; a store that cannot be opened is logged, and the server runs without it.
[[nodiscard]] std::unique_ptr<keeper::PrefixTier> open_prefixes(const config::Config& config, sys::Files& files,
                                                                rt::BlockingPool& pool, sys::Pages& pages,
                                                                const base::Clock& clock,
                                                                std::function<void(domain::Event)> on_event);

// How exact answers are kept ([prefix] exact); without it all of this is empty.
struct Exactness {
  std::optional<prefix::BatchRule> rule;  // how this engine computes this model; empty: not known, nothing is reused
  prefix::ExactFlags added;               // to the flags of the configuration
};
// Reads the head of the model's file; blocks.
[[nodiscard]] Exactness exactness_of(const artifact::StoredModel& model, const domain::EngineInfo& engine,
                                     const config::ModelConfig& config);

// What identifies the states of this model under this engine and configuration, in which `exact` comes with the flags
// that it adds to an engine whose rule is known. Looks at the files that flags name.
// Errors: unsupported when not everything is known.
[[nodiscard]] base::Result<keeper::PrefixPlan> plan_prefixes(const artifact::StoredModel& model,
                                                             const domain::EngineInfo& engine,
                                                             const config::ModelConfig& config, unsigned slots,
                                                             bool exact);

class TierPrefixes final : public http::PrefixShelf {
 public:
  // `tier` may be null: then every answer says why.
  TierPrefixes(keeper::PrefixTier* tier, keeper::Keeper& keeper) : tier_(tier), keeper_(keeper) {}
  [[nodiscard]] rt::Task<std::vector<domain::PrefixView>> list() override;
  [[nodiscard]] rt::Task<base::Result<domain::PrefixView>> find(std::string id) override;
  [[nodiscard]] rt::Task<base::Result<domain::PrefixView>> declare(domain::ModelId model, std::string name,
                                                                   domain::Json request) override;
  [[nodiscard]] rt::Task<base::Status> remove(std::string id) override;
  [[nodiscard]] rt::Task<base::Result<domain::PrefixView>> verify(std::string id) override;

 private:
  keeper::PrefixTier* tier_;
  keeper::Keeper& keeper_;
};

}  // namespace hearth::daemon
