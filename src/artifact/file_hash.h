#pragma once
// The SHA-256 of a file's bytes, read once from end to end.
//
// Blocks for as long as the disk takes. Where the kernel can (RWF_DONTCACHE, Linux 6.14), pages that were not in the
// page cache before do not stay there, so that hashing one model does not cool the others.
#include <functional>
#include <string>

#include "artifact/digest.h"
#include "base/bytes.h"
#include "base/result.h"

namespace hearth::artifact {

// Called now and then on the thread that hashes; false stops it.
using HashProgress = std::function<bool(base::Bytes done, base::Bytes total)>;

struct FileHash {
  Digest digest;
  base::Bytes bytes = 0;
  std::int64_t mtime_ns = 0;  // before the first byte was read
};
// Errors: not_found, io, cancelled.
[[nodiscard]] base::Result<FileHash> hash_file(const std::string& path, const HashProgress& progress);

}  // namespace hearth::artifact
