#include "http/sse.h"

namespace hearth::http {

std::string_view data_of(std::string_view event) {
  constexpr std::string_view kField = "data:";
  while (!event.empty()) {
    const auto end = event.find('\n');
    std::string_view line = event.substr(0, end);
    if (line.starts_with(kField)) {
      line.remove_prefix(kField.size());
      if (line.starts_with(' ')) line.remove_prefix(1);
      return line;
    }
    if (end == std::string_view::npos) break;
    event.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace hearth::http
