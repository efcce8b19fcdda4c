# c10d's ProcessGroupNCCL is in libtorch_cuda, which the worker loads at run time on a machine with a GPU: what uses it is a module of its own,
# loaded after it. Its headers want those of NCCL and CUDA, from the CUDA toolkit or from the wheels that scripts/setup adds where a GPU is;
# without them there is no module, and processes exchange what is on GPUs over Gloo.
set(nccl_wheels ${HARNESS_TORCH_DIR}/nvidia)
find_path(HARNESS_NCCL_INCLUDE nccl.h PATHS ${nccl_wheels}/nccl/include /usr/local/cuda/include)
find_path(HARNESS_CUDA_INCLUDE cusolver_common.h PATHS ${nccl_wheels}/cu13/include /usr/local/cuda/include)
mark_as_advanced(HARNESS_NCCL_INCLUDE HARNESS_CUDA_INCLUDE)

# The class holds NCCL's configuration, whose size is its version's: that of the wheel alone will do.
set(nccl_version 22809)
set(nccl_is_right OFF)
if(HARNESS_NCCL_INCLUDE AND HARNESS_CUDA_INCLUDE)
  file(STRINGS ${HARNESS_NCCL_INCLUDE}/nccl.h nccl_line REGEX "define NCCL_VERSION_CODE ${nccl_version}")
  if(nccl_line)
    set(nccl_is_right ON)
  endif()
endif()

# harness_nccl_module(harness_nccl FILE): build/PRESET/libharness-nccl.so.
function(harness_nccl_module target file)
  if(NOT nccl_is_right)
    return()
  endif()
  add_library(${target} MODULE ${file})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME harness-nccl LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(${target} SYSTEM PRIVATE ${HARNESS_NCCL_INCLUDE} ${HARNESS_CUDA_INCLUDE})
  target_compile_definitions(${target} PRIVATE USE_C10D_NCCL)
  harness_compiles_fast(${target})
  # Nothing of its own may be left open, though libtorch_cuda's libraries are not all here.
  target_link_libraries(${target} PRIVATE harness_libtorch harness_warnings ${torch_lib}/libtorch_cuda.so
                                          ${torch_lib}/libc10_cuda.so -l:libcudart.so.13)
  target_link_options(${target} PRIVATE -L${nccl_wheels}/cu13/lib -Wl,-z,defs)
endfunction()
