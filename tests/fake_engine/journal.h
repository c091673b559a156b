#pragma once
// What a fake engine tells the test that watches it: one JSON object per line, appended to $FAKE_ENGINE_LOG by single
// writes, so that several engines may share the file.
//   {"event":"start","pid":1,"argv":[…]}          {"event":"ready","pid":1}        {"event":"stopped","pid":1}
//   {"event":"begun","pid":1,"n":1,"path":"/v1/…","stream":true}
//   {"event":"cancelled","pid":1,"n":1,"tokens":3}  the client left (tokens null: when told to stop)
//   {"event":"finished","pid":1,"n":1,"tokens":8}
#include <nlohmann/json.hpp>
#include <string>

namespace hearth::fake_engine {

class Journal {
 public:
  // "": keeps none.
  explicit Journal(std::string path) : path_(std::move(path)) {}
  void write(const char* event, nlohmann::ordered_json fields = nlohmann::ordered_json::object()) const;
  // How often an engine has started, by the lines of the file.
  [[nodiscard]] int starts() const;

 private:
  std::string path_;
};

}  // namespace hearth::fake_engine
