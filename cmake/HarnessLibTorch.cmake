# LibTorch from PyPI's torch wheel, found without the wheel's own CMake package (which wants a CUDA toolkit even for a CPU build).
# Only libtorch_cpu and libc10 are linked; on a GPU machine the worker loads libtorch_cuda at run time.
set(HARNESS_TORCH_VERSION 2.11.0)
set(HARNESS_TORCH_DIR "" CACHE PATH "Folder that holds the unpacked torch wheel (the one with torch/ and nvidia/)")
if(NOT HARNESS_TORCH_DIR)
  if(DEFINED ENV{HARNESS_DEPS})
    set(deps $ENV{HARNESS_DEPS})
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(deps $ENV{XDG_CACHE_HOME}/lambda-harness)
  else()
    set(deps $ENV{HOME}/.cache/lambda-harness)
  endif()
  set(HARNESS_TORCH_DIR ${deps}/torch-${HARNESS_TORCH_VERSION})
endif()
if(NOT EXISTS ${HARNESS_TORCH_DIR}/torch/lib/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch ${HARNESS_TORCH_VERSION} is not in ${HARNESS_TORCH_DIR}: run scripts/setup, "
                      "or set HARNESS_TORCH_DIR to a folder with the unpacked wheel")
endif()

set(torch_lib ${HARNESS_TORCH_DIR}/torch/lib)
foreach(name c10 torch_cpu)
  add_library(torch_${name} SHARED IMPORTED)
  set_target_properties(torch_${name} PROPERTIES IMPORTED_LOCATION ${torch_lib}/lib${name}.so)
endforeach()
add_library(harness_libtorch INTERFACE)
target_include_directories(harness_libtorch SYSTEM INTERFACE
  ${HARNESS_TORCH_DIR}/torch/include ${HARNESS_TORCH_DIR}/torch/include/torch/csrc/api/include)
# The wheel's libraries need the CUDA runtime and CUPTI at link time although a CPU build never calls them.
target_link_options(harness_libtorch INTERFACE
  -Wl,--allow-shlib-undefined
  -Wl,-rpath,${torch_lib} -Wl,-rpath,${HARNESS_TORCH_DIR}/nvidia/cu13/lib -Wl,--disable-new-dtags)
target_link_libraries(harness_libtorch INTERFACE torch_torch_cpu torch_c10 Threads::Threads)
# The kernels of this project's own (trainers/, models/) are written for the vector width found at run time.

# One precompiled header for all that includes LibTorch: it is read once instead of in every file.
# The header is only valid for targets with the same warning flags and level of optimisation.
function(harness_torch_header name)
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/pch.cpp)
  # The wheel's folder holds headers of another fmt than the system's, without its library.
  target_link_libraries(${name} PUBLIC harness_libtorch fmt::fmt-header-only PRIVATE harness_warnings)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PUBLIC -fpch-preprocess)
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/models/nn/torch.h <nlohmann/json.hpp> ${ARGN})
  harness_compiles_fast(${name})
endfunction()
harness_torch_header(harness_torch_pch)
if(HARNESS_TESTS)
  harness_torch_header(harness_torch_tests_pch <gtest/gtest.h> <gmock/gmock.h>)
  target_link_libraries(harness_torch_tests_pch PRIVATE GTest::gtest GTest::gmock)
  harness_compiles_as_tests_do(harness_torch_tests_pch)
endif()

# harness_use_torch(target [harness_torch_tests_pch]): links LibTorch and reuses the precompiled header, at its level of optimisation: the
# tensors' arithmetic is in the library, and GCC 12 cannot read the header at another level than it was made with.
function(harness_use_torch target)
  set(header harness_torch_pch)
  if(ARGN)
    set(header ${ARGN})
  endif()
  harness_compiles_fast(${target})
  if(header STREQUAL "harness_torch_tests_pch")
    harness_compiles_as_tests_do(${target})
  endif()
  target_link_libraries(${target} PUBLIC ${header})
  target_precompile_headers(${target} REUSE_FROM ${header})
endfunction()

# harness_without_torch(FILES): those of such a target that include nothing of LibTorch and are quicker without its header.
function(harness_without_torch)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  harness_alone(${ARGN})
endfunction()
