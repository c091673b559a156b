#include "model_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "checksum.h"
#include "format.h"

namespace hearth::tier {
namespace {

constinit ModelFiles the_files;

/// Reads a file of /proc whole; it is NUL-terminated afterwards.
bool read_text(const char* path, PageVector<char>& out) {
  const os::ErrnoGuard guard;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  constexpr std::size_t kStep = 1 << 16;
  std::size_t length = 0;
  bool good = out.resize(kStep);
  while (good) {
    const ssize_t got = ::read(fd, out.data() + length, out.size() - length - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      good = got == 0;
      break;
    }
    length += static_cast<std::size_t>(got);
    if (out.size() - length < kStep / 2) good = out.resize(out.size() + kStep);
  }
  ::close(fd);
  if (good) out[length] = '\0';
  return good;
}

/// Ends the line in place and returns the start of the next one; nullptr after the last.
char* cut_line(char* line) {
  char* end = ::strchr(line, '\n');
  if (end == nullptr) return nullptr;
  *end = '\0';
  return end[1] == '\0' ? nullptr : end + 1;
}

}  // namespace

struct ModelFiles::Line {
  FileMapping mapping;
  std::uint64_t device;
  std::uint64_t inode;
  bool executable;
  const char* path;
};

ModelFiles& model_files() { return the_files; }

void ModelFiles::note(const char* name, const void* at, std::size_t bytes) {
  const os::Guard guard(mutex_);
  const MappedTensor tensor{reinterpret_cast<std::uintptr_t>(at), bytes, layer_of(name), name_hash(name), false};
  for (MappedTensor& known : tensors_) {
    if (known.at == tensor.at) return void(known = tensor);
  }
  (void)tensors_.push(tensor);  // without memory for it, wake reads this one when it is used
}

std::uint64_t ModelFiles::name_hash(const char* name) { return hash64(name, ::strlen(name), 0); }

void ModelFiles::note_copy(std::uint64_t name) {
  const os::Guard guard(mutex_);
  for (MappedTensor& tensor : tensors_) {
    if (tensor.name != name || tensor.by_rows) continue;
    tensor.by_rows = true;
    const std::uintptr_t begin = os::round_up(tensor.at, os::kPage);
    const std::uintptr_t end = (tensor.at + tensor.bytes) / os::kPage * os::kPage;
    if (end > begin) os::read_singly(reinterpret_cast<void*>(begin), end - begin);
  }
}

void ModelFiles::all_tensors(PageVector<MappedTensor>& out) {
  const os::Guard guard(mutex_);
  for (const MappedTensor& tensor : tensors_) {
    if (!out.push(tensor)) return;
  }
}

/// Forgets tensors that lie in no file mapping any more: the engine has unloaded their model.
void ModelFiles::prune(const PageVector<Line>& lines) {
  const os::Guard guard(mutex_);
  std::size_t kept = 0;
  for (const MappedTensor& tensor : tensors_) {
    bool mapped = false;
    for (const Line& line : lines)
      mapped = mapped || (tensor.at >= line.mapping.begin && tensor.at < line.mapping.end);
    if (mapped) tensors_[kept++] = tensor;
  }
  (void)tensors_.resize(kept);  // only ever shrinks
}

// "begin-end rwxp offset major:minor inode   path"
bool ModelFiles::parse(char* line, Line& out) {
  char* at = nullptr;
  out.mapping.begin = ::strtoull(line, &at, 16);
  if (*at != '-') return false;
  out.mapping.end = ::strtoull(at + 1, &at, 16);
  if (*at != ' ' || ::strlen(at) < 8) return false;
  out.executable = at[3] == 'x';
  out.mapping.shared = at[4] == 's';
  out.mapping.offset = ::strtoull(at + 6, &at, 16);
  const std::uint64_t major = ::strtoull(at, &at, 16);
  if (*at != ':') return false;
  out.device = major << 32 | ::strtoull(at + 1, &at, 16);
  out.inode = ::strtoull(at, &at, 10);
  while (*at == ' ')
    ++at;
  out.path = at;
  return true;
}

bool ModelFiles::holds_tensor(const Line& line) {
  const os::Guard guard(mutex_);
  for (const MappedTensor& tensor : tensors_) {
    if (tensor.at >= line.mapping.begin && tensor.at < line.mapping.end) return true;
  }
  return false;
}

int ModelFiles::file_index(const Line& line, bool add) {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].inode == line.inode && files_[i].device == line.device) return static_cast<int>(i);
  }
  if (!add) return -1;
  ModelFile file{line.device, line.inode, ::open(line.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  const bool same =
      file.fd >= 0 && ::fstat(file.fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == line.inode;
  if (!same && file.fd >= 0) ::close(file.fd);
  if (!same) file.fd = -1;
  if (same) (void)::posix_fadvise(file.fd, 0, 0, POSIX_FADV_RANDOM);  // our own reads take only what they ask for
  return files_.push(file) ? static_cast<int>(files_.size() - 1) : -1;
}

void ModelFiles::close_files() {
  for (const ModelFile& file : files_) {
    if (file.fd >= 0) ::close(file.fd);
  }
  files_.clear();
}

void ModelFiles::refresh() {
  const os::ErrnoGuard guard;
  PageVector<char> text;
  close_files();
  mappings_.clear();
  if (!read_text("/proc/self/maps", text)) return text.reset();
  PageVector<Line> lines;
  for (char* line = text.data(); line != nullptr && *line != '\0';) {
    char* next = cut_line(line);
    Line parsed{};
    if (parse(line, parsed) && parsed.inode != 0 && !parsed.executable && !lines.push(parsed)) break;
    line = next;
  }
  prune(lines);
  for (const Line& line : lines) {
    if (holds_tensor(line)) (void)file_index(line, true);
  }
  for (Line& line : lines) {
    line.mapping.file = file_index(line, false);
    if (line.mapping.file >= 0 && !mappings_.push(line.mapping)) break;
  }
  lines.reset();
  text.reset();
}

void ModelFiles::live_tensors(PageVector<MappedTensor>& out) {
  const os::Guard guard(mutex_);
  for (const MappedTensor& tensor : tensors_) {
    for (const FileMapping& mapping : mappings_) {
      const bool inside = tensor.at >= mapping.begin && tensor.at + tensor.bytes <= mapping.end;
      if (inside && !out.push(tensor)) return;
    }
  }
}

void ModelFiles::unused_pages(const FileMapping& mapping, PageVector<MappedTensor>& tensors,
                              PageVector<PageRange>& out) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  std::uintptr_t from = mapping.begin;
  const auto add_until = [&](std::uintptr_t used) {
    const std::uintptr_t begin = os::round_up(from, os::kPage);
    const std::uintptr_t end = std::min(used, mapping.end) / os::kPage * os::kPage;
    if (end > begin) (void)out.push({begin, end});
  };
  for (const MappedTensor& tensor : tensors) {
    if (tensor.by_rows || tensor.at + tensor.bytes <= mapping.begin) continue;
    add_until(tensor.at);
    from = std::max(from, tensor.at + tensor.bytes);
  }
  add_until(mapping.end);
}

void ModelFiles::let_go_of_packed() {
  refresh();
  PageVector<MappedTensor> tensors;
  PageVector<PageRange> ranges;
  all_tensors(tensors);
  for (const FileMapping& mapping : mappings_) {
    if (mapping.shared) unused_pages(mapping, tensors, ranges);
  }
  for (const PageRange& range : ranges)
    os::unmap_pages(reinterpret_cast<void*>(range.begin), range.end - range.begin);
  ranges.reset();
  tensors.reset();
}

int ModelFiles::locate(std::uintptr_t at, std::uint64_t& offset) const {
  for (const FileMapping& mapping : mappings_) {
    if (at < mapping.begin || at >= mapping.end) continue;
    offset = mapping.offset + (at - mapping.begin);
    return files_[static_cast<std::size_t>(mapping.file)].fd;
  }
  return -1;
}

std::uint64_t ModelFiles::private_bytes(const void* at, std::size_t bytes) {
  PageVector<char> text;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  std::uint64_t total = 0;
  if (!read_text("/proc/self/smaps", text)) return text.reset(), os::kUnknown;
  bool inside = false;
  for (char* line = text.data(); line != nullptr && *line != '\0';) {
    char* next = cut_line(line);
    Line parsed{};
    if (parse(line, parsed))
      inside = parsed.mapping.begin < begin + bytes && parsed.mapping.end > begin;
    else if (inside && ::strncmp(line, "Anonymous:", 10) == 0)
      total += ::strtoull(line + 10, nullptr, 10) * 1024;
    line = next;
  }
  text.reset();
  return total;
}

}  // namespace hearth::tier
