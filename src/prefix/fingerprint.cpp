#include "prefix/fingerprint.h"

#include <algorithm>

#include "base/sha256.h"

namespace hearth::prefix {
namespace {

// A named list: its name, its length, its parts.
void add_list(base::Sha256& hash, std::string_view name, const std::vector<std::string>& parts) {
  hash.add_part(name);
  hash.add_part(std::to_string(parts.size()));
  for (const auto& part : parts)
    hash.add_part(part);
}

std::vector<std::string> words_of(std::optional<std::uint32_t> number) {
  return number ? std::vector{std::to_string(*number)} : std::vector<std::string>{};
}

}  // namespace

base::Result<std::string> make_fingerprint(FingerprintParts parts) {
  if (parts.model_digest.empty() || parts.engine_build.empty()) {
    return base::fail(base::ErrorCode::unsupported,
                      "prefixes cannot be kept: the content of the model or the build of the engine is not known");
  }
  std::ranges::sort(parts.backends);
  base::Sha256 hash;
  add_list(hash, "hearth-prefix", {"1"});
  add_list(hash, "model", {parts.model_digest});
  add_list(hash, "engine", {parts.engine_version, parts.engine_build});
  add_list(hash, "backends", parts.backends);
  add_list(hash, "context", words_of(parts.context));
  add_list(hash, "slots", words_of(parts.slots));
  add_list(hash, "flags", parts.flags);
  for (const auto& file : parts.files)
    add_list(hash, "file", {file.path, std::to_string(file.bytes), std::to_string(file.modified_ns)});
  if (parts.exact) add_list(hash, "exact", {"1"});
  return hash.finish_hex().substr(0, 32);
}

}  // namespace hearth::prefix
