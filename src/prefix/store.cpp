#include "prefix/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "prefix/state_head.h"
#include "prefix/worth.h"

namespace hearth::prefix {

using base::ErrorCode;

namespace {

constexpr std::size_t kCandidates = 8;  // whose tokens are read
constexpr std::size_t kSharing = 64;    // that share a block and are looked at
constexpr std::size_t kHashPiece = 1U << 20;
// A record beside its state; tokens are written as decimal numbers.
constexpr base::Bytes record_estimate(std::size_t tokens) { return 1024 + 8 * tokens; }

base::Result<std::string> hash_of(const sys::Files& files, const std::string& path) {
  base::Sha256 hash;
  for (base::Bytes at = 0;; at += kHashPiece) {
    auto piece = files.read_at(path, at, kHashPiece);
    if (!piece) return base::pass(piece);
    hash.add(*piece);
    if (piece->size() < kHashPiece) return hash.finish_hex();
  }
}

}  // namespace

Store::Store(Parts parts) : parts_(std::move(parts)) {}

std::string Store::state_folder(const std::string& fingerprint) const {
  return parts_.folder + "/states/" + fingerprint;
}

std::int64_t Store::now_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(parts_.clock.wall().time_since_epoch()).count();
}

void Store::tell(const Events& events) const {
  if (!parts_.on_event) return;
  for (const auto& one : events)
    parts_.on_event(one);
}

domain::Event Store::event(std::string what, const IndexRow& row, std::string why) const {
  domain::Event told;
  told.at = parts_.clock.wall();
  told.what = std::move(what);
  if (!row.record.model.empty()) told.model = row.record.model;
  told.layer = domain::Layer::prefix;
  told.bytes = row.record.state_bytes;
  told.why = std::move(why);
  return told;
}

base::Result<std::string> Store::folder_for(const std::string& fingerprint) {
  std::string folder = state_folder(fingerprint);
  if (auto made = parts_.files.ensure_directory(folder, 0700); !made) return base::pass(made);
  return folder;
}

// REQUIRES the lock.
std::optional<Match> Store::best_of(const std::vector<std::uint32_t>& ids, TokenView prompt, std::size_t least,
                                    std::size_t beyond) {
  std::optional<Match> best;
  std::size_t looked_at = 0;
  for (const std::uint32_t id : ids) {
    const Entry& entry = entries_.at(keys_.at(id));
    const auto& record = entry.row.record;
    if (entry.tokens > prompt.size() && entry.tokens - prompt.size() > beyond) continue;
    if (++looked_at > kCandidates) break;
    // A row that cannot be read is no match: the prompt is then evaluated as if nothing were stored.
    const auto tokens = index_->tokens(entry.row.key);
    if (!tokens || tokens->size() != entry.tokens) continue;
    const std::size_t shared = common_prefix(*tokens, prompt);
    const bool better = !best || shared > best->tokens || (shared == best->tokens && record.state_bytes < best->bytes);
    if (shared < least || !better || entry.tokens - shared > beyond) continue;
    best = Match{entry.row.key, shared, entry.tokens, record.state_bytes, record.prefill_ms_per_token};
  }
  return best;
}

std::optional<Match> Store::find(const std::string& fingerprint, TokenView prompt, std::size_t least,
                                 std::size_t beyond) {
  const auto chain = block_chain(fingerprint, prompt);
  const std::lock_guard hold(mutex_);
  auto deepest = blocks_.find(chain, kSharing);
  while (deepest.blocks > 0) {
    // Of those that share so many blocks, only the ones that end soon enough.
    const std::size_t covered = (deepest.blocks + 1) * kBlockTokens - 1;
    if (beyond < static_cast<std::size_t>(-1) - covered) {
      std::erase_if(deepest.ids, [&](std::uint32_t id) { return entries_.at(keys_.at(id)).tokens > covered + beyond; });
    }
    if (auto best = best_of(deepest.ids, prompt, least, beyond)) return best;
    deepest = blocks_.find(std::span(chain).first(deepest.blocks - 1), kSharing);
    if (deepest.blocks * kBlockTokens + kBlockTokens <= least) break;
  }
  return std::nullopt;
}

