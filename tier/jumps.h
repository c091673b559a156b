// What the argument-preserving hooks of jumps.cpp report.
#pragma once

#include <cstdint>

namespace hearth::tier {

enum class Jump : int {
  kLoadModel = 0,    // a language model is about to be loaded
  kInitContext = 1,  // a context is about to be made
  kOpenFile = 2,     // a file with weights is about to be read (any ggml program)
};

#if defined(__x86_64__)
inline constexpr bool kHasJumps = true;
#else
inline constexpr bool kHasJumps = false;
#endif

inline constexpr std::uint64_t kTokensKept = 1024;

}  // namespace hearth::tier

extern "C" {
/// Called before the real function runs, on the caller's thread. Must be quick.
__attribute__((visibility("hidden"))) void hearth_tier_note(hearth::tier::Jump which);
/// Tokens added to batches so far in this process.
__attribute__((visibility("hidden"))) extern std::uint64_t hearth_tier_batch_tokens;
/// The last of them: token number n of the process is at n % kTokensKept.
__attribute__((visibility("hidden"))) extern std::int32_t hearth_tier_batch_ids[hearth::tier::kTokensKept];
}
