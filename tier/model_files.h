// The engine's own mappings of model files: weights it uses in place, without packing.
//
// Hooks note where such tensors lie; the library's thread later finds the mappings around them in /proc/self/maps. What
// the engine has unmapped meanwhile is simply not found. Notes may come from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os.h"
#include "page_vector.h"

namespace hearth::tier {

struct MappedTensor {
  std::uintptr_t at;
  std::size_t bytes;
  std::int32_t layer;  // -1 none
  std::uint64_t name;  // hash
  bool by_rows;        // a packed copy does the work; here only single rows are looked up
};

struct PageRange {
  std::uintptr_t begin;
  std::uintptr_t end;
};

struct FileMapping {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::uint64_t offset;  // of `begin` in the file
  int file;              // index into ModelFiles::files()
  bool shared;           // nothing in it can be a private copy
};

struct ModelFile {
  std::uint64_t device;  // as /proc/self/maps writes it: major << 32 | minor
  std::uint64_t inode;
  int fd;  // read-only, -1 when the file cannot be opened under its name any more
};

class ModelFiles {
 public:
  /// A weight tensor lies outside our buffers.
  void note(const char* name, const void* at, std::size_t bytes);

  /// There is a packed copy of the tensor with this name (name_hash).
  void note_copy(std::uint64_t name);
  [[nodiscard]] static std::uint64_t name_hash(const char* name);

  /// Finds the files around the noted tensors and all their mappings in this process. Only the library's thread.
  void refresh();
  [[nodiscard]] const PageVector<FileMapping>& mappings() const { return mappings_; }
  [[nodiscard]] const PageVector<ModelFile>& files() const { return files_; }

  /// Takes the pages that packing read, or the comparison with what is packed, and that no tensor is used from in
  /// place, out of this process; they stay in the page cache. Every load holds then the same. Refreshes first; only the
  /// library's thread.
  void let_go_of_packed();

  /// Copies the noted tensors.
  void all_tensors(PageVector<MappedTensor>& out);
  /// Copies the noted tensors that still lie in a found mapping. Call after refresh().
  void live_tensors(PageVector<MappedTensor>& out);

  /// The whole pages of a mapping that none of these tensors is used from in place; sorts the tensors. Pure.
  static void unused_pages(const FileMapping& mapping, PageVector<MappedTensor>& tensors, PageVector<PageRange>& out);

  /// The file behind an address and the offset there; -1 when it is in no found mapping.
  [[nodiscard]] int locate(std::uintptr_t at, std::uint64_t& offset) const;

  /// Bytes of the given address range that are private copies, summed over `at .. at+bytes` (smaps "Anonymous").
  [[nodiscard]] static std::uint64_t private_bytes(const void* at, std::size_t bytes);

 private:
  struct Line;
  static bool parse(char* line, Line& out);
  void prune(const PageVector<Line>& lines);
  void close_files();
  [[nodiscard]] bool holds_tensor(const Line& line);
  int file_index(const Line& line, bool add);

  os::Mutex mutex_;
  PageVector<MappedTensor> tensors_;  // protected by mutex_
  PageVector<FileMapping> mappings_;  // library's thread
  PageVector<ModelFile> files_;       // library's thread
};

ModelFiles& model_files();

}  // namespace hearth::tier
