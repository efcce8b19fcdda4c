# The `cuda` preset: nvcc 13 for the project's own kernels. LibTorch's CUDA library is loaded by the worker at run time (models/device.*), so
# that the same program starts on a machine without a GPU.
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "The cuda preset needs nvcc 13: install the CUDA toolkit 13, or PyPI's nvidia-cuda-nvcc, and put nvcc on PATH; "
                      "the release preset needs none")
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR "nvcc ${CMAKE_CUDA_COMPILER_VERSION} is too old: LibTorch ${HARNESS_TORCH_VERSION} is built for CUDA 13")
endif()
set(CMAKE_CUDA_STANDARD 17)  # CMake 3.25 knows no CUDA20

# harness_cuda_kernels(harness_trainers step_kernels.cu): a target's kernels, compiled apart from everything that includes LibTorch. The CUDA
# runtime is linked statically, so that the program needs neither toolkit nor driver to start.
function(harness_cuda_kernels target)
  add_library(${target}_cuda STATIC ${ARGN})
  target_include_directories(${target}_cuda PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${target}_cuda PRIVATE -Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Werror)
  target_compile_definitions(${target} PRIVATE HARNESS_CUDA_KERNELS)
  target_link_libraries(${target} PRIVATE ${target}_cuda)
endfunction()
