#pragma once
// Byte counts: their type, and how people write them.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::base {

using Bytes = std::uint64_t;

// "1400MB", "1.5 GiB", "512k", "0", "4096": decimal units (kB MB GB TB) are powers of 1000, binary ones (KiB MiB GiB
// TiB) powers of 1024, a bare k/m/g/t is binary as engines read it, no unit is bytes. Case does not matter. Errors:
// bad_request, naming the forms that are understood.
[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text);

// "0 B", "999 B", "1.2 kB", "703 MB", "1.5 GB": decimal, at most three figures.
[[nodiscard]] std::string format_bytes(Bytes bytes);

}  // namespace hearth::base
