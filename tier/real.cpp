#include "real.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "checksum.h"
#include "os.h"

// Written by find_real_functions, read by the jumps in jumps.cpp.
#define HEARTH_TIER_JUMP_SLOT(name) extern "C" __attribute__((visibility("hidden"))) void* hearth_tier_real_##name;
HEARTH_TIER_JUMPS(HEARTH_TIER_JUMP_SLOT)
#undef HEARTH_TIER_JUMP_SLOT

namespace hearth::tier {
namespace {

constexpr const char* kNames[] = {
#define HEARTH_TIER_NAME(result, name, parameters) #name,
    HEARTH_TIER_SYMBOLS(HEARTH_TIER_NAME)
#undef HEARTH_TIER_NAME
#define HEARTH_TIER_NAME(name) #name,
        HEARTH_TIER_JUMPS(HEARTH_TIER_NAME)
#undef HEARTH_TIER_NAME
};

constinit Real the_real{};
constinit std::uint64_t the_found = 0;

const char* base_name(const char* path) {
  const char* slash = ::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool starts_with(const char* text, const char* start) { return ::strncmp(text, start, ::strlen(start)) == 0; }

struct Search {
  const char* name;
  void* found;
};

/// For engines whose libraries were opened privately: RTLD_NEXT does not see those.
int look_in_object(dl_phdr_info* info, std::size_t, void* argument) {
  auto* search = static_cast<Search*>(argument);
  const char* file = base_name(info->dlpi_name);
  if (!starts_with(file, "libggml") && !starts_with(file, "libllama")) return 0;
  void* handle = ::dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return 0;
  search->found = ::dlsym(handle, search->name);
  ::dlclose(handle);
  return search->found != nullptr ? 1 : 0;
}

void* find_function(const char* name, bool everywhere) {
  void* function = ::dlsym(RTLD_NEXT, name);
  if (function != nullptr || !everywhere) return function;
  Search search{name, nullptr};
  ::dl_iterate_phdr(look_in_object, &search);
  return search.found;
}

void** slot_of(unsigned index) {
  void** slots[] = {
#define HEARTH_TIER_SLOT(result, name, parameters) reinterpret_cast<void**>(&the_real.name),
      HEARTH_TIER_SYMBOLS(HEARTH_TIER_SLOT)
#undef HEARTH_TIER_SLOT
#define HEARTH_TIER_SLOT(name) &hearth_tier_real_##name,
          HEARTH_TIER_JUMPS(HEARTH_TIER_SLOT)
#undef HEARTH_TIER_SLOT
  };
  return slots[index];
}

void find_all(bool everywhere) {
  const os::ErrnoGuard guard;
  for (unsigned i = 0; i < kSymbolCount; ++i) {
    if (((the_found >> i) & 1) != 0) continue;
    void* function = find_function(kNames[i], everywhere);
    if (function == nullptr) continue;
    __atomic_store_n(slot_of(i), function, __ATOMIC_RELEASE);
    the_found |= std::uint64_t{1} << i;
  }
}

std::uint64_t hash_build_id(const dl_phdr_info& info, const ElfW(Phdr) & segment) {
  const auto* at = reinterpret_cast<const char*>(info.dlpi_addr + segment.p_vaddr);
  const char* end = at + segment.p_memsz;
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
    const char* name = at + sizeof *note;
    const char* description = name + os::round_up(note->n_namesz, 4);
    if (note->n_type == NT_GNU_BUILD_ID && description + note->n_descsz <= end) {
      return hash64(description, note->n_descsz, NT_GNU_BUILD_ID);
    }
    at = description + os::round_up(note->n_descsz, 4);
  }
  return 0;
}

int add_object(dl_phdr_info* info, std::size_t, void* argument) {
  const char* file = base_name(info->dlpi_name);
  if (!starts_with(file, "libggml")) return 0;
  std::uint64_t identity = hash64(file, ::strlen(file), 0);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type == PT_NOTE) identity ^= hash_build_id(*info, info->dlpi_phdr[i]);
  }
  *static_cast<std::uint64_t*>(argument) += identity;
  return 0;
}

#if defined(__x86_64__)
void cpuid(unsigned leaf, unsigned (&out)[4]) {
  __asm__("cpuid" : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3]) : "a"(leaf), "c"(0));
}

// Leaf 1 ebx holds the number of the core that answers, so only feature words are taken.
std::uint64_t cpu_fingerprint() {
  unsigned one[4];
  unsigned seven[4];
  cpuid(1, one);
  cpuid(7, seven);
  const unsigned words[] = {one[2], one[3], seven[1], seven[2], seven[3]};
  return hash64(words, sizeof words, 0);
}
#else
std::uint64_t cpu_fingerprint() {
  const unsigned long words[] = {::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2)};
  return hash64(words, sizeof words, 0);
}
#endif

}  // namespace

void find_real_functions() { find_all(false); }

const Real& real() { return the_real; }

const Real& real(Symbol wanted) {
  if (!found(wanted)) find_all(true);
  return the_real;
}

std::uint64_t found_symbols() { return the_found; }

bool found(Symbol symbol) { return ((the_found >> static_cast<unsigned>(symbol)) & 1) != 0; }

std::uint64_t engine_fingerprint() {
  std::uint64_t objects = 0;
  ::dl_iterate_phdr(add_object, &objects);
  const std::uint64_t both[] = {objects, cpu_fingerprint()};
  return hash64(both, sizeof both, 0);
}

}  // namespace hearth::tier