double Store::worth(const Entry& entry) const {
  const auto& record = entry.row.record;
  return worth_per_byte({.tokens = entry.tokens,
                         .prefill_ms_per_token = record.prefill_ms_per_token,
                         .bytes = record.state_bytes,
                         .uses = entry.row.uses,
                         .idle_ms = now_ms() - std::max(entry.row.last_used_ms, record.saved_at_ms)});
}

base::Bytes Store::bytes_of(const Entry& entry) { return entry.row.record.state_bytes + record_estimate(entry.tokens); }

// REQUIRES the lock. By other states of this fingerprint; only the record's where there is none.
base::Bytes Store::size_of(const std::string& fingerprint, std::size_t tokens) const {
  const auto known = bytes_per_token_.find(fingerprint);
  const double each = known == bytes_per_token_.end() ? 0 : known->second;
  return static_cast<base::Bytes>(each * static_cast<double>(tokens)) + record_estimate(tokens);
}

// REQUIRES the lock. Whether so much fits into the quota beside what must stay.
base::Status Store::fits(base::Bytes bytes, std::size_t tokens, const Keys& spared) const {
  base::Bytes staying = 0;
  for (const auto& key : spared) {
    if (const auto found = entries_.find(key); found != entries_.end()) staying += bytes_of(found->second);
  }
  if (staying + bytes <= parts_.limits.disk) return {};
  return base::fail(
      ErrorCode::no_space,
      fmt::format("a prefix of {} tokens takes about {}, more than [prefix] disk allows{}; raise it", tokens,
                  base::format_bytes(bytes), bytes <= parts_.limits.disk ? " beside what else is declared" : ""));
}

// REQUIRES the lock. Evicts nothing where that would not be enough.
base::Status Store::make_room(base::Bytes bytes, std::size_t tokens, const Keys& spared, Events& events) {
  if (auto possible = fits(bytes, tokens, spared); !possible) return possible;
  while (bytes_ + bytes > parts_.limits.disk) {
    std::vector<const Entry*> evictable;
    for (const auto& [key, entry] : entries_) {
      if (!spared.contains(key)) evictable.push_back(&entry);
    }
    const auto rank = [this](const Entry* entry) {
      return std::pair(entry->row.record.origin == Origin::declared, worth(*entry));
    };
    const auto least = std::ranges::min_element(evictable, {}, rank);
    if (least == evictable.end()) break;
    const IndexRow row = (*least)->row;
    // What cannot be removed stays counted, and the save is refused.
    if (auto dropped = drop(row.key); !dropped) return base::pass(dropped, "making room for a prefix");
    events.push_back(event("prefix_evicted", row,
                           fmt::format("the states may take {} in all", base::format_bytes(parts_.limits.disk))));
  }
  return {};
}

base::Status Store::room_for(const std::string& fingerprint, std::size_t tokens, const Keys& spared) {
  auto folder = folder_for(fingerprint);
  if (!folder) return base::pass(folder);
  auto free = parts_.files.free_space(*folder);
  if (!free) return base::pass(free);
  const std::lock_guard hold(mutex_);
  const base::Bytes needed = size_of(fingerprint, tokens);
  if (auto possible = fits(needed, tokens, spared); !possible) return possible;
  if (*free >= needed + parts_.limits.leave_free) return {};
  return base::fail(ErrorCode::no_space, fmt::format("a prefix takes about {} and {} are free; make room on the disk",
                                                     base::format_bytes(needed), base::format_bytes(*free)));
}

base::Result<std::string> Store::begin_save(const std::string& fingerprint, std::size_t tokens, const Keys& spared) {
  if (auto possible = room_for(fingerprint, tokens, spared); !possible) return base::pass(possible);
  Events events;
  std::unique_lock hold(mutex_);
  auto room = make_room(size_of(fingerprint, tokens), tokens, spared, events);
  std::string part = fmt::format("{}-{}.part", now_ms(), next_part_++);
  hold.unlock();
  tell(events);
  if (!room) return base::pass(room);
  return part;
}

void Store::give_up(const std::string& fingerprint, const std::string& part) {
  // A leftover that cannot be removed now is an orphan, which the next opening reclaims.
  (void)parts_.files.remove(state_folder(fingerprint) + "/" + part);
}

base::Status Store::publish(const std::string& part, const Record& record) {
  const std::string stem = state_folder(record.fingerprint) + "/" + record.key();
  if (auto synced = parts_.files.sync_file(part); !synced) return synced;
  if (auto moved = parts_.files.rename(part, stem + ".kv"); !moved) return moved;
  auto written = sys::write_atomic(parts_.files, stem + ".prefix", write_record(record));
  if (!written) (void)parts_.files.remove(stem + ".kv");  // else an orphan until the next opening
  return written;
}

