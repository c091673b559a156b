#include "engine/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/fd.h"
#include "base/text.h"

namespace hearth::engine {
namespace {

using base::ErrorCode;
using base::Result;
using ByteSpan = std::span<const std::byte>;

static_assert(std::endian::native == std::endian::little, "structures are copied from the file as they are");

constexpr std::size_t kLargestFile = std::size_t{512} << 20;

std::unexpected<base::Error> damaged(std::string_view what) {
  return base::fail(ErrorCode::corrupt, fmt::format("damaged ELF file: {}", what));
}

// The bytes [offset, offset + size), or nothing when any of them lies outside.
std::optional<ByteSpan> slice(ByteSpan bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

// The index-th T of an array; the caller knows that it is inside.
template <typename T>
T element(ByteSpan bytes, std::size_t index) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// The zero-terminated string at `offset` of a string table.
std::optional<std::string_view> string_at(ByteSpan table, std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const auto* start = reinterpret_cast<const char*>(table.data()) + offset;
  const std::size_t room = table.size() - static_cast<std::size_t>(offset);
  const void* end = std::memchr(start, '\0', room);
  if (end == nullptr) return std::nullopt;
  return std::string_view(start, static_cast<std::size_t>(static_cast<const char*>(end) - start));
}

struct Section {
  Elf64_Shdr header{};
  ByteSpan bytes;
};

class Reader {
 public:
  explicit Reader(ByteSpan file) : file_(file) {}

  Result<ElfSymbols> read() {
    if (auto ok = read_header(); !ok) return base::pass(ok);
    if (auto ok = read_sections(); !ok) return base::pass(ok);
    for (const Section& section : sections_) {
      base::Status ok;
      if (section.header.sh_type == SHT_DYNAMIC) ok = take_dynamic(section);
      if (section.header.sh_type == SHT_DYNSYM) ok = take_symbols(section);
      if (section.header.sh_type == SHT_RELA) ok = take_relocations(section);
      if (!ok) return base::pass(ok);
    }
    return std::move(result_);
  }

 private:
  base::Status read_header() {
    const auto bytes = slice(file_, 0, sizeof(Elf64_Ehdr));
    if (!bytes || std::memcmp(bytes->data(), ELFMAG, SELFMAG) != 0)
      return base::fail(ErrorCode::unsupported, "not an ELF file");
    header_ = element<Elf64_Ehdr>(*bytes, 0);
    const bool known = header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == ELFDATA2LSB;
    if (!known) return base::fail(ErrorCode::unsupported, "not a 64-bit little-endian ELF file");
    if (header_.e_type != ET_EXEC && header_.e_type != ET_DYN) {
      return base::fail(ErrorCode::unsupported, "neither a program nor a shared object");
    }
    return {};
  }

  base::Status read_sections() {
    if (header_.e_shoff == 0 || header_.e_shnum == 0) return base::fail(ErrorCode::unsupported, "no section headers");
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) return damaged("size of a section header");
    const auto table = slice(file_, header_.e_shoff, std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr));
    if (!table) return damaged("section table outside the file");
    for (std::size_t i = 0; i < header_.e_shnum; ++i) {
      Section section{.header = element<Elf64_Shdr>(*table, i), .bytes = {}};
      if (section.header.sh_type != SHT_NOBITS && section.header.sh_type != SHT_NULL) {
        const auto bytes = slice(file_, section.header.sh_offset, section.header.sh_size);
        if (!bytes) return damaged("a section outside the file");
        section.bytes = *bytes;
      }
      sections_.push_back(section);
    }
    return {};
  }

  // The section that `section` names in sh_link, when it is of the wanted type.
  [[nodiscard]] const Section* linked(const Section& section, Elf64_Word type) const {
    if (section.header.sh_link >= sections_.size()) return nullptr;
    const Section& found = sections_[section.header.sh_link];
    return found.header.sh_type == type ? &found : nullptr;
  }

