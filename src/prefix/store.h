#pragma once
// The states of prompt prefixes on disk (docs/prefix-format.md has the format and what a crash leaves).
//
// Thread: any; all of it but find() and the plain questions blocks for disk: call it on a BlockingPool. find() looks
// into memory, and into SQLite for the tokens of at most eight candidates: under 2 ms with 10,000 states.
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "domain/event.h"
#include "prefix/block_index.h"
#include "prefix/index_db.h"
#include "sys/files.h"

namespace hearth::prefix {

struct Match {
  std::string key;
  std::size_t tokens = 0;        // of the prompt that the state begins with
  std::size_t state_tokens = 0;  // of the state; more than `tokens` when it goes on differently
  base::Bytes bytes = 0;
  std::optional<double> prefill_ms_per_token;
};

using Keys = std::set<std::string>;

// What a save says of its state, besides the tokens.
struct Saving {
  std::string fingerprint;
  Tokens tokens;
  std::optional<double> prefill_ms_per_token;
  Origin origin = Origin::discovered;
  std::string name;
  std::string model;
  std::string engine;
  Keys spared = {};  // are not evicted for it
};

struct StoreTotals {
  std::size_t states = 0;
  std::size_t tokens = 0;
  base::Bytes bytes = 0;
};

struct StoreLimits {
  base::Bytes disk = 4'000'000'000;
  base::Bytes leave_free = 512'000'000;
};

class Store {
 public:
  struct Parts {
    std::string folder;
    sys::Files& files;
    const base::Clock& clock;
    StoreLimits limits;
    // prefix_saved, prefix_evicted, prefix_removed, prefix_quarantined, prefix_orphans, prefix_index_rebuilt,
    // prefix_ineffective. Called on the thread that did it, after the lock was let go.
    std::function<void(const domain::Event&)> on_event;
    std::string index_path;  // empty: index.sqlite in the folder; ":memory:" in tests
  };
  // Errors: in_use, unsupported (a newer layout or index: nothing was changed), permission and others of the file
  // system.
  [[nodiscard]] static base::Result<std::unique_ptr<Store>> open(Parts parts);

  // The folder in which an engine of this fingerprint keeps its states (its --slot-save-path), made where missing.
  [[nodiscard]] base::Result<std::string> folder_for(const std::string& fingerprint);

  // The state that shares the longest beginning with the prompt, of at least `least` tokens, and goes on differently
  // for at most `beyond` tokens (an engine that cannot cut a state back has no use for more).
  [[nodiscard]] std::optional<Match> find(const std::string& fingerprint, TokenView prompt, std::size_t least,
                                          std::size_t beyond = static_cast<std::size_t>(-1));

  // Whether begin_save would find room, as far as the size of a state is known. Evicts nothing. Errors: no_space.
  [[nodiscard]] base::Status room_for(const std::string& fingerprint, std::size_t tokens, const Keys& spared = {});
  // Room for a state of so many tokens: the quota's worst are evicted for it, but never the spared ones. The name that
  // the engine writes to. Errors: no_space.
  [[nodiscard]] base::Result<std::string> begin_save(const std::string& fingerprint, std::size_t tokens,
                                                     const Keys& spared = {});
  // Checks and publishes what the engine wrote under that name; `written` is what it says. On any error nothing is
  // left. Errors: no_space (it is larger than was thought), unsupported (a form that is not known), corrupt;
  // bad_request without tokens.
  [[nodiscard]] base::Result<Match> commit(const std::string& part, Saving saving, base::Bytes written);
  // Removes what the engine may have written under that name.
  void give_up(const std::string& fingerprint, const std::string& part);

  // Reads and compares the whole state; what is damaged is set aside. The name for the engine to restore.
  // Errors: corrupt, not_found.
  [[nodiscard]] base::Result<std::string> verify(const std::string& key);
  void note_use(const std::string& key);
  // False when there is none.
  [[nodiscard]] base::Result<bool> remove(const std::string& key);

  // A restored state was not used by this engine: it is not tried again.
  void set_ineffective(const std::string& model_digest, const std::string& engine, const std::string& why);
  [[nodiscard]] std::optional<std::string> ineffective(const std::string& model_digest, const std::string& engine);

  [[nodiscard]] std::vector<IndexRow> list();                        // without tokens, best worth first
  [[nodiscard]] base::Result<IndexRow> row(const std::string& key);  // with tokens
  [[nodiscard]] std::string path_of(const std::string& key);         // empty when there is none
  [[nodiscard]] StoreTotals totals(const std::string& fingerprint);
  [[nodiscard]] std::size_t size();

 private:
  [[nodiscard]] std::optional<Match> best_of(const std::vector<std::uint32_t>& ids, TokenView prompt, std::size_t least,
                                             std::size_t beyond);
  struct Entry {
    IndexRow row;  // its tokens stay in the index
    std::size_t tokens = 0;
    std::uint32_t id = 0;
    std::vector<std::uint64_t> chain;
  };
  using Events = std::vector<domain::Event>;

  explicit Store(Parts parts);
  base::Status prepare();
  base::Status load(Events& events);
  base::Status open_index(Events& events);
  void load_folder(const std::string& fingerprint, std::map<std::string, IndexRow>& known, Events& events);
  void load_record(const std::string& fingerprint, const std::string& name, std::map<std::string, IndexRow>& known,
                   Events& events);
  base::Status publish(const std::string& part, const Record& record);
  void adopt(IndexRow row, bool sorted);
  void forget(std::string key);  // by value: a caller's may be that of the entry which goes
  base::Result<bool> drop(const std::string& key);
  [[nodiscard]] static base::Bytes bytes_of(const Entry& entry);  // with its record
  [[nodiscard]] base::Bytes size_of(const std::string& fingerprint, std::size_t tokens) const;
  [[nodiscard]] base::Status fits(base::Bytes bytes, std::size_t tokens, const Keys& spared) const;
  base::Status make_room(base::Bytes bytes, std::size_t tokens, const Keys& spared, Events& events);
  base::Status take_in(const std::string& path, IndexRow row, const Keys& spared, Events& events);
  [[nodiscard]] double worth(const Entry& entry) const;
  void quarantine(const std::string& fingerprint, const std::string& stem, const std::string& why, Events& events);
  void tell(const Events& events) const;
  [[nodiscard]] domain::Event event(std::string what, const IndexRow& row, std::string why) const;
  [[nodiscard]] std::string state_folder(const std::string& fingerprint) const;
  [[nodiscard]] std::int64_t now_ms() const;

  Parts parts_;
  std::unique_ptr<sys::FileLock> lock_;
  std::unique_ptr<IndexDb> index_;

  std::mutex mutex_;  // of all below
  std::map<std::string, Entry> entries_;
  std::map<std::uint32_t, std::string> keys_;
  std::map<std::pair<std::string, std::string>, std::string> ineffective_;
  std::map<std::string, double> bytes_per_token_;  // by fingerprint
  BlockIndex blocks_;
  base::Bytes bytes_ = 0;
  std::uint32_t next_id_ = 1;
  std::uint64_t next_part_ = 1;
};

}  // namespace hearth::prefix
