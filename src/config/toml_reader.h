#pragma once
// Reads the tables of a TOML file key by key and remembers everything that is wrong with it, each fault with its place.
// Private to src/config: no other file sees toml++.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// "[[[" trips an assertion of toml++ 3.3's in debug builds, though the parser goes on to report it as an error by
// itself.
#define TOML_ASSERT(condition) static_assert(true)
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/bytes.h"
#include "base/result.h"
#include "config/duration.h"

namespace hearth::config {

class Faults {
 public:
  explicit Faults(std::string file) : file_(std::move(file)) {}
  void add(const toml::source_region& where, std::string what);
  void add(const toml::source_region& where, const base::Error& error) { add(where, error.message); }
  [[nodiscard]] bool empty() const { return faults_.empty(); }
  // The first fault by place, and how many more there are: "hearth.toml:3:1: unknown key … (and 2 more)".
  [[nodiscard]] base::Error error() const;

 private:
  struct Fault {
    toml::source_position where;
    std::string what;
  };
  std::string file_;
  std::vector<Fault> faults_;
};

// What a value of the file is, as a C++ value. Errors: bad_request, saying what was wanted; the place is added above.
[[nodiscard]] base::Result<std::string> text_of(const toml::node& node);  // not empty, no control characters
[[nodiscard]] base::Result<bool> bool_of(const toml::node& node);
[[nodiscard]] base::Result<base::Bytes> bytes_of(const toml::node& node);  // "1400MB" or an integer
[[nodiscard]] base::Result<Milliseconds> duration_of(const toml::node& node);
[[nodiscard]] base::Result<KeepAlive> keep_alive_of(const toml::node& node);
[[nodiscard]] base::Result<std::vector<std::string>> texts_of(const toml::node& node);
[[nodiscard]] base::Result<unsigned> number_of(const toml::node& node, unsigned least, unsigned most);

// One table. Each `read` takes the key if it is there; a bad value becomes a fault and leaves the target alone.
class TableReader {
 public:
  // `section` is the name as people see it: "[server]". Unknown keys become faults at once.
  TableReader(const toml::table& table, std::string section, std::span<const std::string_view> allowed, Faults& faults);

  template <typename Target, typename Parse>
  void read(std::string_view key, Target& target, Parse parse) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    auto value = parse(*node);
    if (value) {
      target = *std::move(value);
    } else {
      faults_.add(node->source(), std::string(key) + " in " + section_ + ": " + value.error().message);
    }
  }
  // The place of a key's value, or of the table when it is not there.
  [[nodiscard]] const toml::source_region& place_of(std::string_view key) const;

 private:
  const toml::table& table_;
  std::string section_;
  Faults& faults_;
};

}  // namespace hearth::config
