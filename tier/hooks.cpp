// The functions of the engine that are answered here first. One rule for all: when the library is not live, call the
// real one and nothing else; never hold a lock across the real call; never change a result.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arena.h"
#include "engine_maps.h"
#include "jumps.h"
#include "library.h"
#include "model_files.h"
#include "os.h"
#include "probe.h"
#include "reads.h"
#include "real.h"
#include "token_rows.h"

#define HEARTH_TIER_HOOK extern "C" __attribute__((visibility("default")))

namespace hearth::tier {
namespace {

constexpr int kUsageWeights = 1;                        // GGML_BACKEND_BUFFER_USAGE_WEIGHTS, stable since it exists
constexpr std::uint64_t kNotableWait = 100'000;         // ns; shorter waits for a device are not reported
constinit std::atomic<std::uint64_t> load_begin{0};     // ns, 0 = no model load under way
constinit std::atomic<std::uint64_t> context_begin{0};  // ns, 0 = no context creation under way
constinit thread_local int inside_process = 0;          // graphs of a process call are part of its span

/// Ends the span that began at `begin`, once.
void finish(std::atomic<std::uint64_t>& begin, SpanKind kind) {
  if (begin.load(std::memory_order_relaxed) == 0) return;
  const std::uint64_t at = begin.exchange(0);
  if (at != 0) send_span(kind, at, os::now_ns(), -1, 0);
}

/// Every computation: weights are complete by now.
void before_compute() {
  if (arena().filling()) request_settle(Settle::kComputed);
}

/// A model is loaded: its weights are probably complete, and the engine has other things to do before it computes.
void after_load() {
  if (arena().filling()) request_settle(Settle::kLoaded);
}

/// A large mapping of a file that is only read is a model; its reading ahead is left out where packed weights serve.
void* map_for_engine(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  const auto really = [&](int with) {
    return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, with, fd, offset));
  };
  if (!live() || fd < 0 || protection != PROT_READ || bytes < EngineMaps::kSmallest) return really(flags);
  const bool spare = (flags & MAP_POPULATE) != 0 && engine_maps().sparing();
  void* place = really(spare ? flags & ~MAP_POPULATE : flags);
  if (place != MAP_FAILED) engine_maps().add(place, bytes, fd, static_cast<std::uint64_t>(offset), spare);
  return place;
}

/// Runs a graph computation of a program that has no process call around it.
template <typename Compute>
int timed_graph(Compute&& compute) {
  if (!live() || inside_process > 0) return compute();
  const Computation running;
  before_compute();
  finish(context_begin, SpanKind::kContextInit);
  SpanTimer timer(SpanKind::kGraph);
  ++inside_process;
  const int result = compute();
  --inside_process;
  timer.done(-1, result);
  return result;
}

template <typename Copy>
std::size_t timed_state(SpanKind kind, Copy&& copy) {
  if (!live()) return copy();
  SpanTimer timer(kind);
  const std::size_t bytes = copy();
  timer.done(static_cast<std::int64_t>(bytes), 0);
  return bytes;
}

const char* type_name(BufferHandle* buffer) {
  const Real& r = real();
  if (r.ggml_backend_buffer_get_type == nullptr || r.ggml_backend_buft_name == nullptr) return "";
  return r.ggml_backend_buft_name(r.ggml_backend_buffer_get_type(buffer));
}

/// A tensor placed outside our buffers: remember it when it is a weight (used in place from a mapped file).
void note_outside(BufferHandle* buffer, Tensor* tensor, void* at) {
  const Real& r = real();
  if (r.ggml_backend_buffer_get_usage == nullptr || r.ggml_get_name == nullptr || r.ggml_nbytes == nullptr) return;
  if (r.ggml_backend_buffer_get_usage(buffer) != kUsageWeights) return;
  const char* name = r.ggml_get_name(tensor);
  const std::size_t bytes = r.ggml_nbytes(tensor);
  model_files().note(name, at, bytes);
  if (r.ggml_nrows != nullptr && ::strcmp(name, TokenRows::kName) == 0)
    token_rows().note(at, bytes, r.ggml_nrows(tensor));
}

bool packs(BufferHandle* buffer) {
  const Real& r = real();
  return r.ggml_backend_buffer_is_host != nullptr && !r.ggml_backend_buffer_is_host(buffer);
}

