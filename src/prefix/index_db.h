#pragma once
// The index of the prefix store in SQLite: what the records say, how often each state was used, and which engines were
// found not to use a restored state. All but the counts and verdicts can be made again from the records.
//
// Blocking; one thread at a time. A row that cannot be written is an error of the caller's to tell: the records stay
// right without it.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/database.h"
#include "prefix/record.h"

namespace hearth::prefix {

struct IndexRow {
  std::string key;
  Record record;
  std::int64_t uses = 0;
  std::int64_t last_used_ms = 0;
};

struct Verdict {
  std::string model_digest;
  std::string engine;
  std::int64_t at_ms = 0;
  std::string why;
};

class IndexDb {
 public:
  // ":memory:" keeps it in memory. Errors: unsupported (a higher version), corrupt (SQLite cannot use it), io.
  [[nodiscard]] static base::Result<std::unique_ptr<IndexDb>> open(const std::string& path);

  // Every row but its tokens, which stay in the database.
  [[nodiscard]] base::Result<std::vector<IndexRow>> rows();
  [[nodiscard]] base::Result<Tokens> tokens(const std::string& key);
  [[nodiscard]] base::Status put(const IndexRow& row);
  [[nodiscard]] base::Status note_use(const std::string& key, std::int64_t at_ms);
  [[nodiscard]] base::Status remove(const std::string& key);

  [[nodiscard]] base::Result<std::vector<Verdict>> verdicts();
  [[nodiscard]] base::Status put(const Verdict& verdict);
  [[nodiscard]] base::Status remove_verdicts(const std::string& model_digest);

 private:
  explicit IndexDb(std::unique_ptr<base::Database> db) : db_(std::move(db)) {}
  std::unique_ptr<base::Database> db_;
};

}  // namespace hearth::prefix
