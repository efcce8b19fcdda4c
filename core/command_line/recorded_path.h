#pragma once

#include <filesystem>
#include <string>

#include "core/error.h"

namespace harness {

/// Throws Error (status 2, at `where`) for a text that cannot be recorded: it is not UTF-8.
void require_utf8(const std::string& text, const std::string& where, const std::string& hint);

/// The same of a path as typed and as it is from the root, which is what is recorded. Throws also where it is
/// relative and there is no working folder any more.
void require_recordable(const std::filesystem::path& path, const std::string& where);

/// True where the folder that this program was started in was deleted or moved out of reach.
bool is_working_folder_gone();

/// What to say then.
Error working_folder_error(const std::string& where);

}  // namespace harness
