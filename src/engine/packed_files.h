#pragma once
// The folders of packed weights as the daemon sees them: what is there, when it was used, whether it is sound. The
// files are the library's (docs/packed-format.md); their layout and checks are its own code (tier/format.h).
//
// Blocks; any thread. Safe beside running engines: a published file is never written to, names change under the
// folder's lock, and an engine keeps what it has mapped when its file goes.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"

namespace hearth::engine {

struct PackedFolder {
  std::string key;
  base::Bytes bytes = 0;  // of all its files, on disk
  base::Wall last_used;
  std::optional<double> pack_ms;
};

// Every key under `root`; none when there is no such folder. What cannot be read is left out.
[[nodiscard]] std::vector<PackedFolder> list_packed(const std::string& root);

// Notes that the key serves a start now, and how long packing took where that was seen (else what was known stays).
// Errors: io.
[[nodiscard]] base::Status note_packed_use(const std::string& folder, base::Wall now, std::optional<double> pack_ms);

// Removes one key with all its files. Errors: io. What is there is removed even so.
[[nodiscard]] base::Status remove_packed(const std::string& root, const std::string& key);

// Removes every key of the model file with that digest (hexadecimal). Errors: io. What is there is removed even so.
[[nodiscard]] base::Status remove_packed_of(const std::string& root, const std::string& digest);

struct PackedCheck {
  std::size_t files = 0;
  base::Bytes bytes = 0;
  std::vector<std::string> faults;  // one sentence each; that file is set aside
};
// Reads every byte of the published files of one key. `go_on` is asked now and then. Errors: io (the folder cannot
// be listed or locked), cancelled (`go_on` said no).
[[nodiscard]] base::Result<PackedCheck> verify_packed(const std::string& folder, const std::function<bool()>& go_on);

}  // namespace hearth::engine