base::Result<Match> Store::commit(const std::string& part, Saving saving, base::Bytes written) {
  const std::string path = state_folder(saving.fingerprint) + "/" + part;
  if (saving.tokens.empty()) return base::fail(ErrorCode::bad_request, "a prefix has at least one token");
  const auto refuse = [&](base::Error error) {
    give_up(saving.fingerprint, part);
    return std::unexpected(std::move(error).in_context("keeping a prefix"));
  };
  auto size = parts_.files.size(path);
  if (!size) return refuse(std::move(size.error()));
  if (*size != written)
    return refuse({ErrorCode::corrupt, fmt::format("the engine wrote {} bytes and {} are there", written, *size)});
  auto head = parts_.files.read_at(path, 0, state_head_bytes(saving.tokens.size()));
  if (!head) return refuse(std::move(head.error()));
  if (auto holds = state_holds(*head, saving.tokens); !holds) return refuse(std::move(holds.error()));
  auto digest = hash_of(parts_.files, path);
  if (!digest) return refuse(std::move(digest.error()));
  IndexRow row;
  row.record = {saving.fingerprint,
                std::move(saving.tokens),
                *size,
                std::move(*digest),
                now_ms(),
                saving.prefill_ms_per_token,
                saving.origin,
                saving.name,
                saving.model,
                saving.engine};
  row.key = row.record.key();
  const Match match{row.key, row.record.tokens.size(), row.record.tokens.size(), *size,
                    row.record.prefill_ms_per_token};
  Events events;
  const auto taken = take_in(path, std::move(row), saving.spared, events);
  tell(events);
  if (!taken) return refuse(taken.error());
  return match;
}

base::Status Store::take_in(const std::string& path, IndexRow row, const Keys& spared, Events& events) {
  const std::size_t tokens = row.record.tokens.size();
  const base::Bytes bytes = row.record.state_bytes;
  std::unique_lock hold(mutex_);
  bytes_per_token_[row.record.fingerprint] = static_cast<double>(bytes) / static_cast<double>(tokens);
  Keys others = spared;
  others.erase(row.key);  // the same state, saved before, makes way for itself
  if (auto room = make_room(bytes + record_estimate(tokens), tokens, others, events); !room) return room;
  hold.unlock();
  if (auto published = publish(path, row.record); !published) return published;
  events.push_back(event("prefix_saved", row, fmt::format("{} tokens, {}", tokens, name_of(row.record.origin))));
  hold.lock();
  forget(row.key);
  if (auto put = index_->put(row); !put) events.push_back(event("prefix_index_failed", row, put.error().message));
  adopt(std::move(row), true);
  // Another save may have taken the same room meanwhile.
  (void)make_room(0, 0, spared, events);
  return {};
}

// REQUIRES the lock. `row` with its tokens.
void Store::adopt(IndexRow row, bool sorted) {
  Entry entry;
  entry.tokens = row.record.tokens.size();
  entry.id = next_id_++;
  entry.chain = block_chain(row.record.fingerprint, row.record.tokens);
  row.record.tokens = {};
  bytes_per_token_[row.record.fingerprint] =
      static_cast<double>(row.record.state_bytes) / static_cast<double>(entry.tokens);
  keys_[entry.id] = row.key;
  if (sorted)
    blocks_.add(entry.id, entry.chain);
  else
    blocks_.add_unsorted(entry.id, entry.chain);
  std::string key = row.key;
  entry.row = std::move(row);
  bytes_ += bytes_of(entry);
  entries_[std::move(key)] = std::move(entry);
}

// REQUIRES the lock. Out of memory and the index; the files stay.
void Store::forget(std::string key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  blocks_.remove(found->second.id, found->second.chain);
  keys_.erase(found->second.id);
  bytes_ -= bytes_of(found->second);
  entries_.erase(found);
  (void)index_->remove(key);  // a row without a record goes at the next opening
}

// REQUIRES the lock.
base::Result<bool> Store::drop(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return false;
  const std::string stem = state_folder(found->second.row.record.fingerprint) + "/" + key;
  if (auto record = parts_.files.remove(stem + ".prefix"); !record) return base::pass(record);
  forget(key);
  if (auto state = parts_.files.remove(stem + ".kv"); !state) return base::pass(state);
  return true;
}

