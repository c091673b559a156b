#include "engine/packed_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "engine/tier_types.h"
#include "tier/checksum.h"
#include "tier/format.h"

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;
using tier::Reason;

constexpr const char* kUseName = "use.json";
constexpr int kUseVersion = 1;
constexpr std::size_t kLongestUse = 4096;

base::Error io_error(const std::string& what) {
  return {base::ErrorCode::io, fmt::format("{}: {}", what, std::strerror(errno))};
}

std::int64_t to_ms(base::Wall at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

struct Use {
  base::Wall last;
  std::optional<double> pack_ms;
};

// Empty for anything that is not exactly such a note; a guess about use is not worth more than the folder's own time.
std::optional<Use> read_use(const fs::path& folder) {
  std::ifstream file(folder / kUseName, std::ios::binary);
  std::string text(kLongestUse, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("version") || json["version"] != kUseVersion) return std::nullopt;
  const auto last = json.find("last_used_ms");
  if (last == json.end() || !last->is_number_unsigned()) return std::nullopt;
  Use use{base::Wall(std::chrono::milliseconds(last->get<std::int64_t>())), std::nullopt};
  const auto cost = json.find("pack_ms");
  if (cost != json.end() && cost->is_number() && cost->get<double>() >= 0) use.pack_ms = cost->get<double>();
  return use;
}

base::Wall changed_at(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return {};
  return base::Wall(std::chrono::milliseconds(status.st_mtim.tv_sec * 1000));
}

std::optional<std::uint32_t> ordinal_of(const fs::path& file) {
  const std::string stem = file.stem();
  std::uint32_t ordinal = 0;
  const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), ordinal);
  const bool whole = error == std::errc() && end == stem.data() + stem.size();
  return whole && file.extension() == ".seg" ? std::optional(ordinal) : std::nullopt;
}

bool read_at(int fd, void* to, std::size_t bytes, std::uint64_t offset) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(fd, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

// The format's own check wants the chunk at its place in the data; one chunk is in memory at a time.
bool chunk_is_sound(int fd, const tier::FileHeader& header, const std::vector<std::uint32_t>& sums, std::uint32_t index,
                    std::vector<unsigned char>& chunk) {
  const std::uint64_t bytes = tier::chunk_length(header.data_bytes, index);
  if (!read_at(fd, chunk.data(), bytes, header.data_offset + std::uint64_t{index} * header.chunk_bytes)) return false;
  return tier::checksum(chunk.data(), bytes) == sums[index];
}

// A file that is not read to its end because `go_on` says no has no fault as far as it was read.
Reason check_file(int fd, const std::string& key, std::uint32_t ordinal, base::Bytes file_bytes,
                  const std::function<bool()>& go_on) {
  tier::FileHeader header{};
  if (file_bytes < sizeof header) return Reason::kShort;
  if (!read_at(fd, &header, sizeof header, 0)) return Reason::kIo;
  if (const Reason bad = tier::check_header(header, file_bytes, {key.c_str(), ordinal}); bad != Reason::kNone)
    return bad;
  std::vector<tier::ManifestEntry> manifest(header.tensor_count);
  std::vector<std::uint32_t> sums(header.chunk_count);
  if (!read_at(fd, manifest.data(), manifest.size() * sizeof manifest[0], header.manifest_offset) ||
      !read_at(fd, sums.data(), sums.size() * sizeof sums[0], header.sums_offset)) {
    return Reason::kIo;
  }
  if (const Reason bad = tier::check_tables(header, manifest.data(), sums.data()); bad != Reason::kNone) return bad;
  std::vector<unsigned char> chunk(header.chunk_bytes);
  for (std::uint32_t i = 0; i < header.chunk_count && go_on(); ++i) {
    if (!chunk_is_sound(fd, header, sums, i, chunk)) return Reason::kBadChunk;
  }
  return Reason::kNone;
}

base::Result<base::Fd> lock_folder(const fs::path& folder) {
  base::Fd lock(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX) != 0) return std::unexpected(io_error("locking " + folder.string()));
  return lock;
}

