#pragma once
// Finds the engine's own shared objects the way the dynamic linker would, without running anything.
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/elf_symbols.h"

namespace hearth::engine {

struct LinkedObject {
  std::string path;  // canonical
  ElfSymbols symbols;
};

// True of libllama*, libggml*, libmtmd*, libwhisper*: the objects that are the engine, unlike those of the system.
[[nodiscard]] bool is_engine_library(std::string_view name);

// The program first, then every engine library that it needs, directly or not, each once. Looked for in `folders` (what
// --library-path would say), then in the run path of the object that needs it, then in the system's folders.
// Errors: unsupported (the program is a script or another kind of file), corrupt, not_found (names the missing
// library).
[[nodiscard]] base::Result<std::vector<LinkedObject>> locate_objects(const std::string& program,
                                                                     const std::vector<std::string>& folders);

// The folders that the system's dynamic linker searches for every program: those of /etc/ld.so.conf.d and the built-in
// ones.
[[nodiscard]] std::vector<std::string> system_library_folders();

}  // namespace hearth::engine
