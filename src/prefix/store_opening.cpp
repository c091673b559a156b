// Opening a prefix store: the lock, the layout's version, the index, and what a crash left.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "prefix/store.h"

namespace hearth::prefix {

using base::ErrorCode;

namespace {

constexpr int kLayout = 1;

bool ends_in(const std::string& name, std::string_view ending) { return name.ends_with(ending); }
std::string stem_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

bool is_fingerprint(const std::string& name) {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

base::Status check_layout(sys::Files& files, const std::string& path) {
  const auto text = files.read(path, 4096);
  if (!text && text.error().code != ErrorCode::not_found) return std::unexpected(text.error());
  if (text) {
    const auto json = nlohmann::json::parse(*text, nullptr, false);
    const auto format = json.is_object() && json.contains("format") && json["format"].is_number_integer()
                            ? json["format"].get<int>()
                            : kLayout;  // unreadable: written again below
    if (format > kLayout)
      return base::fail(
          ErrorCode::unsupported,
          fmt::format("the prefix store is of format {}, which a newer hearth wrote; it is left alone", format));
    if (json.is_object() && json.contains("format")) return {};
  }
  return sys::write_atomic(files, path, R"({"format": 1})");
}

}  // namespace

base::Result<std::unique_ptr<Store>> Store::open(Parts parts) {
  std::unique_ptr<Store> store(new Store(std::move(parts)));
  if (auto prepared = store->prepare(); !prepared) return base::pass(prepared, "opening the prefix store");
  Events events;
  if (auto loaded = store->load(events); !loaded) return base::pass(loaded, "opening the prefix store");
  store->tell(events);
  return store;
}

base::Status Store::prepare() {
  for (const auto* folder : {"", "/states", "/quarantine"}) {
    if (auto made = parts_.files.ensure_directory(parts_.folder + folder, 0700); !made) return made;
  }
  auto lock = parts_.files.lock(parts_.folder + "/lock");
  if (!lock) return base::pass(lock);
  lock_ = std::move(*lock);
  return check_layout(parts_.files, parts_.folder + "/prefix.json");
}

base::Status Store::open_index(Events& events) {
  const std::string path = parts_.index_path.empty() ? parts_.folder + "/index.sqlite" : parts_.index_path;
  auto index = IndexDb::open(path);
  if (!index && index.error().code == ErrorCode::unsupported)
    return base::fail(ErrorCode::unsupported, index.error().message + "; it is left alone");
  if (!index) {
    events.push_back(event("prefix_index_rebuilt", {}, index.error().message));
    for (const auto& file : base::Database::files_of(path)) {
      if (auto removed = parts_.files.remove(file); !removed) return base::pass(removed);
    }
    index = IndexDb::open(path);
  }
  if (!index) return base::pass(index);
  index_ = std::move(*index);
  return {};
}

base::Status Store::load(Events& events) {
  const std::lock_guard hold(mutex_);
  if (auto opened = open_index(events); !opened) return opened;
  auto rows = index_->rows();
  if (!rows) return base::pass(rows);
  std::map<std::string, IndexRow> known;
  for (auto& row : *rows)
    known.emplace(row.key, std::move(row));
  auto folders = parts_.files.list(parts_.folder + "/states");
  if (!folders) return base::pass(folders);
  for (const auto& fingerprint : *folders) {
    if (is_fingerprint(fingerprint)) load_folder(fingerprint, known, events);
  }
  blocks_.finish_adding();
  for (const auto& [key, row] : known)
    (void)index_->remove(key);  // rows without a record; those that stay are looked at again next time
  auto verdicts = index_->verdicts();
  if (!verdicts) return base::pass(verdicts);
  for (auto& verdict : *verdicts)
    ineffective_[{verdict.model_digest, verdict.engine}] = std::move(verdict.why);
  return {};
}

void Store::load_folder(const std::string& fingerprint, std::map<std::string, IndexRow>& known, Events& events) {
  const auto names = parts_.files.list(state_folder(fingerprint));
  if (!names) return;  // not a folder of ours
  const std::set<std::string> present(names->begin(), names->end());
  std::size_t orphans = 0;
  base::Bytes reclaimed = 0;
  for (const auto& name : *names) {
    if (ends_in(name, ".prefix")) {
      load_record(fingerprint, name, known, events);
      continue;
    }
    const bool is_state = ends_in(name, ".kv");
    if (is_state && present.contains(stem_of(name) + ".prefix")) continue;
    if (!is_state && !ends_in(name, ".part") && !ends_in(name, ".tmp")) continue;
    const std::string path = state_folder(fingerprint) + "/" + name;
    const auto size = parts_.files.size(path);
    if (const auto removed = parts_.files.remove(path); !removed || !*removed) continue;
    ++orphans;
    reclaimed += size.value_or(0);
  }
  if (orphans == 0) return;
  auto told = event("prefix_orphans", {}, fmt::format("{} files that a crash left were removed", orphans));
  told.bytes = reclaimed;
  events.push_back(std::move(told));
}

void Store::load_record(const std::string& fingerprint, const std::string& name, std::map<std::string, IndexRow>& known,
                        Events& events) {
  const std::string key = stem_of(name);
  const std::string stem = state_folder(fingerprint) + "/" + key;
  const auto size = parts_.files.size(stem + ".kv");
  if (const auto row = known.extract(key); !row.empty() && row.mapped().record.fingerprint == fingerprint) {
    auto tokens = index_->tokens(key);
    row.mapped().record.tokens = tokens ? std::move(*tokens) : Tokens{};
    const bool right = key == row.mapped().record.key() && size && *size == row.mapped().record.state_bytes;
    if (right) return adopt(std::move(row.mapped()), false);
  }
  const auto text = parts_.files.read(stem + ".prefix", kLargestRecord);
  if (!text) return quarantine(fingerprint, key, text.error().message, events);
  auto record = parse_record(*text);
  if (!record && record.error().code == ErrorCode::unsupported) return;
  if (!record) return quarantine(fingerprint, key, record.error().message, events);
  if (record->fingerprint != fingerprint || record->key() != key)
    return quarantine(fingerprint, key, "it lies under another name than its own", events);
  if (!size || *size != record->state_bytes)
    return quarantine(fingerprint, key, size ? "its state has another size than it says" : size.error().message,
                      events);
  IndexRow row;
  row.key = key;
  row.record = std::move(*record);
  if (auto put = index_->put(row); !put) events.push_back(event("prefix_index_failed", row, put.error().message));
  adopt(std::move(row), false);
}

// REQUIRES the lock (or the opening, when nobody else has the store).
void Store::quarantine(const std::string& fingerprint, const std::string& stem, const std::string& why,
                       Events& events) {
  for (const std::string ending : {".prefix", ".kv"}) {
    const std::string from = state_folder(fingerprint) + "/" + stem + ending;
    // What cannot be moved must not be served either: it is removed.
    const auto moved =
        parts_.files.rename(from, fmt::format("{}/quarantine/{}{}.{}", parts_.folder, stem, ending, now_ms()));
    if (!moved && moved.error().code != ErrorCode::not_found) (void)parts_.files.remove(from);
  }
  IndexRow row;
  row.key = stem;
  events.push_back(event("prefix_quarantined", row, fmt::format("{}: {}", stem, why)));
}

}  // namespace hearth::prefix
