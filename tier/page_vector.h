// A growable array of plain values that takes its memory from mmap, never from the heap: hooks may run inside an
// allocator. Owner: whoever declares it; no locking of its own. A failed growth leaves it as it was and says so.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <type_traits>

namespace hearth::tier {

template <typename T>
class PageVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  constexpr PageVector() = default;
  PageVector(const PageVector&) = delete;
  PageVector& operator=(const PageVector&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T* data() { return items_; }
  [[nodiscard]] const T* data() const { return items_; }
  [[nodiscard]] T* begin() { return items_; }
  [[nodiscard]] T* end() { return items_ + size_; }
  [[nodiscard]] const T* begin() const { return items_; }
  [[nodiscard]] const T* end() const { return items_ + size_; }
  [[nodiscard]] T& operator[](std::size_t index) { return items_[index]; }
  [[nodiscard]] const T& operator[](std::size_t index) const { return items_[index]; }

  /// Sets the length; new items are zero. False when the kernel gives no memory.
  [[nodiscard]] bool resize(std::size_t size) {
    if (!reserve(size)) return false;
    for (std::size_t i = size_; i < size; ++i)
      items_[i] = T{};
    size_ = size;
    return true;
  }

  [[nodiscard]] bool push(const T& item) {
    if (!reserve(size_ + 1)) return false;
    items_[size_++] = item;
    return true;
  }

  void clear() { size_ = 0; }

  /// Gives the memory back.
  void reset() {
    if (items_ != nullptr) ::munmap(items_, capacity_ * sizeof(T));
    items_ = nullptr;
    size_ = capacity_ = 0;
  }

  void swap(PageVector& other) {
    PageVector<T>* self = this;
    exchange(self->items_, other.items_);
    exchange(self->size_, other.size_);
    exchange(self->capacity_, other.capacity_);
  }

 private:
  template <typename V>
  static void exchange(V& a, V& b) {
    V kept = a;
    a = b;
    b = kept;
  }

  [[nodiscard]] bool reserve(std::size_t size) {
    if (size <= capacity_) return true;
    constexpr std::size_t kPage = 4096;
    std::size_t bytes = (size > 2 * capacity_ ? size : 2 * capacity_) * sizeof(T);
    bytes = (bytes + kPage - 1) / kPage * kPage;
    void* memory = items_ == nullptr
                       ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                       : ::mremap(items_, capacity_ * sizeof(T), bytes, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) return false;
    items_ = static_cast<T*>(memory);
    capacity_ = bytes / sizeof(T);
    return true;
  }

  T* items_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace hearth::tier