// Only the very file that was judged: an engine may have replaced it meanwhile.
base::Status set_aside(const fs::path& file, const struct stat& judged) {
  auto lock = lock_folder(file.parent_path());
  if (!lock) return base::pass(lock);
  struct stat now {};
  if (::stat(file.c_str(), &now) != 0 || now.st_ino != judged.st_ino || now.st_dev != judged.st_dev) return {};
  if (::rename(file.c_str(), (file.string() + ".bad").c_str()) != 0)
    return std::unexpected(io_error("setting " + file.string() + " aside"));
  return {};
}

void verify_one(const fs::path& file, std::uint32_t ordinal, PackedCheck& check, const std::function<bool()>& go_on) {
  const base::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    check.faults.push_back(fmt::format("packed file {} cannot be read; remove it", file.string()));
    return;
  }
  ++check.files;
  check.bytes += static_cast<base::Bytes>(status.st_size);
  const Reason reason =
      check_file(fd.get(), file.parent_path().filename(), ordinal, static_cast<base::Bytes>(status.st_size), go_on);
  if (reason == Reason::kNone) return;
  const auto moved = set_aside(file, status);
  check.faults.push_back(
      fmt::format("packed file {} is refused: {}; {}", file.string(), describe(reason),
                  moved ? "it is set aside and packed again at the next start" : moved.error().message));
}

}  // namespace

std::vector<PackedFolder> list_packed(const std::string& root) {
  std::vector<PackedFolder> found;
  std::error_code ignored;  // what cannot be read is not ours to judge
  for (const auto& entry : fs::directory_iterator(root, ignored)) {
    if (!entry.is_directory(ignored) || entry.is_symlink(ignored)) continue;
    PackedFolder folder{
        .key = entry.path().filename(), .bytes = 0, .last_used = changed_at(entry.path()), .pack_ms = {}};
    for (const auto& file : fs::directory_iterator(entry.path(), ignored)) {
      struct stat status {};
      if (::lstat(file.path().c_str(), &status) == 0) folder.bytes += static_cast<base::Bytes>(status.st_blocks) * 512;
    }
    if (const auto use = read_use(entry.path())) {
      folder.last_used = use->last;
      folder.pack_ms = use->pack_ms;
    }
    found.push_back(std::move(folder));
  }
  return found;
}

base::Status note_packed_use(const std::string& folder, base::Wall now, std::optional<double> pack_ms) {
  const fs::path place(folder);
  if (!pack_ms) {
    if (const auto known = read_use(place)) pack_ms = known->pack_ms;
  }
  nlohmann::json json = {{"version", kUseVersion}, {"last_used_ms", to_ms(now)}};
  if (pack_ms) json["pack_ms"] = *pack_ms;
  const fs::path part = place / (std::string(".") + kUseName + ".tmp");
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << json.dump() << "\n";
  file.close();
  if (!file || ::rename(part.c_str(), (place / kUseName).c_str()) != 0)
    return std::unexpected(io_error("noting the use of " + folder));
  return {};
}

base::Status remove_packed(const std::string& root, const std::string& key) {
  std::error_code failed;
  fs::remove_all(fs::path(root) / key, failed);
  if (failed)
    return base::fail(base::ErrorCode::io, fmt::format("removing packed weights {}: {}", key, failed.message()));
  return {};
}

base::Status remove_packed_of(const std::string& root, const std::string& digest) {
  base::Status all;
  for (const auto& packed : list_packed(root)) {
    if (!packed.key.starts_with(digest + "-")) continue;  // packed_key.h
    if (auto gone = remove_packed(root, packed.key); !gone) all = std::move(gone);
  }
  return all;
}

base::Result<PackedCheck> verify_packed(const std::string& folder, const std::function<bool()>& go_on) {
  PackedCheck check;
  std::error_code failed;
  if (!fs::exists(folder, failed)) return check;
  const fs::directory_iterator entries(folder, failed);
  if (failed) return base::fail(base::ErrorCode::io, fmt::format("listing {}: {}", folder, failed.message()));
  for (const auto& entry : entries) {
    const auto ordinal = ordinal_of(entry.path());
    if (!ordinal) continue;
    verify_one(entry.path(), *ordinal, check, go_on);
    if (!go_on()) return base::fail(base::ErrorCode::cancelled, fmt::format("reading {} was stopped", folder));
  }
  return check;
}

}  // namespace hearth::engine
