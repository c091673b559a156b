#include "base/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace hearth::base {
namespace {

// Renames a damaged one to damaged-<Unix ms>.sqlite beside it, in place of any that was set aside before, and removes
// what else belongs to it. Gives the new name.
Result<std::string> set_aside(const std::filesystem::path& path, Wall now) {
  const auto folder = path.parent_path();
  std::error_code error;
  std::vector<std::filesystem::path> earlier;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("damaged-")) earlier.push_back(entry.path());
  }
  for (const auto& one : earlier)
    std::filesystem::remove(one, error);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  const auto aside = folder / fmt::format("damaged-{}.sqlite", ms);
  std::filesystem::rename(path, aside, error);
  if (error) return fail_errno("setting aside " + path.string(), error.value());
  for (const auto& file : Database::files_of(path.string())) {
    std::error_code gone;  // what was not there need not go
    std::filesystem::remove(file, gone);
  }
  return aside.string();
}

Result<std::unique_ptr<Database>> open_and_prepare(const std::filesystem::path& path, const Database::Format& format,
                                                   const std::function<Status(Database&)>& prepare) {
  auto db = Database::open(path.string(), format);
  if (!db || !prepare) return db;
  if (auto prepared = prepare(**db); !prepared) return pass(prepared);
  return db;
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open(const std::string& path, const Format& format) {
  sqlite3* handle = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &handle,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  std::unique_ptr<Database> database(new Database(handle, format.name));
  if (opened != SQLITE_OK) return std::unexpected(database->error("opening"));
  if (auto prepared = database->prepare(format); !prepared) return pass(prepared);
  return database;
}

std::array<std::string, 3> Database::files_of(const std::string& path) { return {path, path + "-wal", path + "-shm"}; }

Result<Database::Opened> Database::open_or_renew(const std::filesystem::path& path, const Format& format, Wall now,
                                                 const std::function<Status(Database&)>& prepare) {
  const auto folder = path.parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail_errno(fmt::format("making the folder of {}, {}", format.name, folder.string()), error.value());
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);  // others may have what is theirs
  Opened opened;
  auto db = open_and_prepare(path, format, prepare);
  if (!db && db.error().code == ErrorCode::corrupt) {
    auto aside = set_aside(path, now);
    if (!aside) return pass(aside);
    opened.set_aside = std::move(*aside);
    db = open_and_prepare(path, format, prepare);
  }
  if (!db) return pass(db);
  opened.db = std::move(*db);
  return opened;
}

Database::~Database() { sqlite3_close_v2(handle_); }

Error Database::error(std::string_view what) const {
  const int code = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle_);
  const bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
  const auto kind = damaged ? ErrorCode::corrupt : code == SQLITE_FULL ? ErrorCode::no_space : ErrorCode::io;
  return {kind, fmt::format("{} {}: {}", what, name_, handle_ == nullptr ? "no memory" : sqlite3_errmsg(handle_))};
}

Status Database::execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return std::unexpected(error("using"));
  return {};
}

// The version first: one that we do not know is not to be changed, not even its journal.
Status Database::prepare(const Format& format) {
  sqlite3_busy_timeout(handle_, 2000);
  {
    Query version(*this, "PRAGMA user_version");
    auto told = version.step();
    if (!told) return pass(told);
    if (version.number_at(0) > format.version)
      return fail(ErrorCode::unsupported,
                  fmt::format("{} is of version {}, which a newer hearth wrote", name_, version.number_at(0)));
  }
  if (auto set = execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"); !set) return set;
  {
    Query check(*this, "PRAGMA quick_check(1)");
    auto checked = check.step();
    if (!checked) return pass(checked);
    if (!*checked || check.text_at(0) != "ok") return fail(ErrorCode::corrupt, name_ + " is damaged");
  }
  if (auto made = execute(format.schema); !made) return made;
  return execute(fmt::format("PRAGMA user_version = {}", format.version).c_str());
}

Database::Query::Query(Database& database, const char* sql) : database_(database) {
  if (sqlite3_prepare_v2(database_.handle_, sql, -1, &statement_, nullptr) != SQLITE_OK) statement_ = nullptr;
}
Database::Query::~Query() { sqlite3_finalize(statement_); }

Database::Query& Database::Query::text(std::string_view value) {
  sqlite3_bind_text64(statement_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Database::Query& Database::Query::maybe_text(const std::optional<std::string>& value) {
  if (value) return text(std::string_view(*value));
  sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

Database::Query& Database::Query::number(std::optional<std::int64_t> value) {
  ++bound_;
  if (value) sqlite3_bind_int64(statement_, bound_, *value);
  return *this;
}

Database::Query& Database::Query::real(std::optional<double> value) {
  ++bound_;
  if (value) sqlite3_bind_double(statement_, bound_, *value);
  return *this;
}

Database::Query& Database::Query::blob(std::span<const std::byte> value) {
  sqlite3_bind_blob64(statement_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT);
  return *this;
}

Result<bool> Database::Query::step() {
  const int code = statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return std::unexpected(database_.error("using"));
}

Status Database::Query::run() {
  Status done = each([] {});
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  bound_ = 0;
  return done;
}

std::string Database::Query::text_at(int column) const { return maybe_text_at(column).value_or(""); }

std::optional<std::string> Database::Query::maybe_text_at(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return std::nullopt;
  return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

std::int64_t Database::Query::number_at(int column) const { return sqlite3_column_int64(statement_, column); }

std::optional<std::int64_t> Database::Query::maybe_number_at(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return number_at(column);
}

std::optional<double> Database::Query::real_at(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(statement_, column);
}

std::span<const std::byte> Database::Query::blob_at(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  return {data, data == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace hearth::base
