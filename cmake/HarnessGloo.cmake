# c10d's ProcessGroupGloo is in libtorch_cpu, and the wheel ships its header without those of Gloo that it includes. All that it holds of Gloo
# are pointers, so that names are enough: trainers/ranks/gloo.cpp checks the size of the class. Debian's libgloo-dev would serve as well.
set(gloo_names ${CMAKE_BINARY_DIR}/generated/gloo_names)
set(gloo_store [[
#pragma once
#include <chrono>
#include <string>
#include <vector>
namespace gloo::rendezvous {
class Store {
 public:
  virtual ~Store();
  virtual void set(const std::string& key, const std::vector<char>& data) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) = 0;
};
}
]])
set(gloo_context "#pragma once\n#include <chrono>\nnamespace gloo { class Context { public: void setTimeout(std::chrono::milliseconds); }; }\n")
set(gloo_device "#pragma once\nnamespace gloo::transport { class Device; class UnboundBuffer { public: virtual ~UnboundBuffer(); }; }\n")
set(gloo_nothing "#pragma once\n")
foreach(file algorithm=nothing common/error=nothing context=context rendezvous/store=store transport/device=device)
  string(REPLACE = ";" parts ${file})
  list(GET parts 0 path)
  list(GET parts 1 text)
  file(CONFIGURE OUTPUT ${gloo_names}/gloo/${path}.h CONTENT "${gloo_${text}}" @ONLY)
endforeach()

# harness_uses_gloo(FILES): those that include c10d's Gloo.
function(harness_uses_gloo)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -isystem ${gloo_names} -DUSE_C10D_GLOO)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
