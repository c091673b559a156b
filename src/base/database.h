#pragma once
// An SQLite database of ours: opened, checked and brought to its schema in one way, and asked with prepared statements.
//
// WAL with synchronous = NORMAL: after a crash it is as some whole transaction left it, the last ones may be missing.
// Blocking; one thread at a time. SQLite's own locks keep two processes apart (they wait for each other for 2 s).
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hearth::base {

class Database {
 public:
  struct Format {
    std::string_view name;    // as sentences call it: "the prefix index"
    int version = 1;          // `PRAGMA user_version`
    const char* schema = "";  // CREATE … IF NOT EXISTS, for a new one and an old one alike
  };
  // ":memory:" keeps it in memory. Errors: unsupported (a higher version: nothing was changed), corrupt (SQLite cannot
  // use it), no_space, io.
  [[nodiscard]] static Result<std::unique_ptr<Database>> open(const std::string& path, const Format& format);
  struct Opened {
    std::unique_ptr<Database> db;
    std::optional<std::string> set_aside;  // where a damaged one went
  };
  // Opens one that the server can do without, in a folder of its own; makes both where they are missing. One that is
  // damaged, or that `prepare` (may be empty) finds corrupt, is set aside and begun anew. Errors: as open, permission,
  // and those of `prepare`.
  [[nodiscard]] static Result<Opened> open_or_renew(const std::filesystem::path& path, const Format& format, Wall now,
                                                    const std::function<Status(Database&)>& prepare = {});
  // The names of all files that one at `path` may consist of.
  [[nodiscard]] static std::array<std::string, 3> files_of(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // One prepared statement. Binding begins at the first question mark. The text must live as long as the query.
  class Query {
   public:
    Query(Database& database, const char* sql);
    ~Query();
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;

    Query& text(std::string_view value);
    Query& maybe_text(const std::optional<std::string>& value);  // empty: NULL
    Query& number(std::optional<std::int64_t> value);
    Query& real(std::optional<double> value);
    Query& blob(std::span<const std::byte> value);

    // True while there is a row. Errors: corrupt, no_space, io.
    [[nodiscard]] Result<bool> step();
    // Visits every row that is left. Errors: as step(); what was visited before stands.
    template <typename Visit>
    [[nodiscard]] Status each(Visit visit) {
      for (;;) {
        const auto row = step();
        if (!row) return std::unexpected(row.error());
        if (!*row) return {};
        visit();
      }
    }
    // To its end; rows are passed over. It can be bound and run again afterwards.
    [[nodiscard]] Status run();

    // Of the present row, from column 0. NULL is empty, or nothing where an optional is given.
    [[nodiscard]] std::string text_at(int column) const;
    [[nodiscard]] std::optional<std::string> maybe_text_at(int column) const;
    [[nodiscard]] std::int64_t number_at(int column) const;
    [[nodiscard]] std::optional<std::int64_t> maybe_number_at(int column) const;
    [[nodiscard]] std::optional<double> real_at(int column) const;
    [[nodiscard]] std::span<const std::byte> blob_at(int column) const;  // until the next step

   private:
    Database& database_;
    sqlite3_stmt* statement_ = nullptr;
    int bound_ = 0;
  };

  [[nodiscard]] Status execute(const char* sql);
  // Runs `work` in a transaction: all of it counts, or nothing. Errors: those of `work` and of the commit.
  template <typename Work>
  [[nodiscard]] Status transact(Work work) {
    if (auto begun = execute("BEGIN IMMEDIATE"); !begun) return begun;
    Status done = work();
    if (done) done = execute("COMMIT");
    if (!done) (void)execute("ROLLBACK");  // what failed is told by `done`
    return done;
  }

 private:
  Database(sqlite3* handle, std::string_view name) : handle_(handle), name_(name) {}
  [[nodiscard]] Error error(std::string_view what) const;
  [[nodiscard]] Status prepare(const Format& format);
  sqlite3* handle_;
  std::string name_;
};

}  // namespace hearth::base
