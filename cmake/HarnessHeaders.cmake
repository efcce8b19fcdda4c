# Precompiled headers for what needs no LibTorch: JSON, fmt and the standard library, read once instead of in every file. GCC 12 can read
# one only with the optimisation, and as the kind of code (position-independent), that it was made with: not in programs, not in hot files.
file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp.in "// Holds a shared precompiled header.\n")
configure_file(${CMAKE_BINARY_DIR}/pch.cpp.in ${CMAKE_BINARY_DIR}/pch.cpp COPYONLY)

# With them GCC 12 suspects std::string of writing out of its bounds: these warnings are off.
set(harness_header_flags -pthread)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND harness_header_flags -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow)
endif()

function(harness_precompiled_header name)
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/pch.cpp)
  target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json fmt::fmt harness_warnings)
  target_compile_options(${name} PRIVATE ${harness_header_flags})
  target_precompile_headers(${name} PRIVATE <algorithm> <filesystem> <functional> <map> <memory> <optional> <set> <string> <vector>
                                            <fmt/format.h> <nlohmann/json.hpp> ${ARGN})
  harness_compiles_fast(${name})
endfunction()
harness_precompiled_header(harness_pch)

# Tests wait for programs and libraries, not for their own code: without optimisation their files compile in less time.
function(harness_compiles_as_tests_do target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
endfunction()

if(HARNESS_TESTS)
  harness_precompiled_header(harness_tests_pch <gtest/gtest.h> <gmock/gmock.h>)
  target_link_libraries(harness_tests_pch PRIVATE GTest::gtest GTest::gmock)
  harness_compiles_as_tests_do(harness_tests_pch)
endif()

# harness_shares_header(target [harness_tests_pch]): compiles a library fast, with the precompiled header.
function(harness_shares_header target)
  set(header harness_pch)
  if(ARGN)
    set(header ${ARGN})
  endif()
  harness_compiles_fast(${target})
  target_compile_options(${target} PRIVATE ${harness_header_flags})
  if(header STREQUAL "harness_tests_pch")
    harness_compiles_as_tests_do(${target})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${header})
endfunction()