/// Host memory whose bytes are not what is written to it (the engine says "not host") is a packing buffer, and only
/// weights are packed. Programs that declare usage late, after filling, are recognised by this.
void note_inside(BufferHandle* buffer, void* at) {
  const Real& r = real();
  arena().placed(at);
  if (!arena().undeclared(at) || !packs(buffer)) return;
  arena().declare_weights(r.ggml_backend_buffer_get_base(buffer), r.ggml_backend_buffer_get_size(buffer),
                          type_name(buffer), true);
}

Arena::Write begin_write(Tensor* tensor, const void* source, std::size_t offset, std::size_t bytes) {
  const Real& r = real();
  if (!live() || !arena().enabled() || r.ggml_get_data == nullptr) return Arena::Write::kPass;
  const void* at = r.ggml_get_data(tensor);
  if (!arena().holds(at)) return Arena::Write::kPass;
  const char* name = r.ggml_get_name(tensor);
  if (name[0] == '\0') name = "-";  // some programs do not name their tensors; the place identifies them
  return arena().begin_write({name, at, r.ggml_nbytes(tensor), source, offset, bytes});
}

void end_write(Arena::Write write, Tensor* tensor) {
  if (write == Arena::Write::kPassAndTell) arena().end_write(real().ggml_get_data(tensor));
}

}  // namespace
}  // namespace hearth::tier

using namespace hearth::tier;  // the hooks are C functions at file scope

extern "C" {
void hearth_tier_note(Jump which) {
  if (!live()) return;
  const std::uint64_t now = os::now_ns();
  if (which == Jump::kLoadModel) load_begin.store(now);
  if (which == Jump::kInitContext) {
    after_load();
    finish(load_begin, SpanKind::kModelLoad);
    context_begin.store(now);
  }
}
}

// --- memory ----------------------------------------------------------------------------------------------------------

HEARTH_TIER_HOOK void* ggml_aligned_malloc(std::size_t bytes) {
  void* memory = live() ? arena().allocate(bytes) : nullptr;
  return memory != nullptr ? memory : real(Symbol::ggml_aligned_malloc).ggml_aligned_malloc(bytes);
}

HEARTH_TIER_HOOK void ggml_aligned_free(void* memory, std::size_t bytes) {
  if (arena().enabled() && arena().release(memory)) return;
  real(Symbol::ggml_aligned_free).ggml_aligned_free(memory, bytes);
}

#if defined(__LP64__)  // elsewhere the system call counts in pages
HEARTH_TIER_HOOK void* mmap(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  return map_for_engine(at, bytes, protection, flags, fd, offset);
}

HEARTH_TIER_HOOK void* mmap64(void* at, std::size_t bytes, int protection, int flags, int fd, off64_t offset) noexcept {
  return map_for_engine(at, bytes, protection, flags, fd, offset);
}

// The advice numbers of POSIX are the kernel's, but for DONTNEED, which the C library ignores as well.
HEARTH_TIER_HOOK int posix_madvise(void* at, std::size_t bytes, int advice) noexcept {
  if (advice == POSIX_MADV_DONTNEED || (advice == POSIX_MADV_WILLNEED && live() && engine_maps().spared(at))) return 0;
  const os::ErrnoGuard guard;
  return ::syscall(SYS_madvise, at, bytes, advice) == 0 ? 0 : errno;
}
#endif

// --- weights ---------------------------------------------------------------------------------------------------------

HEARTH_TIER_HOOK void ggml_backend_buffer_set_usage(BufferHandle* buffer, int usage) {
  const Real& r = real(Symbol::ggml_backend_buffer_set_usage);
  r.ggml_backend_buffer_set_usage(buffer, usage);
  if (!live() || !arena().enabled() || usage != kUsageWeights) return;
  const std::size_t bytes = r.ggml_backend_buffer_get_size(buffer);
  // Only buffers known to have an address are asked for it: the engine aborts on those without.
  if (!arena().has_buffer(bytes, false)) return;
  arena().declare_weights(r.ggml_backend_buffer_get_base(buffer), bytes, type_name(buffer), packs(buffer));
}

HEARTH_TIER_HOOK int ggml_backend_tensor_alloc(BufferHandle* buffer, Tensor* tensor, void* at) {
  if (live()) {
    if (arena().holds(at))
      note_inside(buffer, at);
    else
      note_outside(buffer, tensor, at);
  }
  return real(Symbol::ggml_backend_tensor_alloc).ggml_backend_tensor_alloc(buffer, tensor, at);
}