  base::Status take_dynamic(const Section& section) {
    const Section* strings = linked(section, SHT_STRTAB);
    if (strings == nullptr) return damaged("dynamic section without strings");
    result_.dynamic = true;
    std::vector<std::string> old_search;
    for (std::size_t i = 0; i < section.bytes.size() / sizeof(Elf64_Dyn); ++i) {
      const auto entry = element<Elf64_Dyn>(section.bytes, i);
      if (entry.d_tag == DT_NULL) break;
      const bool named =
          entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME || entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH;
      if (!named) continue;
      const auto text = string_at(strings->bytes, entry.d_un.d_val);
      if (!text) return damaged("name in the dynamic section");
      if (entry.d_tag == DT_NEEDED) result_.needed.emplace_back(*text);
      if (entry.d_tag == DT_SONAME) result_.soname = *text;
      if (entry.d_tag == DT_RUNPATH) add_folders(*text, result_.search);
      if (entry.d_tag == DT_RPATH) add_folders(*text, old_search);
    }
    if (result_.search.empty()) result_.search = std::move(old_search);
    return {};
  }

  static void add_folders(std::string_view text, std::vector<std::string>& folders) {
    for (const std::string_view folder : base::split(text, ':')) {
      if (!folder.empty()) folders.emplace_back(folder);
    }
  }

  base::Status take_symbols(const Section& section) {
    const Section* strings = linked(section, SHT_STRTAB);
    if (strings == nullptr) return damaged("symbols without strings");
    for (std::size_t i = 1; i < section.bytes.size() / sizeof(Elf64_Sym); ++i) {
      const auto symbol = element<Elf64_Sym>(section.bytes, i);
      const auto name = string_at(strings->bytes, symbol.st_name);
      if (!name) return damaged("name of a symbol");
      if (name->empty()) continue;
      const auto binding = ELF64_ST_BIND(symbol.st_info);
      const bool visible = ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT;
      if (symbol.st_shndx == SHN_UNDEF) {
        result_.imported.emplace(*name);
      } else if ((binding == STB_GLOBAL || binding == STB_WEAK) && visible) {
        result_.offered.emplace(*name);
      }
    }
    return {};
  }

  base::Status take_relocations(const Section& section) {
    const Section* symbols = linked(section, SHT_DYNSYM);
    if (symbols == nullptr) return {};  // relocations without symbols (static programs) say nothing here
    const Section* strings = linked(*symbols, SHT_STRTAB);
    if (strings == nullptr) return damaged("symbols without strings");
    const std::size_t count = symbols->bytes.size() / sizeof(Elf64_Sym);
    for (std::size_t i = 0; i < section.bytes.size() / sizeof(Elf64_Rela); ++i) {
      const auto index = ELF64_R_SYM(element<Elf64_Rela>(section.bytes, i).r_info);
      if (index == 0) continue;
      if (index >= count) return damaged("symbol of a relocation");
      const auto name = string_at(strings->bytes, element<Elf64_Sym>(symbols->bytes, index).st_name);
      if (!name) return damaged("name of a symbol");
      result_.relocated.emplace(*name);
    }
    return {};
  }

  ByteSpan file_;
  Elf64_Ehdr header_{};
  std::vector<Section> sections_;
  ElfSymbols result_;
};

Result<std::vector<std::byte>> read_file(const std::string& path) {
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return base::fail_errno(fmt::format("opening {}", path), errno);
  if (!S_ISREG(info.st_mode)) return base::fail(ErrorCode::unsupported, fmt::format("{} is not a file", path));
  if (static_cast<std::uint64_t>(info.st_size) > kLargestFile) {
    return base::fail(ErrorCode::too_large, fmt::format("{} is too large for a program", path));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(info.st_size));
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(fd.get(), bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno(fmt::format("reading {}", path), errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace

Result<ElfSymbols> read_elf_symbols(ByteSpan file) { return Reader(file).read(); }

Result<ElfSymbols> read_elf_file(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes) return base::pass(bytes);
  auto symbols = read_elf_symbols(*bytes);
  if (!symbols) return base::pass(symbols, path);
  return symbols;
}

}  // namespace hearth::engine
