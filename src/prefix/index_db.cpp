#include "prefix/index_db.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>

namespace hearth::prefix {
namespace {

using base::ErrorCode;

constexpr int kVersion = 1;
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
  PRAGMA user_version = 1;
)";

base::Error error_of(sqlite3* db, std::string_view what) {
  const int code = db == nullptr ? SQLITE_NOMEM : sqlite3_errcode(db);
  const bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
  const bool full = code == SQLITE_FULL;
  return {damaged ? ErrorCode::corrupt
          : full  ? ErrorCode::no_space
                  : ErrorCode::io,
          fmt::format("{} the prefix index: {}", what, db == nullptr ? "no memory" : sqlite3_errmsg(db))};
}

}  // namespace

// One prepared statement. Binding begins at 1.
class IndexDb::Query {
 public:
  Query(sqlite3* db, const char* sql) : db_(db) {
    if (sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) != SQLITE_OK) statement_ = nullptr;
  }
  ~Query() { sqlite3_finalize(statement_); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& text(std::string_view value) {
    sqlite3_bind_text(statement_, ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Query& number(std::int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  Query& real(std::optional<double> value) {
    ++bound_;
    if (value) sqlite3_bind_double(statement_, bound_, *value);
    return *this;
  }
  Query& blob(TokenView value) {
    sqlite3_bind_blob64(statement_, ++bound_, value.data(), value.size_bytes(), SQLITE_TRANSIENT);
    return *this;
  }

  // True while there is a row.
  base::Result<bool> step() {
    const int code = statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return std::unexpected(error_of(db_, "using"));
  }
  base::Status run() {
    auto row = step();
    if (!row) return base::pass(row);
    return {};
  }
  [[nodiscard]] std::string text_at(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return text == nullptr ? std::string() : std::string(text);
  }
  [[nodiscard]] std::int64_t number_at(int column) const { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] std::optional<double> real_at(int column) const {
    if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
    return sqlite3_column_double(statement_, column);
  }
  [[nodiscard]] Tokens tokens_at(int column) const {
    const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    Tokens tokens(bytes / sizeof(Token));
    if (!tokens.empty())
      std::memcpy(tokens.data(), sqlite3_column_blob(statement_, column), tokens.size() * sizeof(Token));
    return tokens;
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

base::Result<std::unique_ptr<IndexDb>> IndexDb::open(const std::string& path) {
  sqlite3* db = nullptr;
  const int opened =
      sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  std::unique_ptr<IndexDb> index(new IndexDb(db));
  if (opened != SQLITE_OK) return std::unexpected(error_of(db, "opening"));
  if (auto prepared = index->prepare_schema(); !prepared) return base::pass(prepared);
  return index;
}

IndexDb::~IndexDb() { sqlite3_close_v2(db_); }

base::Status IndexDb::execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return std::unexpected(error_of(db_, "using"));
  return {};
}

base::Status IndexDb::prepare_schema() {
  sqlite3_busy_timeout(db_, 2000);
  // The records are the truth: a power loss may take the last rows, which are made again.
  if (auto set = execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"); !set) return set;
  Query check(db_, "PRAGMA quick_check(1)");
  auto checked = check.step();
  if (!checked) return base::pass(checked);
  if (!*checked || check.text_at(0) != "ok") return base::fail(ErrorCode::corrupt, "the prefix index is damaged");
  Query version(db_, "PRAGMA user_version");
  auto told = version.step();
  if (!told) return base::pass(told);
  if (version.number_at(0) > kVersion)
    return base::fail(ErrorCode::unsupported, "the prefix index is of a version that a newer hearth wrote");
  return execute(kSchema);
}

base::Result<std::vector<IndexRow>> IndexDb::rows() {
  Query query(db_,
              "SELECT key, fingerprint, state_bytes, state_sha256, saved_at_ms, prefill_ms_per_token, origin, name, "
              "model, engine, uses, last_used_ms FROM state");
  std::vector<IndexRow> rows;
  for (;;) {
    auto more = query.step();
    if (!more) return base::pass(more);
    if (!*more) return rows;
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
  }
}

base::Result<Tokens> IndexDb::tokens(const std::string& key) {
  Query query(db_, "SELECT tokens FROM state WHERE key = ?");
  auto found = query.text(key).step();
  if (!found) return base::pass(found);
  if (!*found) return base::fail(ErrorCode::not_found, "the prefix index has no row " + key);
  return query.tokens_at(0);
}

base::Status IndexDb::put(const IndexRow& row) {
  const Record& record = row.record;
  return Query(db_, "INSERT OR REPLACE INTO state VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)")
      .text(row.key)
      .text(record.fingerprint)
      .blob(record.tokens)
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
  return Query(db_, "UPDATE state SET uses = uses + 1, last_used_ms = ? WHERE key = ?").number(at_ms).text(key).run();
}

base::Status IndexDb::remove(const std::string& key) {
  return Query(db_, "DELETE FROM state WHERE key = ?").text(key).run();
}

base::Result<std::vector<Verdict>> IndexDb::verdicts() {
  Query query(db_, "SELECT model_digest, engine, at_ms, why FROM verdict");
  std::vector<Verdict> verdicts;
  for (;;) {
    auto more = query.step();
    if (!more) return base::pass(more);
    if (!*more) return verdicts;
    verdicts.push_back({query.text_at(0), query.text_at(1), query.number_at(2), query.text_at(3)});
  }
}

base::Status IndexDb::put(const Verdict& verdict) {
  return Query(db_, "INSERT OR REPLACE INTO verdict VALUES(?,?,?,?)")
      .text(verdict.model_digest)
      .text(verdict.engine)
      .number(verdict.at_ms)
      .text(verdict.why)
      .run();
}

base::Status IndexDb::remove_verdicts(const std::string& model_digest) {
  return Query(db_, "DELETE FROM verdict WHERE model_digest = ?").text(model_digest).run();
}

}  // namespace hearth::prefix
