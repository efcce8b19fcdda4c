cmake_minimum_required(VERSION 3.25)

# Writes the header FILE with the git revision of SOURCE, only where it has changed: a build made after a commit
# or on changed sources must not bear the revision that it was configured at.
execute_process(COMMAND git describe --always --dirty --abbrev=10 WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT revision)
  set(revision unknown)
endif()
file(CONFIGURE OUTPUT ${FILE} CONTENT "#pragma once\n\n#define HARNESS_REVISION \"@revision@\"\n" @ONLY)
