#pragma once
// The little that Hearth wants to know of an ELF file: which shared objects it needs, which symbols it offers, and
// which it reaches through the dynamic linker, so that a preloaded library can stand in between.
//
// 64-bit little-endian only (x86-64, aarch64), and only files with section headers, which distributions keep. Every
// offset, count and index comes from the file and is hostile: a bad one is a `corrupt` error, never a read outside the
// file. Source: System V ABI, chapters "Object Files" and "Dynamic Linking".
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace hearth::engine {

struct ElfSymbols {
  bool dynamic = false;             // has a dynamic section; a fully static program has none
  std::string soname;               // empty when it has none
  std::vector<std::string> needed;  // DT_NEEDED in order
  std::vector<std::string> search;  // folders of DT_RUNPATH, or else DT_RPATH, as written ($ORIGIN not replaced)
  std::set<std::string, std::less<>> offered;   // defined, global or weak, default visibility
  std::set<std::string, std::less<>> imported;  // undefined here
  // Names that dynamic relocations refer to: every imported one in use, and those of its own that the object calls by
  // way of its procedure linkage table. A symbol that is only `offered` is called directly and cannot be interposed
  // here.
  std::set<std::string, std::less<>> relocated;
};

// Errors: unsupported (not ELF, another class or byte order, no section headers), corrupt.
[[nodiscard]] base::Result<ElfSymbols> read_elf_symbols(std::span<const std::byte> file);

// The same of a file on disk, read as a whole. Errors: also not_found, permission, io, too_large (over 512 MiB).
[[nodiscard]] base::Result<ElfSymbols> read_elf_file(const std::string& path);

}  // namespace hearth::engine
