# hearth_module(NAME SOURCES ... [USES modules ...] [LIBS libraries ...] [TESTS files ...] [TEST_LIBS libraries ...])
#
# A module is the static library hearth_NAME of the folder src/NAME and, where it has tests, the program NAME_test made of
# the *_test.cpp files beside the sources. USES names other modules; tools/check_architecture judges the includes, and the
# linker judges the rest.
function(hearth_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES;LIBS;TESTS;TEST_LIBS" ${ARGN})
  set(target hearth_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  # -iquote, not -I: src/sys must not stand in for the system's own <sys/…> headers.
  target_compile_options(${target} PUBLIC "SHELL:-iquote ${CMAKE_SOURCE_DIR}/src")
  list(TRANSFORM arg_USES PREPEND hearth_)
  target_link_libraries(${target} PUBLIC ${arg_USES} ${arg_LIBS} PRIVATE hearth_warnings)
  if(HEARTH_TESTS AND arg_TESTS)
    hearth_test(${name}_test SOURCES ${arg_TESTS} LIBS ${target} ${arg_TEST_LIBS})
  endif()
endfunction()

# hearth_test(NAME SOURCES ... LIBS ... [LABEL label] [TIMEOUT seconds])
# Labels: unit (milliseconds, the default), integration (processes of ours), engine (needs a real llama-server).
function(hearth_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE "SHELL:-iquote ${CMAKE_SOURCE_DIR}/src" "SHELL:-iquote ${CMAKE_SOURCE_DIR}")
  # What is tested keeps the preset's optimisation; optimising the tests themselves is a third of their compile time.
  target_compile_options(${name} PRIVATE -O0)
  target_link_libraries(${name} PRIVATE ${arg_LIBS} hearth_warnings GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()
