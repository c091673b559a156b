// What the daemon tells the library, read once from the environment before main() and then removed from it, so that
// programs started by the engine inherit neither the settings nor the socket (which is made close-on-exec).
//
//   HEARTH_TIER_FD        descriptor of the library's end of the socket; absent or not a socket: stand aside in silence
//   HEARTH_TIER_PROTOCOL  the daemon's kProtocolVersion
//   HEARTH_TIER_DIR       folder of all packed weights; made when missing; absent: no arena
//   HEARTH_TIER_KEY       1..127 of [A-Za-z0-9._-], not starting with a dot; absent: no arena
//   HEARTH_TIER_MODEL     the model file, so that what the engine will read of it can be read ahead; optional
//   HEARTH_TIER_CHECK     all (default) | sample | none: how much of a packed file is read before it is used
//   HEARTH_TIER_PACK      on (default) | off: whether new packed files may be published
//   HEARTH_TIER_QUOTA     bytes this process may publish, default unlimited
//   HEARTH_TIER_READERS   reader threads, 1..16; default: as the device likes
//   HEARTH_TIER_ARENA     on (default) | off: off leaves only the probe
//   HEARTH_TIER_VERBOSE   1: messages also go to stderr, at most kMaxMessages of them
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::tier {

enum class CheckMode { kNone, kSample, kAll };

struct Settings {
  int socket = -1;
  std::uint32_t protocol = 0;
  bool arena = true;
  bool publish = true;
  bool verbose = false;
  CheckMode check = CheckMode::kAll;
  unsigned readers = 0;  // 0 = as the device likes
  std::uint64_t quota = UINT64_MAX;
  char directory[3072] = {};  // empty = not given or too long
  char model[3072] = {};      // empty = not given or too long
  char key[128] = {};         // empty = not given or refused
};

/// Looks the settings up in `environment` (NULL-terminated "NAME=value" list). Pure; unknown or malformed values keep
/// the default, a malformed key or descriptor counts as not given.
[[nodiscard]] Settings parse_settings(const char* const* environment);

/// Removes every HEARTH_TIER_ variable from `environment` in place. Allocates nothing.
void scrub_settings(char** environment);

/// True for a key that is safe as one path component (rule above).
[[nodiscard]] bool valid_key(const char* key);

}  // namespace hearth::tier