HEARTH_TIER_HOOK void ggml_backend_tensor_set(Tensor* tensor, const void* data, std::size_t offset, std::size_t bytes) {
  const Arena::Write write = begin_write(tensor, data, offset, bytes);
  if (write == Arena::Write::kSkip) return;
  real(Symbol::ggml_backend_tensor_set).ggml_backend_tensor_set(tensor, data, offset, bytes);
  end_write(write, tensor);
}

HEARTH_TIER_HOOK void ggml_backend_tensor_memset(Tensor* tensor, std::uint8_t value, std::size_t offset,
                                                 std::size_t bytes) {
  const Arena::Write write = begin_write(tensor, nullptr, offset, bytes);
  real(Symbol::ggml_backend_tensor_memset).ggml_backend_tensor_memset(tensor, value, offset, bytes);
  end_write(write, tensor);
}

HEARTH_TIER_HOOK void ggml_backend_buffer_clear(BufferHandle* buffer, std::uint8_t value) {
  const Real& r = real(Symbol::ggml_backend_buffer_clear);
  if (live() && arena().enabled() && r.ggml_backend_buffer_get_usage != nullptr &&
      r.ggml_backend_buffer_get_usage(buffer) == kUsageWeights &&
      arena().has_buffer(r.ggml_backend_buffer_get_size(buffer), true)) {
    arena().overwrite(r.ggml_backend_buffer_get_base(buffer));
  }
  r.ggml_backend_buffer_clear(buffer, value);
}

// --- computation -----------------------------------------------------------------------------------------------------

HEARTH_TIER_HOOK int ggml_backend_sched_graph_compute(SchedulerHandle* scheduler, GraphHandle* graph) {
  const Real& r = real(Symbol::ggml_backend_sched_graph_compute);
  return timed_graph([&] { return r.ggml_backend_sched_graph_compute(scheduler, graph); });
}

HEARTH_TIER_HOOK int ggml_backend_sched_graph_compute_async(SchedulerHandle* scheduler, GraphHandle* graph) {
  const Real& r = real(Symbol::ggml_backend_sched_graph_compute_async);
  return timed_graph([&] { return r.ggml_backend_sched_graph_compute_async(scheduler, graph); });
}

HEARTH_TIER_HOOK int ggml_backend_graph_compute(BackendHandle* backend, GraphHandle* graph) {
  const Real& r = real(Symbol::ggml_backend_graph_compute);
  return timed_graph([&] { return r.ggml_backend_graph_compute(backend, graph); });
}

HEARTH_TIER_HOOK int llama_process(ContextHandle* context, BatchHandle* batch, std::intptr_t how) {
  const Real& r = real(Symbol::llama_process);
  if (!live()) return r.llama_process(context, batch, how);
  static constinit std::atomic<std::uint64_t> counted{0};
  finish(context_begin, SpanKind::kContextInit);
  const std::uint64_t now = __atomic_load_n(&hearth_tier_batch_tokens, __ATOMIC_RELAXED);
  const std::uint64_t tokens = now - counted.exchange(now);
  SpanTimer timer(SpanKind::kProcess);
  const Computation running;
  before_compute();
  if (tokens > 1) token_rows().read_ahead(tokens);  // one row is one fault
  ++inside_process;
  const int result = r.llama_process(context, batch, how);
  --inside_process;
  const bool known = kHasJumps && found(Symbol::llama_batch_ext_add_token) && tokens > 0;
  const std::int64_t count = known ? static_cast<std::int64_t>(tokens) : -1;
  static constinit StepFilter steps;
  const std::uint64_t end = os::now_ns();
  if (steps.tells(count, timer.begin(), end)) send_span(SpanKind::kProcess, timer.begin(), end, count, result);
  return result;
}

HEARTH_TIER_HOOK void llama_synchronize(ContextHandle* context) {
  const Real& r = real(Symbol::llama_synchronize);
  if (!live() || inside_process > 0) return r.llama_synchronize(context);
  const std::uint64_t begin = os::now_ns();
  r.llama_synchronize(context);
  const std::uint64_t end = os::now_ns();
  if (end - begin >= kNotableWait) send_span(SpanKind::kSynchronize, begin, end, -1, 0);
}

// --- the rest of the probe -------------------------------------------------------------------------------------------

