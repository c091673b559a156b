#pragma once
// What was learnt of how much memory models take, on disk (docs/estimates-format.md). Nothing in it is needed to serve.
//
// Blocking; any thread, one call at a time goes on.
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/database.h"
#include "policy/estimate.h"

namespace hearth::keeper {

class EstimateDb {
 public:
  struct Opened {
    std::unique_ptr<EstimateDb> db;
    std::optional<std::string> set_aside;  // where a damaged one went
  };
  // Makes the folder and the database where they are missing; sets a damaged one aside and begins anew.
  // Errors: unsupported (a newer hearth wrote it), permission, no_space, io.
  [[nodiscard]] static base::Result<Opened> open(const std::filesystem::path& folder, base::Wall now);

  // What was learnt longest ago first. Rows that make no sense are left out.
  [[nodiscard]] base::Result<std::vector<policy::Learnt>> all();
  // In place of what is there for that model and these options. Beyond Estimator::kMostEntries the oldest go.
  [[nodiscard]] base::Status write(const policy::Learnt& learnt, base::Wall now);
  [[nodiscard]] base::Status forget(const domain::ModelId& id);

 private:
  explicit EstimateDb(std::unique_ptr<base::Database> db) : db_(std::move(db)) {}

  std::mutex mutex_;
  std::unique_ptr<base::Database> db_;
};

}  // namespace hearth::keeper
