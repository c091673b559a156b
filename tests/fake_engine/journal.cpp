#include "tests/fake_engine/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

namespace hearth::fake_engine {

void Journal::write(const char* event, nlohmann::ordered_json fields) const {
  if (path_.empty()) return;
  nlohmann::ordered_json line = {{"event", event}, {"pid", ::getpid()}};
  line.update(fields);
  const auto text = line.dump() + "\n";
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  (void)!::write(fd, text.data(), text.size());
  ::close(fd);
}

int Journal::starts() const {
  std::ifstream file(path_);
  int count = 0;
  for (std::string line; std::getline(file, line);)
    count += line.starts_with(R"({"event":"start")") ? 1 : 0;
  return count;
}

}  // namespace hearth::fake_engine
