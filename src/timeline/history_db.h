#pragma once
// The history on disk (docs/history-format.md): requests, the last of them as they were told, and what happened to
// models. Learnt from at the next start; nothing in it is needed to serve.
//
// Blocking; one thread at a time.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/database.h"
#include "domain/event.h"
#include "domain/request.h"

namespace hearth::timeline {

// What is kept of a request for good.
struct RequestRow {
  base::Wall at;
  std::string id;
  std::string model;
  domain::ServiceClass service_class = domain::ServiceClass::interactive;
  int status = 0;
  std::optional<double> ttft_ms;
  double total_ms = 0;
  double cold_ms = 0;              // before the first token, spent on layers that were not warm
  std::optional<double> start_ms;  // of the engine start that it waited for, all of it
  std::optional<domain::Layer> cause;

  friend bool operator==(const RequestRow&, const RequestRow&) = default;
};
// Empty for a request that named no model.
[[nodiscard]] std::optional<RequestRow> row_of(const domain::RequestRecord& record,
                                               const domain::RequestObservation& observation);

struct HistoryLimits {
  base::Duration age = std::chrono::hours(24 * 180);
  std::int64_t requests = 200'000;
  std::int64_t events = 50'000;
  std::int64_t records = 1000;
};

// One thing to write.
struct HistoryEntry {
  std::optional<RequestRow> request;
  std::optional<domain::RequestRecord> record;
  std::optional<domain::Event> event;  // one that names a model
};

class HistoryDb {
 public:
  struct Opened {
    std::unique_ptr<HistoryDb> db;
    std::optional<std::string> set_aside;  // where a damaged one went
  };
  // Makes the folder and the database where they are missing; sets a damaged one aside and begins anew.
  // Errors: unsupported (a newer hearth wrote it), permission, no_space, io.
  [[nodiscard]] static base::Result<Opened> open(const std::filesystem::path& folder, const HistoryLimits& limits,
                                                 base::Wall now);

  // All of it or nothing. Every kRowsBetweenCuts rows what is beyond the limits goes.
  [[nodiscard]] base::Status write(const std::vector<HistoryEntry>& entries, base::Wall now);

  // Oldest first. Rows that make no sense by themselves are left out: a name that is no model's, a class that there is
  // not, a time after `now`.
  [[nodiscard]] base::Status each_request(base::Wall now, const std::function<void(const RequestRow&)>& see);
  [[nodiscard]] base::Status each_event(base::Wall now, const std::function<void(const domain::Event&)>& see);
  [[nodiscard]] base::Result<std::vector<domain::RequestRecord>> records();

  static constexpr std::int64_t kRowsBetweenCuts = 1000;

 private:
  HistoryDb(std::unique_ptr<base::Database> db, const HistoryLimits& limits) : db_(std::move(db)), limits_(limits) {}
  [[nodiscard]] base::Status write_rows(const std::vector<HistoryEntry>& entries);

  std::unique_ptr<base::Database> db_;
  HistoryLimits limits_;
  std::int64_t rows_since_cut_ = 0;
};

}  // namespace hearth::timeline
