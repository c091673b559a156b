#pragma once
// ggml's compute backends as files: libggml-NAME.so, loaded by the engine at its start from the folder of its own
// program (under a private prefix that is the loader's folder) and from the folder it was built for.
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/locate.h"

namespace hearth::engine {

// "cpu-zen4" of "libggml-cpu-zen4.so"; empty for every other file, libggml-base.so included.
[[nodiscard]] std::string backend_name(const std::string& file);

// Backends that the engine can load: in the program's folder, beside its ggml libraries, and in ggml/backends*/ there.
// Sorted, each once. Folders that cannot be read have none.
[[nodiscard]] std::vector<std::string> list_backends(const std::filesystem::path& program,
                                                     std::span<const LinkedObject> objects);

// Links every backend of `libraries`/ggml/backends*/ into `libraries`, where the loader lies. BLAS is left out: with a
// reference BLAS prefill falls to a hundredth. Errors: not_found (no CPU backend there), io.
[[nodiscard]] base::Result<std::vector<std::string>> link_backends(const std::filesystem::path& libraries);

}  // namespace hearth::engine
