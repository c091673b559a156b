#include "engine/elf_symbols.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>
#include <random>

namespace hearth::engine {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

// A shared object made by hand: string table, three symbols, one relocation, dynamic section, section headers.
class SmallElf {
 public:
  static constexpr std::size_t kDynamic = 1, kSymbols = 2, kStrings = 3, kRelocations = 4, kSections = 5;

  SmallElf() {
    constexpr char kText[] = "\0libx.so.1\0/opt/a:$ORIGIN\0own_call\0own_only\0imported\0me.so";
    const std::string strings(kText, sizeof kText);
    const auto at = [&strings](const char* name) { return static_cast<Elf64_Word>(strings.find(name)); };
    const std::vector<Elf64_Dyn> dynamic = {dyn(DT_NEEDED, at("libx")), dyn(DT_SONAME, at("me.so")),
                                            dyn(DT_RUNPATH, at("/opt")), dyn(DT_NULL, 0), dyn(DT_NEEDED, 1U << 30)};
    const std::vector<Elf64_Sym> symbols = {
        {}, sym(at("own_call"), 1), sym(at("own_only"), 1), sym(at("imported"), SHN_UNDEF)};
    const std::vector<Elf64_Rela> relocations = {rela(1), rela(3), rela(0)};
    bytes.resize(sizeof(Elf64_Ehdr));
    std::vector<Elf64_Shdr> headers(kSections);
    headers[kDynamic] = add(dynamic, SHT_DYNAMIC, kStrings);
    headers[kSymbols] = add(symbols, SHT_DYNSYM, kStrings);
    headers[kStrings] = add(std::vector<char>(strings.begin(), strings.end()), SHT_STRTAB, 0);
    headers[kRelocations] = add(relocations, SHT_RELA, kSymbols);
    const Elf64_Shdr table = add(headers, 0, 0);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_shoff = table.sh_offset;
    header.e_shnum = kSections;
    header.e_shentsize = sizeof(Elf64_Shdr);
    std::memcpy(bytes.data(), &header, sizeof header);
    sections_at = table.sh_offset;
  }

  template <typename Change>
  void change_section(std::size_t index, Change change) {
    Elf64_Shdr header;
    auto* place = bytes.data() + sections_at + index * sizeof header;
    std::memcpy(&header, place, sizeof header);
    change(header);
    std::memcpy(place, &header, sizeof header);
  }

  std::vector<std::byte> bytes;
  std::size_t sections_at = 0;

 private:
  static Elf64_Dyn dyn(Elf64_Sxword tag, Elf64_Xword value) { return {.d_tag = tag, .d_un = {.d_val = value}}; }
  static Elf64_Sym sym(Elf64_Word name, Elf64_Section section) {
    return {.st_name = name,
            .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
            .st_other = 0,
            .st_shndx = section,
            .st_value = 0,
            .st_size = 0};
  }
  static Elf64_Rela rela(Elf64_Xword symbol) {
    return {.r_offset = 0, .r_info = ELF64_R_INFO(symbol, R_X86_64_JUMP_SLOT), .r_addend = 0};
  }

