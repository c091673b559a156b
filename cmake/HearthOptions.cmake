# Language level, warnings and the sanitizers that a preset asks for.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(HEARTH_TESTS "Build the test programs" ON)
option(HEARTH_BENCH "Build the benchmarks" ON)
set(HEARTH_SANITIZE "" CACHE STRING "Sanitizers, comma separated: address,undefined or thread")

# What every target of ours is compiled with. Libraries from the system are SYSTEM includes and are not judged.
add_library(hearth_warnings INTERFACE)
target_compile_options(hearth_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  # A designated initialiser that leaves a member to its default says what it means.
  -Wno-missing-field-initializers
  # False alarms of GCC 12 in optimised builds: coroutine frames of Asio (bug 109224), short string literals (bug 105651).
  -Wno-mismatched-new-delete -Wno-restrict)

if(HEARTH_SANITIZE)
  add_compile_options(-fsanitize=${HEARTH_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEARTH_SANITIZE})
  # GCC 12 sees uninitialised optionals where the sanitizers' own code stands between a test and its use.
  add_compile_options(-Wno-maybe-uninitialized)
  if(HEARTH_SANITIZE MATCHES "thread")
    # GCC's thread sanitizer does not model atomic_thread_fence, which Asio uses inside its own locks.
    add_compile_options(-Wno-tsan)
  endif()
endif()

find_program(HEARTH_CCACHE ccache)
if(HEARTH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HEARTH_CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(OpenSSL REQUIRED)
if(HEARTH_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  enable_testing()
endif()

# Asio and Beast, compiled once (their separate compilation mode) instead of in every file that includes them.
add_library(hearth_async STATIC ${CMAKE_SOURCE_DIR}/cmake/async.cpp)
target_compile_definitions(hearth_async PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)
target_link_libraries(hearth_async PUBLIC Boost::headers Threads::Threads)
