# harness_source_table(NAME ROOT FOLDER... [PLUG_INS FOLDER...]): an OBJECT library NAME whose object knows the checksums of the sources in these folders of
# ROOT (core/source_sums/source_sums.h). Its objects go whole into a program: nothing refers to them by name.
function(harness_source_table name root)
  set(same ${CMAKE_SOURCE_DIR}/core/source_sums/same_numbers.json)
  set(output ${CMAKE_BINARY_DIR}/generated/${name}.cpp)
  cmake_parse_arguments(ARG "" "" "PLUG_INS" ${ARGN})
  set(sources)
  foreach(folder ${ARG_UNPARSED_ARGUMENTS} ${ARG_PLUG_INS})
    file(GLOB found CONFIGURE_DEPENDS ${root}/${folder}/*.cpp ${root}/${folder}/*.h ${root}/${folder}/*.cu)
    list(APPEND sources ${found})
  endforeach()
  # The stamp is touched each time, the table only where a sum changed.
  add_custom_command(
    OUTPUT ${output}.stamp BYPRODUCTS ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
    COMMAND harness-source-sums ${root} ${same} ${output} ${ARG_UNPARSED_ARGUMENTS} --plug-ins ${ARG_PLUG_INS}
    COMMAND ${CMAKE_COMMAND} -E touch ${output}.stamp
    DEPENDS harness-source-sums ${same} ${sources} COMMENT "Checksums of sources (${name})" VERBATIM)
  add_custom_target(${name}_made DEPENDS ${output}.stamp)
  set_source_files_properties(${output} PROPERTIES GENERATED ON)
  add_library(${name} OBJECT ${output})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE harness_warnings)
  add_dependencies(${name} ${name}_made)
endfunction()