HEARTH_TIER_HOOK void ggml_backend_load_all_from_path(const char* folder) {
  const Real& r = real(Symbol::ggml_backend_load_all_from_path);
  SpanTimer timer(SpanKind::kBackendLoad);
  r.ggml_backend_load_all_from_path(folder);
  if (live()) timer.done(-1, 0);
}

HEARTH_TIER_HOOK std::int32_t llama_tokenize(const VocabHandle* vocabulary, const char* text, std::int32_t length,
                                             std::int32_t* tokens, std::int32_t room, bool add_special,
                                             bool parse_special) {
  const Real& r = real(Symbol::llama_tokenize);
  if (!live()) return r.llama_tokenize(vocabulary, text, length, tokens, room, add_special, parse_special);
  SpanTimer timer(SpanKind::kTokenize);
  const std::int32_t count = r.llama_tokenize(vocabulary, text, length, tokens, room, add_special, parse_special);
  timer.done(length, count);
  return count;
}

HEARTH_TIER_HOOK const VocabHandle* llama_model_get_vocab(const ModelHandle* model) {
  const VocabHandle* vocabulary = real(Symbol::llama_model_get_vocab).llama_model_get_vocab(model);
  if (live()) {
    finish(load_begin, SpanKind::kModelLoad);
    after_load();
  }
  return vocabulary;
}

HEARTH_TIER_HOOK AdapterHandle* llama_adapter_lora_init(ModelHandle* model, const char* path) {
  const Real& r = real(Symbol::llama_adapter_lora_init);
  SpanTimer timer(SpanKind::kAdapterLoad);
  AdapterHandle* adapter = r.llama_adapter_lora_init(model, path);
  if (live()) timer.done(-1, adapter == nullptr ? -1 : 0);
  return adapter;
}

HEARTH_TIER_HOOK std::size_t llama_state_seq_get_data(ContextHandle* context, std::uint8_t* to, std::size_t room,
                                                      std::int32_t sequence) {
  const Real& r = real(Symbol::llama_state_seq_get_data);
  return timed_state(SpanKind::kStateSave, [&] { return r.llama_state_seq_get_data(context, to, room, sequence); });
}

HEARTH_TIER_HOOK std::size_t llama_state_seq_set_data(ContextHandle* context, const std::uint8_t* from,
                                                      std::size_t bytes, std::int32_t sequence) {
  const Real& r = real(Symbol::llama_state_seq_set_data);
  return timed_state(SpanKind::kStateLoad, [&] { return r.llama_state_seq_set_data(context, from, bytes, sequence); });
}

HEARTH_TIER_HOOK std::size_t llama_state_seq_get_data_ext(ContextHandle* context, std::uint8_t* to, std::size_t room,
                                                          std::int32_t sequence, std::uint32_t flags) {
  const Real& r = real(Symbol::llama_state_seq_get_data_ext);
  return timed_state(SpanKind::kStateSave,
                     [&] { return r.llama_state_seq_get_data_ext(context, to, room, sequence, flags); });
}

HEARTH_TIER_HOOK std::size_t llama_state_seq_set_data_ext(ContextHandle* context, const std::uint8_t* from,
                                                          std::size_t bytes, std::int32_t sequence,
                                                          std::uint32_t flags) {
  const Real& r = real(Symbol::llama_state_seq_set_data_ext);
  return timed_state(SpanKind::kStateLoad,
                     [&] { return r.llama_state_seq_set_data_ext(context, from, bytes, sequence, flags); });
}

HEARTH_TIER_HOOK std::size_t llama_state_seq_save_file(ContextHandle* context, const char* path, std::int32_t sequence,
                                                       const std::int32_t* tokens, std::size_t count) {
  const Real& r = real(Symbol::llama_state_seq_save_file);
  return timed_state(SpanKind::kStateSave,
                     [&] { return r.llama_state_seq_save_file(context, path, sequence, tokens, count); });
}

HEARTH_TIER_HOOK std::size_t llama_state_seq_load_file(ContextHandle* context, const char* path, std::int32_t sequence,
                                                       std::int32_t* tokens, std::size_t room, std::size_t* count) {
  const Real& r = real(Symbol::llama_state_seq_load_file);
  return timed_state(SpanKind::kStateLoad,
                     [&] { return r.llama_state_seq_load_file(context, path, sequence, tokens, room, count); });
}
