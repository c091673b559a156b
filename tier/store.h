// The folder of one key: finds, checks, sets aside, makes and publishes packed weight files (docs/packed-format.md).
//
// Owner: the arena. open() and begin_checks() run once before main(); take(), create(), set_aside() run on whichever
// thread declares weights; publish() runs on the library's own thread. Calls for one ordinal never overlap (the arena
// sees to it).
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "format.h"
#include "os.h"
#include "page_vector.h"
#include "settings.h"

namespace hearth::tier {

/// A checked, mapped packed file on its way into the arena.
struct PackedFile {
  int fd = -1;
  void* data = nullptr;  // private mapping of the data, only to be read
  std::uint64_t bytes = 0;
  PageVector<ManifestEntry> manifest;
};

/// A new file that an arena buffer is packed into.
struct NewFile {
  int fd = -1;
  char name[48] = {};  // empty: nameless
};

/// What publish() needs to know about a finished buffer.
struct Finished {
  const void* data;
  std::uint64_t bytes;
  std::uint32_t ordinal;
  std::uint64_t engine;
  const char* buffer_type;
  const PageVector<ManifestEntry>* manifest;
  const std::atomic<bool>* stop;  // set by the engine freeing the buffer
};

class Store {
 public:
  static constexpr unsigned kChecked = 8;  // ordinals whose files are looked at before main()

  /// Makes and examines the folder. kNone: files can be made and mapped here.
  [[nodiscard]] Reason open(const Settings& settings);
  [[nodiscard]] bool usable() const { return usable_; }

  /// Descriptor of the key's folder; -1 before open().
  [[nodiscard]] int folder() const { return folder_; }
  /// True when a published file is there whose tables are sound; its data may still turn out not to be.
  [[nodiscard]] bool expects_packed();

  /// Opens what is published and starts to check it on reader threads, beside the engine's own start.
  void begin_checks();

  /// Waits for the check of `ordinal` and hands the file over when it is sound and fits. A file that is refused for
  /// what it is is set aside; one that could not be opened, mapped or checked this time stays.
  [[nodiscard]] Reason take(std::uint32_t ordinal, std::uint64_t bytes, const char* buffer_type, std::uint64_t engine,
                            PackedFile& out);

  /// A file with space reserved for a buffer of this size.
  [[nodiscard]] Reason create(std::uint32_t ordinal, std::uint64_t bytes, NewFile& out, int& error);
  void discard(NewFile& file);

  /// Writes tables and header, syncs, gives the name. The data must be read-only by now.
  [[nodiscard]] Reason publish(NewFile& file, const Finished& finished, int& error);

  /// Renames `ordinal`'s file to .bad and reports why.
  void set_aside(std::uint32_t ordinal, Reason reason);

 private:
  struct Check {
    enum class State { kUnused, kRunning, kDone };
    PackedFile file;
    FileHeader header{};
    PageVector<std::uint32_t> sums;
    State state = State::kUnused;        // protected by Store::mutex_
    unsigned running = 0;                // protected by Store::mutex_
    Reason reason = Reason::kNone;       // protected by Store::mutex_ while running
    std::atomic<std::uint64_t> next{0};  // chunk to look at
    std::atomic<std::uint64_t> read{0};  // bytes checked
    std::uint64_t begin_ns = 0;
    Store* store = nullptr;
  };

  static void* check_thread(void* check);
  void start_check(Check& check, std::uint32_t ordinal, unsigned threads);
  void check_chunks(Check& check);
  void finish_check(Check& check, Reason reason);
  void wait_for(Check& check);
  void forget(Check& check);
  [[nodiscard]] Reason load(Check& check, std::uint32_t ordinal);
  [[nodiscard]] Reason load_tables(Check& check);
  [[nodiscard]] Reason probe();
  [[nodiscard]] Reason write_tables(const NewFile& file, const Finished& finished, int& error);
  [[nodiscard]] Reason name_file(NewFile& file, std::uint32_t ordinal, int& error);
  [[nodiscard]] int make_file(std::uint32_t ordinal, NewFile& out);
  void remove_leftovers();

  int folder_ = -1;  // constant after open()
  bool usable_ = false;
  char key_[128] = {};
  CheckMode mode_ = CheckMode::kAll;
  unsigned readers_ = 1;
  std::uint64_t quota_ = UINT64_MAX;
  std::atomic<std::uint64_t> published_{0};  // bytes, against the quota
  os::Mutex mutex_;
  pthread_cond_t done_ = PTHREAD_COND_INITIALIZER;
  Check checks_[kChecked];
};

}  // namespace hearth::tier
