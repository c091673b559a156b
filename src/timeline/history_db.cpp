#include "timeline/history_db.h"

#include "domain/cold_time.h"
#include "domain/json.h"
#include "domain/json_text.h"
#include "domain/model_id.h"

namespace hearth::timeline {
namespace {

using Query = base::Database::Query;

constexpr const char* kSchema = R"(
  CREATE TABLE IF NOT EXISTS request(
    at_ms INTEGER NOT NULL, id TEXT NOT NULL, model TEXT NOT NULL, class TEXT NOT NULL, status INTEGER NOT NULL,
    ttft_ms REAL, total_ms REAL NOT NULL, cold_ms REAL NOT NULL, start_ms REAL, cause TEXT
  );
  CREATE INDEX IF NOT EXISTS request_at ON request(at_ms);
  CREATE TABLE IF NOT EXISTS record(id TEXT NOT NULL, json TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS event(
    at_ms INTEGER NOT NULL, what TEXT NOT NULL, model TEXT NOT NULL, layer TEXT, bytes INTEGER, by TEXT, why TEXT
  );
  CREATE INDEX IF NOT EXISTS event_at ON event(at_ms);
)";
constexpr base::Database::Format kFormat{.name = "the history", .version = 1, .schema = kSchema};

std::int64_t ms_of(base::Wall at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}
base::Wall wall_of(std::int64_t ms) { return base::Wall(std::chrono::milliseconds(ms)); }

std::optional<std::string> layer_text(const std::optional<domain::Layer>& layer) {
  if (!layer) return std::nullopt;
  return std::string(name_of(*layer));
}

// What is too old, or too much.
base::Status cut(base::Database& db, const HistoryLimits& limits, base::Wall now) {
  const auto oldest = ms_of(now) - std::chrono::duration_cast<std::chrono::milliseconds>(limits.age).count();
  const std::initializer_list<std::pair<const char*, std::int64_t>> steps = {
      {"DELETE FROM request WHERE at_ms < ?", oldest},
      {"DELETE FROM event WHERE at_ms < ?", oldest},
      {"DELETE FROM request WHERE rowid <= (SELECT max(rowid) FROM request) - ?", limits.requests},
      {"DELETE FROM event WHERE rowid <= (SELECT max(rowid) FROM event) - ?", limits.events},
      {"DELETE FROM record WHERE rowid <= (SELECT max(rowid) FROM record) - ?", limits.records}};
  for (const auto& [sql, value] : steps) {
    if (auto done = Query(db, sql).number(value).run(); !done) return done;
  }
  return {};
}

}  // namespace

std::optional<RequestRow> row_of(const domain::RequestRecord& record, const domain::RequestObservation& observation) {
  if (!record.model) return std::nullopt;
  RequestRow row{.at = observation.started_at,
                 .id = record.id,
                 .model = *record.model,
                 .service_class = record.service_class,
                 .status = record.status,
                 .ttft_ms = record.ttft_ms,
                 .total_ms = record.total_ms,
                 .cold_ms = domain::cold_ms_of(record),
                 .start_ms = std::nullopt,
                 .cause = std::nullopt};
  if (observation.start && observation.start->ready)
    row.start_ms = base::to_ms(*observation.start->ready - observation.start->spawned);
  if (record.cause) row.cause = record.cause->layer;
  return row;
}

base::Result<HistoryDb::Opened> HistoryDb::open(const std::filesystem::path& folder, const HistoryLimits& limits,
                                                base::Wall now) {
  const auto cut_old = [&](base::Database& db) { return cut(db, limits, now); };
  auto opened = base::Database::open_or_renew(folder / "history.sqlite", kFormat, now, cut_old);
  if (!opened) return base::pass(opened);
  return Opened{.db = std::unique_ptr<HistoryDb>(new HistoryDb(std::move(opened->db), limits)),
                .set_aside = std::move(opened->set_aside)};
}

base::Status HistoryDb::write(const std::vector<HistoryEntry>& entries, base::Wall now) {
  return db_->transact([&]() -> base::Status {
    if (auto done = write_rows(entries); !done) return done;
    rows_since_cut_ += static_cast<std::int64_t>(entries.size());
    if (rows_since_cut_ < kRowsBetweenCuts) return {};
    rows_since_cut_ = 0;
    return cut(*db_, limits_, now);
  });
}

base::Status HistoryDb::write_rows(const std::vector<HistoryEntry>& entries) {
  Query requests(*db_, "INSERT INTO request VALUES(?,?,?,?,?,?,?,?,?,?)");
  Query records(*db_, "INSERT INTO record VALUES(?,?)");
  Query events(*db_, "INSERT INTO event VALUES(?,?,?,?,?,?,?)");
  base::Status done;
  for (const auto& [request, record, event] : entries) {
    if (done && request) {
      requests.number(ms_of(request->at)).text(request->id).text(request->model).text(name_of(request->service_class));
      requests.number(request->status).real(request->ttft_ms).real(request->total_ms).real(request->cold_ms);
      done = requests.real(request->start_ms).maybe_text(layer_text(request->cause)).run();
    }
    if (done && record) done = records.text(record->id).text(domain::text_of(domain::to_json(*record))).run();
    if (done && event && event->model) {
      events.number(ms_of(event->at)).text(event->what).text(*event->model).maybe_text(layer_text(event->layer));
      const auto bytes = event->bytes ? std::optional(static_cast<std::int64_t>(*event->bytes)) : std::nullopt;
      done = events.number(bytes).maybe_text(event->by).maybe_text(event->why).run();
    }
  }
  return done;
}

base::Status HistoryDb::each_request(base::Wall now, const std::function<void(const RequestRow&)>& see) {
  Query query(*db_,
              "SELECT at_ms, id, model, class, status, ttft_ms, total_ms, cold_ms, start_ms, cause FROM request "
              "WHERE at_ms <= ? ORDER BY at_ms, rowid");
  query.number(ms_of(now));
  return query.each([&] {
    const auto service_class = domain::service_class_named(query.text_at(3));
    if (!service_class || !domain::ModelId::parse(query.text_at(2))) return;
    see({.at = wall_of(query.number_at(0)),
         .id = query.text_at(1),
         .model = query.text_at(2),
         .service_class = *service_class,
         .status = static_cast<int>(query.number_at(4)),
         .ttft_ms = query.real_at(5),
         .total_ms = query.real_at(6).value_or(0),
         .cold_ms = query.real_at(7).value_or(0),
         .start_ms = query.real_at(8),
         .cause = domain::layer_named(query.text_at(9))});
  });
}

base::Status HistoryDb::each_event(base::Wall now, const std::function<void(const domain::Event&)>& see) {
  Query query(*db_,
              "SELECT at_ms, what, model, layer, bytes, by, why FROM event WHERE at_ms <= ? ORDER BY at_ms, rowid");
  query.number(ms_of(now));
  return query.each([&] {
    const auto bytes = query.maybe_number_at(4);
    domain::Event event;
    event.at = wall_of(query.number_at(0));
    event.what = query.text_at(1);
    event.model = query.text_at(2);
    event.layer = domain::layer_named(query.text_at(3));
    if (bytes && *bytes >= 0) event.bytes = static_cast<base::Bytes>(*bytes);
    event.by = query.maybe_text_at(5);
    event.why = query.maybe_text_at(6);
    if (domain::ModelId::parse(*event.model)) see(event);
  });
}

base::Result<std::vector<domain::RequestRecord>> HistoryDb::records() {
  Query query(*db_, "SELECT json FROM record ORDER BY rowid");
  std::vector<domain::RequestRecord> records;
  auto read = query.each([&] {
    auto record = domain::request_from_json(domain::Json::parse(query.text_at(0), nullptr, false));
    if (record) records.push_back(std::move(*record));
  });
  if (!read) return base::pass(read);
  return records;
}

}  // namespace hearth::timeline
