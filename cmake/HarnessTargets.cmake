# harness_library(core [ROOMS ...] [LIBS ...]): one static library from the *.cpp files of the folder and of its rooms.
function(harness_library folder)
  cmake_parse_arguments(ARG "" "" "ROOMS;LIBS;EXCLUDE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(room ${ARG_ROOMS})
    file(GLOB in_room CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${room}/*.cpp)
    list(APPEND sources ${in_room})
  endforeach()
  foreach(name ${ARG_EXCLUDE})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${name})
  endforeach()
  if(NOT sources)
    add_library(harness_${folder} INTERFACE)
    return()
  endif()
  add_library(harness_${folder} STATIC ${sources})
  target_include_directories(harness_${folder} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(harness_${folder} PUBLIC ${ARG_LIBS} PRIVATE harness_warnings)
endfunction()

# harness_compiles_fast(target): code that computes nothing worth waiting for: headers (JSON, LibTorch's tensors, whose
# arithmetic is in its library) take a third to a half of the time at -O3. harness_hot(FILES): the files of such a target that do
# compute; of a target that uses LibTorch only those of harness_without_torch.
function(harness_compiles_fast target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # No garbage collection below 1 GiB: a tenth of the time of a file, for 50 MB.
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=1048576)
  endif()
endfunction()
function(harness_hot)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# harness_plug_ins(target): every file of the target registers what it holds under the name kRegistered, which a unity build makes another
# one in each. harness_alone(FILES): those that have further names in common, or are replaced in a test: compiled one by one.
function(harness_plug_ins target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_UNIQUE_ID kRegistered)
endfunction()
function(harness_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# harness_tests(core harness_core ...): one test program from tests/core/*_test.cpp, every suite a test of CTest.
function(harness_tests folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  # Compiled as a library's objects are, so that they can share LibTorch's precompiled header.
  add_library(${folder}_test_objects OBJECT ${sources})
  target_link_libraries(${folder}_test_objects PUBLIC ${ARGN} GTest::gtest_main GTest::gmock PRIVATE harness_warnings)
  target_compile_definitions(${folder}_test_objects PRIVATE HARNESS_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                                            HARNESS_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set(with_torch harness_models harness_embedded harness_backbones harness_clip_scorers harness_geneval_scorers harness_trainers harness_worker)
  set(without_torch ${ARGN})
  list(REMOVE_ITEM without_torch ${with_torch})
  if(NOT "${without_torch}" STREQUAL "${ARGN}")
    set(header harness_torch_tests_pch)
    if(folder STREQUAL "gpu_twin")  # its kernels are loops of its own
      set(header harness_torch_pch)
    endif()
    harness_use_torch(${folder}_test_objects ${header})
  else()
    harness_shares_header(${folder}_test_objects harness_tests_pch)
  endif()
  add_executable(${folder}_tests)
  target_link_libraries(${folder}_tests PRIVATE ${folder}_test_objects)
  set_target_properties(${folder}_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests LINKER_LANGUAGE CXX)
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${folder}_suites.cmake)
  file(WRITE ${suites} "set(PROGRAM \"${CMAKE_BINARY_DIR}/tests/${folder}_tests\")\nset(LABEL ${folder})\n"
                       "set(FOLDER \"${CMAKE_CURRENT_BINARY_DIR}\")\ninclude(\"${CMAKE_SOURCE_DIR}/cmake/DiscoverSuites.cmake\")\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites})
endfunction()
