#include "cli/terminal_text.h"

#include "domain/json.h"

namespace hearth::cli {
namespace {

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f; }

// U+0080 to U+009F are the C1 controls; in UTF-8 they are C2 80 to C2 9F.
bool is_c1(std::string_view at) {
  return at.size() >= 2 && at[0] == '\xc2' && static_cast<unsigned char>(at[1]) >= 0x80 &&
         static_cast<unsigned char>(at[1]) <= 0x9f;
}

}  // namespace

std::string without_controls(std::string_view text) {
  std::string clean;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_c1(text.substr(i))) {
      ++i;
    } else if (!is_control(text[i])) {
      clean += text[i];
    }
  }
  return clean;
}

bool is_utf8(std::string_view text) {
  // The library's own check is behind an exception; what it would replace it would also leave out, and only that
  // differs.
  using Handler = domain::Json::error_handler_t;
  const domain::Json json = text;
  return json.dump(-1, ' ', false, Handler::replace) == json.dump(-1, ' ', false, Handler::ignore);
}

}  // namespace hearth::cli