base::Result<bool> Store::remove(const std::string& key) {
  Events events;
  std::unique_lock hold(mutex_);
  if (const auto found = entries_.find(key); found != entries_.end())
    events.push_back(event("prefix_removed", found->second.row, "on request"));
  auto dropped = drop(key);
  hold.unlock();
  if (dropped && *dropped) tell(events);
  return dropped;
}

base::Result<std::string> Store::verify(const std::string& key) {
  IndexRow row;
  {
    const std::lock_guard hold(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end())
      return base::fail(ErrorCode::not_found, "no such prefix is stored; `hearth prefix list` shows them");
    row = found->second.row;
  }
  const std::string path = state_folder(row.record.fingerprint) + "/" + key + ".kv";
  const auto size = parts_.files.size(path);
  std::string why;
  if (!size)
    why = size.error().message;
  else if (*size != row.record.state_bytes)
    why = fmt::format("it has {} bytes and should have {}", *size, row.record.state_bytes);
  else if (const auto digest = hash_of(parts_.files, path); !digest)
    why = digest.error().message;
  else if (*digest != row.record.state_sha256)
    why = "its checksum is wrong";
  if (why.empty()) return key + ".kv";
  Events events;
  {
    const std::lock_guard hold(mutex_);
    forget(key);
    quarantine(row.record.fingerprint, key, why, events);
  }
  tell(events);
  return base::fail(ErrorCode::corrupt,
                    fmt::format("the prefix {} was damaged and is set aside: {}; it will be made again", key, why));
}

void Store::note_use(const std::string& key) {
  const std::lock_guard hold(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  ++found->second.row.uses;
  found->second.row.last_used_ms = now_ms();
  (void)index_->note_use(key, found->second.row.last_used_ms);  // a count that is lost makes eviction a little worse
}

void Store::set_ineffective(const std::string& model_digest, const std::string& engine, const std::string& why) {
  {
    const std::lock_guard hold(mutex_);
    if (!ineffective_.try_emplace({model_digest, engine}, why).second) return;
    (void)index_->put(Verdict{model_digest, engine, now_ms(), why});  // lost: one more try after a restart
  }
  domain::Event told;
  told.at = parts_.clock.wall();
  told.what = "prefix_ineffective";
  told.layer = domain::Layer::prefix;
  told.why = why;
  tell({told});
}

std::optional<std::string> Store::ineffective(const std::string& model_digest, const std::string& engine) {
  const std::lock_guard hold(mutex_);
  const auto found = ineffective_.find({model_digest, engine});
  if (found == ineffective_.end()) return std::nullopt;
  return found->second;
}

std::vector<IndexRow> Store::list() {
  const std::lock_guard hold(mutex_);
  std::vector<const Entry*> ranked;
  for (const auto& [key, entry] : entries_)
    ranked.push_back(&entry);
  std::ranges::sort(ranked, std::greater(), [this](const Entry* entry) { return worth(*entry); });
  std::vector<IndexRow> rows;
  for (const Entry* entry : ranked)
    rows.push_back(entry->row);
  return rows;
}

base::Result<IndexRow> Store::row(const std::string& key) {
  const std::lock_guard hold(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end())
    return base::fail(ErrorCode::not_found, "no such prefix is stored; `hearth prefix list` shows them");
  IndexRow row = found->second.row;
  auto tokens = index_->tokens(key);
  if (!tokens) return base::pass(tokens);
  row.record.tokens = std::move(*tokens);
  return row;
}

std::string Store::path_of(const std::string& key) {
  const std::lock_guard hold(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::string()
                                 : state_folder(found->second.row.record.fingerprint) + "/" + key + ".kv";
}

StoreTotals Store::totals(const std::string& fingerprint) {
  const std::lock_guard hold(mutex_);
  StoreTotals totals;
  for (const auto& [key, entry] : entries_) {
    if (entry.row.record.fingerprint != fingerprint) continue;
    ++totals.states;
    totals.tokens += entry.tokens;
    totals.bytes += entry.row.record.state_bytes;
  }
  return totals;
}

std::size_t Store::size() {
  const std::lock_guard hold(mutex_);
  return entries_.size();
}

}  // namespace hearth::prefix