  template <typename T>
  Elf64_Shdr add(const std::vector<T>& items, Elf64_Word type, Elf64_Word link) {
    Elf64_Shdr header{};
    header.sh_type = type;
    header.sh_offset = bytes.size();
    header.sh_size = items.size() * sizeof(T);
    header.sh_link = link;
    bytes.resize(bytes.size() + header.sh_size);
    std::memcpy(bytes.data() + header.sh_offset, items.data(), header.sh_size);
    return header;
  }
};

base::ErrorCode code_of(const base::Result<ElfSymbols>& result) {
  return result ? base::ErrorCode::internal : result.error().code;
}

TEST(ElfSymbols, ReadsASmallSharedObject) {
  const auto symbols = read_elf_symbols(SmallElf().bytes);
  ASSERT_TRUE(symbols) << symbols.error().message;
  EXPECT_TRUE(symbols->dynamic);
  EXPECT_EQ(symbols->soname, "me.so");
  EXPECT_THAT(symbols->needed, ElementsAre("libx.so.1"));
  EXPECT_THAT(symbols->search, ElementsAre("/opt/a", "$ORIGIN"));
  EXPECT_THAT(symbols->offered, ElementsAre("own_call", "own_only"));
  EXPECT_THAT(symbols->imported, ElementsAre("imported"));
  EXPECT_THAT(symbols->relocated, ElementsAre("imported", "own_call"));
}

TEST(ElfSymbols, ReadsARealProgram) {
  const auto symbols = read_elf_file("/proc/self/exe");
  ASSERT_TRUE(symbols) << symbols.error().message;
  EXPECT_TRUE(symbols->dynamic);
  EXPECT_THAT(symbols->needed, Contains("libc.so.6"));
  EXPECT_THAT(symbols->imported, Contains("waitpid"));
  EXPECT_THAT(symbols->imported, Not(Contains("main")));
}

TEST(ElfSymbols, RefusesWhatIsNotElf) {
  EXPECT_EQ(code_of(read_elf_symbols({})), base::ErrorCode::unsupported);
  EXPECT_EQ(code_of(read_elf_symbols(std::as_bytes(std::span("#!/bin/sh\nexec llama-server \"$@\"\n")))),
            base::ErrorCode::unsupported);
  EXPECT_EQ(code_of(read_elf_file("/proc/self")), base::ErrorCode::unsupported);
  EXPECT_EQ(code_of(read_elf_file("/nowhere/at/all")), base::ErrorCode::not_found);
}

TEST(ElfSymbols, RefusesOtherKindsOfElf) {
  for (const auto& [place, value] :
       {std::pair<std::size_t, int>{EI_CLASS, ELFCLASS32}, {EI_DATA, ELFDATA2MSB}, {16, ET_CORE}}) {
    SmallElf elf;
    elf.bytes[place] = static_cast<std::byte>(value);
    EXPECT_EQ(code_of(read_elf_symbols(elf.bytes)), base::ErrorCode::unsupported);
  }
}

TEST(ElfSymbols, EveryTruncationIsAnError) {
  const SmallElf elf;
  for (std::size_t size = 0; size < elf.bytes.size(); ++size) {
    // A copy of exactly that size, so that the address sanitizer sees a read past the end.
    const std::vector<std::byte> cut(elf.bytes.begin(), elf.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(read_elf_symbols(cut)) << size;
  }
}

TEST(ElfSymbols, HostileSectionHeadersAreErrors) {
  const auto judged = [](std::size_t section, auto change) {
    SmallElf elf;
    elf.change_section(section, change);
    return code_of(read_elf_symbols(elf.bytes));
  };
  using base::ErrorCode;
  EXPECT_EQ(judged(SmallElf::kSymbols, [](auto& s) { s.sh_offset = ~0ULL; }), ErrorCode::corrupt);
  EXPECT_EQ(judged(SmallElf::kSymbols, [](auto& s) { s.sh_size = ~0ULL; }), ErrorCode::corrupt);
  EXPECT_EQ(judged(SmallElf::kSymbols, [](auto& s) { s.sh_link = 1000; }), ErrorCode::corrupt);
  EXPECT_EQ(judged(SmallElf::kSymbols, [](auto& s) { s.sh_link = SmallElf::kSymbols; }), ErrorCode::corrupt);
  EXPECT_EQ(judged(SmallElf::kDynamic, [](auto& s) { s.sh_link = SmallElf::kSections; }), ErrorCode::corrupt);
  EXPECT_EQ(judged(SmallElf::kStrings, [](auto& s) { s.sh_size = 3; }), ErrorCode::corrupt);
  EXPECT_EQ(judged(SmallElf::kSymbols, [](auto& s) { s.sh_size = 2 * sizeof(Elf64_Sym); }), ErrorCode::corrupt);
}

TEST(ElfSymbols, HostileSectionTableIsAnError) {
  SmallElf elf;
  Elf64_Ehdr header;
  const auto judged = [&elf, &header](auto change) {
    std::memcpy(&header, elf.bytes.data(), sizeof header);
    change(header);
    auto bytes = elf.bytes;
    std::memcpy(bytes.data(), &header, sizeof header);
    return code_of(read_elf_symbols(bytes));
  };
  EXPECT_EQ(judged([](auto& h) { h.e_shoff = ~0ULL - 8; }), base::ErrorCode::corrupt);
  EXPECT_EQ(judged([](auto& h) { h.e_shnum = 0xffff; }), base::ErrorCode::corrupt);
  EXPECT_EQ(judged([](auto& h) { h.e_shentsize = 1; }), base::ErrorCode::corrupt);
  EXPECT_EQ(judged([](auto& h) { h.e_shoff = 0; }), base::ErrorCode::unsupported);
}

// Not a check of any one answer: whatever the bytes are, the reader comes back without touching memory that is not its
// own (the asan preset proves the second half).
TEST(ElfSymbols, AnySingleDamagedByteIsSurvived) {
  const SmallElf elf;
  std::mt19937 random(1);
  std::size_t refused = 0;
  for (std::size_t place = 0; place < elf.bytes.size(); ++place) {
    std::vector<std::byte> bytes = elf.bytes;
    bytes[place] ^= static_cast<std::byte>(1U + random() % 255U);
    refused += read_elf_symbols(bytes) ? 0 : 1;
  }
  EXPECT_GT(refused, 50U);
  EXPECT_LT(refused, elf.bytes.size());
}

}  // namespace
}  // namespace hearth::engine
