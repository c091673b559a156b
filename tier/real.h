// The engine's own functions behind our hooks, found once before main() (and again, if needed, when a library that was
// not there yet calls us). Only opaque handles and plain numbers: no struct of the engine is known here.
//
// The order of kSymbols is the order of bits in Hello::symbols.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::tier {

// Opaque handles of the engine.
struct Tensor;
struct BufferHandle;
struct BufferTypeHandle;
struct BackendHandle;
struct SchedulerHandle;
struct GraphHandle;
struct ContextHandle;
struct VocabHandle;
struct ModelHandle;
struct BatchHandle;
struct AdapterHandle;

// X(return type, name, parameters)
#define HEARTH_TIER_SYMBOLS(X)                                                                               \
  X(void*, ggml_aligned_malloc, (std::size_t))                                                               \
  X(void, ggml_aligned_free, (void*, std::size_t))                                                           \
  X(void, ggml_backend_buffer_set_usage, (BufferHandle*, int))                                               \
  X(void, ggml_backend_buffer_clear, (BufferHandle*, std::uint8_t))                                          \
  X(int, ggml_backend_tensor_alloc, (BufferHandle*, Tensor*, void*))                                         \
  X(void, ggml_backend_tensor_set, (Tensor*, const void*, std::size_t, std::size_t))                         \
  X(void, ggml_backend_tensor_memset, (Tensor*, std::uint8_t, std::size_t, std::size_t))                     \
  X(void*, ggml_backend_buffer_get_base, (BufferHandle*))                                                    \
  X(bool, ggml_backend_buffer_is_host, (BufferHandle*))                                                      \
  X(std::size_t, ggml_backend_buffer_get_size, (BufferHandle*))                                              \
  X(int, ggml_backend_buffer_get_usage, (BufferHandle*))                                                     \
  X(BufferTypeHandle*, ggml_backend_buffer_get_type, (BufferHandle*))                                        \
  X(const char*, ggml_backend_buft_name, (BufferTypeHandle*))                                                \
  X(const char*, ggml_get_name, (const Tensor*))                                                             \
  X(void*, ggml_get_data, (const Tensor*))                                                                   \
  X(std::size_t, ggml_nbytes, (const Tensor*))                                                               \
  X(std::int64_t, ggml_nrows, (const Tensor*))                                                               \
  X(int, ggml_backend_sched_graph_compute, (SchedulerHandle*, GraphHandle*))                                 \
  X(int, ggml_backend_sched_graph_compute_async, (SchedulerHandle*, GraphHandle*))                           \
  X(int, ggml_backend_graph_compute, (BackendHandle*, GraphHandle*))                                         \
  X(void, ggml_backend_load_all_from_path, (const char*))                                                    \
  X(int, llama_process, (ContextHandle*, BatchHandle*, std::intptr_t))                                       \
  X(void, llama_synchronize, (ContextHandle*))                                                               \
  X(std::int32_t, llama_tokenize,                                                                            \
    (const VocabHandle*, const char*, std::int32_t, std::int32_t*, std::int32_t, bool, bool))                \
  X(const VocabHandle*, llama_model_get_vocab, (const ModelHandle*))                                         \
  X(AdapterHandle*, llama_adapter_lora_init, (ModelHandle*, const char*))                                    \
  X(std::size_t, llama_state_seq_get_data, (ContextHandle*, std::uint8_t*, std::size_t, std::int32_t))       \
  X(std::size_t, llama_state_seq_set_data, (ContextHandle*, const std::uint8_t*, std::size_t, std::int32_t)) \
  X(std::size_t, llama_state_seq_get_data_ext,                                                               \
    (ContextHandle*, std::uint8_t*, std::size_t, std::int32_t, std::uint32_t))                               \
  X(std::size_t, llama_state_seq_set_data_ext,                                                               \
    (ContextHandle*, const std::uint8_t*, std::size_t, std::int32_t, std::uint32_t))                         \
  X(std::size_t, llama_state_seq_save_file,                                                                  \
    (ContextHandle*, const char*, std::int32_t, const std::int32_t*, std::size_t))                           \
  X(std::size_t, llama_state_seq_load_file,                                                                  \
    (ContextHandle*, const char*, std::int32_t, std::int32_t*, std::size_t, std::size_t*))

// Functions we only look at on the way in: they take structs by value or have changing parameters, so the hook is a
// jump that touches no argument (tier/jumps.cpp). X(name)
#define HEARTH_TIER_JUMPS(X)                     \
  X(llama_model_load_from_file)                  \
  X(llama_model_load_from_splits)                \
  X(llama_init_from_model)                       \
  X(llama_batch_ext_add_token)                   \
  X(gguf_init_from_file)                         \
  X(gguf_init_from_file_ptr)                     \
  X(whisper_init_from_file_with_params_no_state) \
  X(mtmd_init_from_file)

enum class Symbol : unsigned {
#define HEARTH_TIER_ENUM(result, name, parameters) name,
  HEARTH_TIER_SYMBOLS(HEARTH_TIER_ENUM)
#undef HEARTH_TIER_ENUM
#define HEARTH_TIER_ENUM(name) name,
      HEARTH_TIER_JUMPS(HEARTH_TIER_ENUM)
#undef HEARTH_TIER_ENUM
          kCount,
};
inline constexpr unsigned kSymbolCount = static_cast<unsigned>(Symbol::kCount);
static_assert(kSymbolCount <= 64);

/// Typed pointers to the real functions; null where the process has none.
struct Real {
#define HEARTH_TIER_POINTER(result, name, parameters) result(*name) parameters;
  HEARTH_TIER_SYMBOLS(HEARTH_TIER_POINTER)
#undef HEARTH_TIER_POINTER
};

/// Looks all functions up. Not re-entrant; called once before main().
void find_real_functions();

/// The table. Looks again when `wanted` is missing (the engine's library was loaded later than we were).
[[nodiscard]] const Real& real();
[[nodiscard]] const Real& real(Symbol wanted);

/// Bit per symbol found.
[[nodiscard]] std::uint64_t found_symbols();
[[nodiscard]] bool found(Symbol symbol);

/// Fingerprint of the engine: build ids of loaded objects named libggml*, and the CPU's feature words. Changes when the
/// engine loads a CPU variant, so ask when weights are declared, not before.
[[nodiscard]] std::uint64_t engine_fingerprint();

}  // namespace hearth::tier
