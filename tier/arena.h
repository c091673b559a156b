// Which memory belongs to weights, and which file is behind it.
//
// Every large aligned allocation of the engine gets its own anonymous mapping here ("plain"): that costs what the C
// library's own mapping would. Only when the engine itself declares a buffer to hold weights, the pages are exchanged
// in place for a file: a new one that is packed into, or a published one whose tensors need not be packed again.
// Caches, compute and output buffers are never declared so and stay anonymous. See docs/tier.md, "Which buffers".
//
// Life of a weight buffer: filling (load) -> settled (the engine computed; read-only when it can be reused) ->
// published. A write after that thaws it: private memory, correct for this process, never in the file.
//
// Packing goes into anonymous memory where there is room for it (as fast as without us), and write_out() exchanges that
// for the file afterwards, piece by piece; without room, packing goes straight into the file's mapping, whose pages the
// kernel can reclaim at any time.
//
// Threads: hooks call from any engine thread; settle(), write_out() and the visitors run on the library's thread. Calls
// return quickly except declare_weights() (may wait for the check of a packed file) and release() (waits for a running
// command to let go).
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "format.h"
#include "os.h"
#include "page_vector.h"
#include "store.h"

namespace hearth::tier {

struct WeightBuffer {
  enum class Origin { kPacking, kAttached };
  enum class Phase { kFilling, kSettled, kThawed };

  // Constant after declaration.
  void* base = nullptr;
  std::size_t bytes = 0;
  std::uint32_t ordinal = 0;
  std::uint64_t engine = 0;
  char buffer_type[64] = {};
  Origin origin = Origin::kPacking;
  NewFile file;

  // Protected by Arena::mutex_; after settling the manifest does not change.
  Phase phase = Phase::kFilling;
  bool reusable = true;    // every write so far was one whole tensor
  bool trusted = true;     // attached: no difference to the manifest so far
  bool published = false;  // the file has its final name, or was attached
  bool pinned = false;
  bool staged = false;      // packed into anonymous memory; some or all of it is not in the file yet
  bool copied = false;      // was packed so: the mapping is private, and protected once settled
  bool dirty = false;       // the file's bytes may not be on disk yet
  unsigned writers = 0;     // engine threads inside a write
  unsigned users = 0;       // our threads that look at it without the lock
  std::size_t written = 0;  // tensors written or skipped
  std::size_t skipped = 0;
  PageVector<ManifestEntry> manifest;

  std::atomic<bool> closing{false};  // the engine frees it: let go soon
};

class Arena {
 public:
  static constexpr std::size_t kThreshold = 1u << 20;  // smaller allocations are not ours
  static constexpr std::size_t kMaxBuffers = 256;
  static constexpr std::size_t kMaxWeights = 32;

  /// Called once before main(). Without it every call below is a pass.
  void enable(Store& store, bool publish);
  [[nodiscard]] bool enabled() const { return store_ != nullptr; }

  /// Memory for the engine; nullptr: take the real allocator.
  [[nodiscard]] void* allocate(std::size_t bytes);
  /// True when `base` was ours and is gone now.
  [[nodiscard]] bool release(void* base);

  /// True when any of our buffers holds the address. Lock-free.
  [[nodiscard]] bool holds(const void* address) const;
  /// A tensor got its place at `address`. Lock-free.
  void placed(const void* address);
  /// True when a buffer of exactly this size was allocated here, and does or does not hold weights.
  [[nodiscard]] bool has_buffer(std::size_t bytes, bool weights) const;
  /// True when one of our buffers that is not declared yet holds the address. Lock-free.
  [[nodiscard]] bool undeclared(const void* address) const;
  /// The engine says that the buffer at `base` holds weights. Again for the same buffer: nothing. `packs`: the engine
  /// changes what is written to it, so all its writes go through calls that we see.
  void declare_weights(void* base, std::size_t bytes, const char* buffer_type, bool packs);

  struct TensorWrite {
    const char* name;
    const void* data;  // where the tensor lies
    std::size_t tensor_bytes;
    const void* source;  // null: not a copy of given bytes
    std::size_t offset;
    std::size_t bytes;
  };
  enum class Write { kPass, kPassAndTell, kSkip };
  /// Before the engine writes to a tensor. kSkip: the bytes are there, do not write. kPassAndTell: call end_write()
  /// after.
  [[nodiscard]] Write begin_write(const TensorWrite& write);
  void end_write(const void* data);
  /// Before the engine overwrites a whole buffer.
  void overwrite(void* base);

  /// True when there is a buffer that is still filling. Lock-free.
  [[nodiscard]] bool filling() const { return filling_.load(std::memory_order_acquire) != 0; }
  /// Ends the filling of every buffer nobody is writing to; unless the engine has computed, only of complete ones. True
  /// when it ended any.
  [[nodiscard]] bool settle(bool computed);
  /// Moves staged weights into their files and publishes what can be.
  void write_out();

  /// Calls `visit` for each weight buffer, which stays alive meanwhile. The lock is not held.
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (std::size_t i = 0; i < kMaxWeights; ++i) {
      WeightBuffer* buffer = enter(i);
      if (buffer == nullptr) continue;
      visit(*buffer);
      leave(*buffer);
    }
  }
  /// Keeps every present weight buffer alive while it exists.
  class Hold {
   public:
    Hold();
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    WeightBuffer* held_[kMaxWeights] = {};
  };
  /// The engine waits to free or change a buffer that our thread looks at: let go.
  [[nodiscard]] bool wanted_back() const;
  void set_pinned(WeightBuffer& buffer, bool pinned);
  void mark_synced(WeightBuffer& buffer);

 private:
  struct Slot {
    std::atomic<std::uintptr_t> base{0};  // 0 = free
    std::atomic<std::size_t> bytes{0};
    std::atomic<std::size_t> placed{0};
    std::atomic<int> weights{-1};  // index into weights_
    bool taken = false;            // protected by mutex_
  };

  [[nodiscard]] Slot* find(const void* address);
  [[nodiscard]] const Slot* find(const void* address) const;
  [[nodiscard]] WeightBuffer* weights_at(const void* address);
  [[nodiscard]] WeightBuffer* enter(std::size_t index);
  void leave(WeightBuffer& buffer);
  [[nodiscard]] int claim_weights(std::uint32_t& ordinal);
  [[nodiscard]] bool attach(WeightBuffer& buffer);
  [[nodiscard]] bool pack_into_file(WeightBuffer& buffer, bool packs);
  [[nodiscard]] Write begin_attached(WeightBuffer& buffer, const TensorWrite& write, std::uint64_t source);
  [[nodiscard]] Write begin_packing(WeightBuffer& buffer, const TensorWrite& write, std::uint64_t source);
  void distrust(WeightBuffer& buffer, const char* name);
  [[nodiscard]] bool thaw(WeightBuffer& buffer);
  [[nodiscard]] bool settle_one(WeightBuffer& buffer, bool computed);
  void write_out_one(WeightBuffer& buffer);
  void publish_one(WeightBuffer& buffer);
  void free_weights(WeightBuffer& buffer, int index);

  Store* store_ = nullptr;  // constant after enable()
  bool publish_ = false;
  std::atomic<std::size_t> used_{0};  // slots ever used
  std::atomic<int> filling_{0};
  os::Mutex mutex_;
  pthread_cond_t idle_ = PTHREAD_COND_INITIALIZER;
  Slot slots_[kMaxBuffers];
  WeightBuffer weights_[kMaxWeights];
  bool live_[kMaxWeights] = {};  // protected by mutex_
};

Arena& arena();

}  // namespace hearth::tier
