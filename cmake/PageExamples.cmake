# harness_page_examples(VARIABLE FOLDER): every ```cpp block of trainers/methods/README.md as FOLDER/example_N.cpp (VARIABLE: these files), put
# together as the page says: what `harness new method example-N` writes, with the block's includes above, its class in place of the
# template's, and the settings of its last line in the registration. A changed page is read again by the next build, which compiles the
# blocks that changed. A fragment is left out where its block begins with ```c++.
#
# Texts are searched and cut in quotes and never taken for lists, so that brackets and semicolons mean nothing.
function(harness_page_examples variable folder)
  set(page trainers/methods/README.md)
  set(template trainers/methods/method.template)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${page} ${CMAKE_SOURCE_DIR}/${template})

  file(READ ${CMAKE_SOURCE_DIR}/${template} frame)
  if(NOT frame MATCHES "^(.*namespace {\n\n)///.*\n};\n(.*)\n    \\.settings =.*,\n(    \\.make = .*)$")
    message(FATAL_ERROR "${template} is no longer includes, a class with its comment, and a registration: cmake/PageExamples.cmake has to "
                        "follow it")
  endif()
  set(head "${CMAKE_MATCH_1}")
  set(registration "${CMAKE_MATCH_2}")
  set(foot "${CMAKE_MATCH_3}")

  file(READ ${CMAKE_SOURCE_DIR}/${page} rest)
  set(fence "\n```cpp\n")
  string(LENGTH "${fence}" fence_length)
  set(number 0)
  set(files)
  while(TRUE)
    string(FIND "${rest}" "${fence}" start)
    if(start EQUAL -1)
      break()
    endif()
    math(EXPR start "${start} + ${fence_length}")
    string(SUBSTRING "${rest}" ${start} -1 rest)
    string(FIND "${rest}" "\n```\n" end)
    string(SUBSTRING "${rest}" 0 ${end} block)
    math(EXPR number "${number} + 1")
    if(NOT block MATCHES "^((#include [^\n]*\n|\n)*)(.*\nclass ([A-Za-z0-9]+) .*\n};)\n// (\\.settings = .*)$")
      message(FATAL_ERROR "Block ${number} of C++ in ${page} is no whole example (includes, a class, a comment that begins with "
                          "`// .settings = `): complete it, or begin a fragment with ```c++")
    endif()
    set(includes "${CMAKE_MATCH_1}")
    set(code "${CMAKE_MATCH_3}")
    set(METHOD_CLASS ${CMAKE_MATCH_4})
    set(METHOD_NAME example-${number})
    string(REPLACE "\n//" "\n" settings "${CMAKE_MATCH_5}")
    set(file ${folder}/example_${number}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "// Example ${number} of ${page}: see cmake/PageExamples.cmake.
${includes}${head}${code}
${registration}
    ${settings},
${foot}" @ONLY)
    list(APPEND files ${file})
  endwhile()
  if(NOT files)
    message(FATAL_ERROR "${page} has no block of C++")
  endif()
  set(${variable} ${files} PARENT_SCOPE)
endfunction()
