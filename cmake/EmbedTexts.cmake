# harness_embed_texts(target HEADER header.h kName file ...): files of any kind travel inside the program, each as the C++ string
# that the header declares (`extern const char* const kName;`, namespace harness).
function(harness_embed_texts target)
  cmake_parse_arguments(ARG "" "HEADER" "" ${ARGN})
  get_filename_component(name ${ARG_HEADER} NAME_WE)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}_texts.cpp)
  set(texts ${ARG_UNPARSED_ARGUMENTS})
  list(LENGTH texts length)
  math(EXPR last "${length} - 1")
  foreach(i RANGE 0 ${last} 2)
    math(EXPR next "${i} + 1")
    list(GET texts ${next} file)
    list(APPEND files ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  string(REPLACE ";" "," arguments "${texts}")
  set(script ${CMAKE_SOURCE_DIR}/cmake/WriteTexts.cmake)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${ARG_HEADER} -DFOLDER=${CMAKE_CURRENT_SOURCE_DIR} -DTEXTS=${arguments} -DOUTPUT=${output} -P ${script}
    DEPENDS ${files} ${script}
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
