#include "artifact/file_hash.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cerrno>
#include <vector>

#include "base/fd.h"

namespace hearth::artifact {
namespace {

// linux/fs.h of Linux 6.14; older kernels answer EOPNOTSUPP.
constexpr int kDontCache = 0x80;
constexpr std::size_t kPiece = 1u << 20;

class Piecewise {
 public:
  explicit Piecewise(int fd) : fd_(fd) {}

  // Empty at the end of the file.
  base::Result<std::span<const std::byte>> next() {
    ssize_t got = read(flags_);
    if (got < 0 && flags_ != 0 && (errno == EOPNOTSUPP || errno == EINVAL)) {
      flags_ = 0;
      got = read(flags_);
    }
    if (got < 0) return base::fail_errno("reading", errno);
    offset_ += got;
    return std::span<const std::byte>(piece_).first(static_cast<std::size_t>(got));
  }

 private:
  ssize_t read(int flags) {
    const iovec into{piece_.data(), piece_.size()};
    ssize_t got = -1;
    do {
      got = ::preadv2(fd_, &into, 1, offset_, flags);
    } while (got < 0 && errno == EINTR);
    return got;
  }

  int fd_;
  int flags_ = kDontCache;
  off_t offset_ = 0;
  std::vector<std::byte> piece_ = std::vector<std::byte>(kPiece);
};

}  // namespace

base::Result<FileHash> hash_file(const std::string& path, const HashProgress& progress) {
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return base::fail_errno(fmt::format("opening {}", path), errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return base::fail_errno(fmt::format("looking at {}", path), errno);
  base::Sha256 hash;
  Piecewise pieces(fd.get());
  base::Bytes done = 0;
  for (;;) {
    auto piece = pieces.next();
    if (!piece) return base::pass(piece, path);
    if (piece->empty()) break;
    hash.add(*piece);
    done += piece->size();
    if (progress && !progress(done, static_cast<base::Bytes>(info.st_size))) {
      return base::fail(base::ErrorCode::cancelled, fmt::format("hashing {} was stopped", path));
    }
  }
  return FileHash{
      .digest = Digest(hash), .bytes = done, .mtime_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec};
}

}  // namespace hearth::artifact
