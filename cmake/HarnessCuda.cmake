# The `cuda` preset: nvcc 13 for the project's own kernels. LibTorch's CUDA library is loaded by the worker at run time (worker/device.*), so
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
