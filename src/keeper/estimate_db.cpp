#include "keeper/estimate_db.h"

#include <nlohmann/json.hpp>

namespace hearth::keeper {
namespace {

using policy::Charge;
using policy::Claim;
using policy::Footprint;
using Json = nlohmann::ordered_json;
using Query = base::Database::Query;

constexpr const char* kSchema = R"(
  CREATE TABLE IF NOT EXISTS estimate(
    model TEXT NOT NULL, context INTEGER NOT NULL, slots INTEGER NOT NULL, device_layers INTEGER NOT NULL,
    other TEXT NOT NULL, at_ms INTEGER NOT NULL, times INTEGER NOT NULL, measured TEXT NOT NULL, prior TEXT NOT NULL,
    PRIMARY KEY(model, context, slots, device_layers, other)
  );
)";
constexpr base::Database::Format kFormat{.name = "the estimates", .version = 1, .schema = kSchema};
constexpr base::Bytes kMost = 1ULL << 50;  // of any one kind; more is no model's

std::string text_of(const Claim& claim) {
  Json json = Json::object();
  for (const Charge charge : policy::kAllCharges) {
    if (!claim[charge].empty()) json[std::string(name_of(charge))] = claim[charge].at;
  }
  return json.dump();
}

std::optional<Footprint> footprint_of(const Json& places) {
  if (!places.is_array() || places.size() > policy::kPlaces) return std::nullopt;
  Footprint footprint;
  for (std::size_t place = 0; place < places.size(); ++place) {
    if (!places[place].is_number_unsigned()) return std::nullopt;
    footprint.at[place] = places[place].get<base::Bytes>();
    if (footprint.at[place] > kMost) return std::nullopt;
  }
  return footprint;
}

std::optional<Claim> claim_of(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  Claim claim;
  for (const Charge charge : policy::kAllCharges) {
    const auto found = json.find(std::string(name_of(charge)));
    if (found == json.end()) continue;
    const auto footprint = footprint_of(*found);
    if (!footprint) return std::nullopt;
    claim[charge] = *footprint;
  }
  return claim;
}

std::optional<policy::Learnt> learnt_of(const Query& row) {
  auto id = domain::ModelId::parse(row.text_at(0));
  const auto measured = claim_of(row.text_at(6));
  const auto prior = claim_of(row.text_at(7));
  const bool sane = row.number_at(1) >= 0 && row.number_at(2) > 0 && row.number_at(2) <= 1024 && row.number_at(5) > 0;
  if (!id || !measured || !prior || !sane || measured->total().empty()) return std::nullopt;
  return policy::Learnt{.id = std::move(*id),
                        .options = {.context = static_cast<std::uint64_t>(row.number_at(1)),
                                    .slots = static_cast<unsigned>(row.number_at(2)),
                                    .device_layers = static_cast<int>(row.number_at(3)),
                                    .other = row.text_at(4)},
                        .measured = *measured,
                        .prior = *prior,
                        .times = static_cast<std::size_t>(row.number_at(5))};
}

}  // namespace

base::Result<EstimateDb::Opened> EstimateDb::open(const std::filesystem::path& folder, base::Wall now) {
  auto opened = base::Database::open_or_renew(folder / "estimates.sqlite", kFormat, now);
  if (!opened) return base::pass(opened);
  return Opened{.db = std::unique_ptr<EstimateDb>(new EstimateDb(std::move(opened->db))),
                .set_aside = std::move(opened->set_aside)};
}

base::Result<std::vector<policy::Learnt>> EstimateDb::all() {
  const std::scoped_lock lock(mutex_);
  Query query(*db_,
              "SELECT model, context, slots, device_layers, other, times, measured, prior FROM estimate "
              "ORDER BY at_ms, rowid");
  std::vector<policy::Learnt> all;
  auto read = query.each([&] {
    if (auto learnt = learnt_of(query)) all.push_back(std::move(*learnt));
  });
  if (!read) return base::pass(read);
  return all;
}

base::Status EstimateDb::write(const policy::Learnt& learnt, base::Wall now) {
  const std::scoped_lock lock(mutex_);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  return db_->transact([&]() -> base::Status {
    Query row(*db_, "INSERT OR REPLACE INTO estimate VALUES(?,?,?,?,?,?,?,?,?)");
    row.text(learnt.id.text()).number(static_cast<std::int64_t>(learnt.options.context)).number(learnt.options.slots);
    row.number(learnt.options.device_layers).text(learnt.options.other).number(ms);
    row.number(static_cast<std::int64_t>(learnt.times)).text(text_of(learnt.measured)).text(text_of(learnt.prior));
    if (auto done = row.run(); !done) return done;
    Query cut(*db_,
              "DELETE FROM estimate WHERE rowid IN (SELECT rowid FROM estimate ORDER BY at_ms DESC LIMIT -1 OFFSET ?)");
    return cut.number(static_cast<std::int64_t>(policy::Estimator::kMostEntries)).run();
  });
}

base::Status EstimateDb::forget(const domain::ModelId& id) {
  const std::scoped_lock lock(mutex_);
  return Query(*db_, "DELETE FROM estimate WHERE model = ?").text(id.text()).run();
}

}  // namespace hearth::keeper
