# Writes the header FILE with the git revision of SOURCE, only where it has changed: a build made after a commit
# or on changed sources must not bear the revision that it was configured at.
execute_process(COMMAND git describe --always --dirty --abbrev=10 WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT revision)
  set(revision unknown)
endif()
set(text "#pragma once\n\n#define HARNESS_REVISION \"${revision}\"\n")
if(EXISTS ${FILE})
  file(READ ${FILE} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${FILE} "${text}")
endif()
