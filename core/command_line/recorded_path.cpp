#include "core/command_line/recorded_path.h"

#include <fmt/format.h>

#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;

void require_utf8(const std::string& text, const std::string& where, const std::string& hint) {
  refuse_unless(!invalid_utf8_at(text), fmt::format("{} is not valid UTF-8", in_quotes(text)), where, hint);
}

void require_recordable(const fs::path& path, const std::string& where) {
  constexpr const char* kHint = "choose another name: it is recorded as text";
  require_utf8(path.string(), where, kHint);
  if (path.is_relative() && is_working_folder_gone()) throw working_folder_error(where);
  std::error_code unknown;
  require_utf8(fs::absolute(path, unknown).string(), where, kHint);
}

bool is_working_folder_gone() {
  std::error_code gone;
  return fs::current_path(gone).empty();
}

Error working_folder_error(const std::string& where) {
  return Error("the working folder was deleted or moved", where,
               "change to a folder that exists (`cd`), then repeat the command");
}

}  // namespace harness
