#pragma once
// The page cache of one file: how much of a file is in memory, putting it out, bringing it in.
//
// All of it blocks (read_ahead as long as the device's queue is full): call it from a BlockingPool.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace hearth::sys {

// cachestat(2), Linux 6.5 and later, counts without looking at any page; mincore(2) maps the file and looks at each.
enum class PageMechanism { cachestat, mincore };
[[nodiscard]] std::string_view name_of(PageMechanism mechanism);

struct ByteRange {
  base::Bytes offset = 0;
  base::Bytes length = 0;
};

struct Residency {
  base::Bytes resident = 0;  // at most `total`; whole pages, the last one cut at the end of the file
  base::Bytes total = 0;     // bytes looked at
  PageMechanism by = PageMechanism::cachestat;
};

class Pages {
 public:
  virtual ~Pages() = default;
  // A range is cut at the end of the file; without one, the whole file.
  // Errors: those of opening; unsupported when the kernel would not say (mincore tells only owners and writers the
  // truth).
  [[nodiscard]] virtual base::Result<Residency> residency(const std::string& path,
                                                          std::optional<ByteRange> range = {}) const = 0;
  // Gives the pages back to the system. Pages that are dirty, locked or mapped by a process stay; ask residency after.
  [[nodiscard]] virtual base::Status drop(const std::string& path, std::optional<ByteRange> range = {}) = 0;
  // Reads into the page cache, in pieces of 128 KiB: the kernel cuts one larger request to the device's window.
  // Returns when everything is queued, not when it has arrived.
  [[nodiscard]] virtual base::Status read_ahead(const std::string& path, std::optional<ByteRange> range = {}) = 0;
};

class LinuxPages final : public Pages {
 public:
  // `preferred`: mincore leaves cachestat untried (for kernels and tests without it).
  explicit LinuxPages(PageMechanism preferred = PageMechanism::cachestat) : preferred_(preferred) {}
  [[nodiscard]] base::Result<Residency> residency(const std::string& path,
                                                  std::optional<ByteRange> range = {}) const override;
  [[nodiscard]] base::Status drop(const std::string& path, std::optional<ByteRange> range = {}) override;
  [[nodiscard]] base::Status read_ahead(const std::string& path, std::optional<ByteRange> range = {}) override;

 private:
  PageMechanism preferred_;
};

}  // namespace hearth::sys
