#include <exception>
#include <iostream>

#include "daemon/commands.h"

int main(int argc, char** argv) {
  try {
    return hearth::cli::run(argc, argv, hearth::daemon::local_commands(), std::cout, std::cerr);
  } catch (const std::exception& error) {
    std::cerr << "hearth: a fault of ours: " << error.what() << "\n";
    return 1;
  }
}
