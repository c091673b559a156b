#pragma once
// A text file of ours: its first line says what it is, of which version, and seals the rest. Pure.
//
//   <title> <version> sha256:<64 hexadecimal digits>
//   the body, up to the end of the file
//
// The digest covers title and version as they stand, one line feed, and the body: a flipped bit in the version must not
// make a damaged file look like a newer one. All versions of all files share this line.
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::base {

[[nodiscard]] std::string seal(std::string_view title, unsigned version, std::string_view body);

struct SealedText {
  unsigned version = 0;  // at least 1; it may be newer than the reader
  std::string_view body;
};

// Errors: corrupt, with what is wrong in a few words ("its checksum is wrong"). `text` must outlive what is returned.
[[nodiscard]] Result<SealedText> unseal(std::string_view title, std::string_view text);

}  // namespace hearth::base
