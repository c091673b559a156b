#pragma once
// The name under which packed weights are kept: equal where the engine would pack the same bytes in the same way, else
// different. A key that is wrong all the same costs a repack, never a wrong answer (docs/tier.md, "What guards the
// answer"). Pure.
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth::engine {

struct PackedKeyParts {
  std::string content_digest;  // of the model's files, hexadecimal, with or without "sha256:" in front
  std::string engine_version;  // EngineInfo::version
  std::optional<std::string> engine_build;
  std::vector<std::string>
      backends;  // EngineInfo::backends, in any order: which of them the engine chooses, or splits over
  std::vector<std::string> flags;  // the configuration's, in their order: any of them may move a tensor
  std::vector<std::pair<std::string, std::string>> environment;  // likewise
};

// "<digest, at most 64 characters>-<build or version, at most 16>-<16 hexadecimal digits>": 1 to 98 of [A-Za-z0-9._-],
// never a dot in front, so that it is one safe path component. The digits are FNV-1a (64 bit) over all parts, each with
// its length; folders of one model are those with its digest in front. Context length and slots are no parts: they size
// caches, which are not packed. Files that flags name (adapters, projectors) count by name only.
// The layout of this text is format 1; a change of it leaves old folders to eviction.
[[nodiscard]] std::string make_packed_key(const PackedKeyParts& parts);

}  // namespace hearth::engine
