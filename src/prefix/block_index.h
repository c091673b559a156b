#pragma once
// Finds, among many stored token sequences, those that share the longest beginning with a prompt: block hashes in one
// sorted array. 16 bytes for each block of each sequence. Thread: one at a time.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hearth::prefix {

class BlockIndex {
 public:
  void add(std::uint32_t id, std::span<const std::uint64_t> chain);
  // Many at once; the index is sorted when finish_adding() returns, and must not be asked before.
  void add_unsorted(std::uint32_t id, std::span<const std::uint64_t> chain);
  void finish_adding();
  void remove(std::uint32_t id, std::span<const std::uint64_t> chain);

  struct Deepest {
    std::size_t blocks = 0;          // that the prompt shares; 0: no sequence shares a whole block
    std::vector<std::uint32_t> ids;  // who has them, at most `most`
  };
  [[nodiscard]] Deepest find(std::span<const std::uint64_t> chain, std::size_t most) const;

 private:
  struct Place {
    std::uint64_t hash;
    std::uint32_t id;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  std::vector<Place> places_;
};

}  // namespace hearth::prefix
