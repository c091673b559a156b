#include "prefix/index_db.h"

#include <cstring>

namespace hearth::prefix {
namespace {

using base::ErrorCode;
using Query = base::Database::Query;

constexpr const char* kSchema = R"(
  CREATE TABLE IF NOT EXISTS state(
    key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, tokens BLOB NOT NULL, state_bytes INTEGER NOT NULL,
    state_sha256 TEXT NOT NULL, saved_at_ms INTEGER NOT NULL, prefill_ms_per_token REAL, origin TEXT NOT NULL,
    name TEXT NOT NULL, model TEXT NOT NULL, engine TEXT NOT NULL, uses INTEGER NOT NULL, last_used_ms INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS verdict(
    model_digest TEXT NOT NULL, engine TEXT NOT NULL, at_ms INTEGER NOT NULL, why TEXT NOT NULL,
    PRIMARY KEY(model_digest, engine)
  ) WITHOUT ROWID;
)";

constexpr base::Database::Format kFormat{.name = "the prefix index", .version = 1, .schema = kSchema};

Tokens tokens_of(std::span<const std::byte> bytes) {
  Tokens tokens(bytes.size() / sizeof(Token));
  if (!tokens.empty()) std::memcpy(tokens.data(), bytes.data(), tokens.size() * sizeof(Token));
  return tokens;
}

}  // namespace

base::Result<std::unique_ptr<IndexDb>> IndexDb::open(const std::string& path) {
  auto db = base::Database::open(path, kFormat);
  if (!db) return base::pass(db);
  return std::unique_ptr<IndexDb>(new IndexDb(std::move(*db)));
}

base::Result<std::vector<IndexRow>> IndexDb::rows() {
  Query query(*db_,
              "SELECT key, fingerprint, state_bytes, state_sha256, saved_at_ms, prefill_ms_per_token, origin, name, "
              "model, engine, uses, last_used_ms FROM state");
  std::vector<IndexRow> rows;
  auto read = query.each([&] {
    IndexRow row;
    row.key = query.text_at(0);
    row.record.fingerprint = query.text_at(1);
    row.record.state_bytes = static_cast<base::Bytes>(query.number_at(2));
    row.record.state_sha256 = query.text_at(3);
    row.record.saved_at_ms = query.number_at(4);
    row.record.prefill_ms_per_token = query.real_at(5);
    row.record.origin = origin_named(query.text_at(6)).value_or(Origin::discovered);
    row.record.name = query.text_at(7);
    row.record.model = query.text_at(8);
    row.record.engine = query.text_at(9);
    row.uses = query.number_at(10);
    row.last_used_ms = query.number_at(11);
    rows.push_back(std::move(row));
  });
  if (!read) return base::pass(read);
  return rows;
}

base::Result<Tokens> IndexDb::tokens(const std::string& key) {
  Query query(*db_, "SELECT tokens FROM state WHERE key = ?");
  auto found = query.text(key).step();
  if (!found) return base::pass(found);
  if (!*found) return base::fail(ErrorCode::not_found, "the prefix index has no row " + key);
  return tokens_of(query.blob_at(0));
}

base::Status IndexDb::put(const IndexRow& row) {
  const Record& record = row.record;
  return Query(*db_, "INSERT OR REPLACE INTO state VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)")
      .text(row.key)
      .text(record.fingerprint)
      .blob(std::as_bytes(std::span(record.tokens)))
      .number(static_cast<std::int64_t>(record.state_bytes))
      .text(record.state_sha256)
      .number(record.saved_at_ms)
      .real(record.prefill_ms_per_token)
      .text(name_of(record.origin))
      .text(record.name)
      .text(record.model)
      .text(record.engine)
      .number(row.uses)
      .number(row.last_used_ms)
      .run();
}

base::Status IndexDb::note_use(const std::string& key, std::int64_t at_ms) {
  return Query(*db_, "UPDATE state SET uses = uses + 1, last_used_ms = ? WHERE key = ?").number(at_ms).text(key).run();
}

base::Status IndexDb::remove(const std::string& key) {
  return Query(*db_, "DELETE FROM state WHERE key = ?").text(key).run();
}

base::Result<std::vector<Verdict>> IndexDb::verdicts() {
  Query query(*db_, "SELECT model_digest, engine, at_ms, why FROM verdict");
  std::vector<Verdict> verdicts;
  auto read = query.each([&] {
    verdicts.push_back({query.text_at(0), query.text_at(1), query.number_at(2), query.text_at(3)});
  });
  if (!read) return base::pass(read);
  return verdicts;
}

base::Status IndexDb::put(const Verdict& verdict) {
  return Query(*db_, "INSERT OR REPLACE INTO verdict VALUES(?,?,?,?)")
      .text(verdict.model_digest)
      .text(verdict.engine)
      .number(verdict.at_ms)
      .text(verdict.why)
      .run();
}

base::Status IndexDb::remove_verdicts(const std::string& model_digest) {
  return Query(*db_, "DELETE FROM verdict WHERE model_digest = ?").text(model_digest).run();
}

}  // namespace hearth::prefix
