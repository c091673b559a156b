#pragma once
// A folder that a test fills with what the kernel shows below /proc and /sys. No product code includes it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace hearth::sys {

class MachineTree : public testing::Test {
 protected:
  MachineTree() {
    std::string pattern = std::filesystem::temp_directory_path() / "hearth-machine-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  ~MachineTree() override { std::filesystem::remove_all(root_); }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string root_;
};

}  // namespace hearth::sys
