#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace harness {

// A run that came out of an archive may lack what the archive left out. FOLDER/left-out.json then names it,
// so that nothing which was never here is taken for damage.

/// In the folder of an evaluation, and in that of a run.
inline constexpr const char *kImagesFolder = "images", *kCheckpointsFolder = "checkpoints";
inline constexpr const char* kLeftOutFile = "left-out.json";

/// What that file holds where FOLDER/PART was left out.
std::string left_out_note(const std::string& part);

/// True if that is noted and FOLDER/PART is not there either.
bool is_left_out(const std::filesystem::path& folder, const std::string& part);

/// "the images were not part of the archive that this was imported from"
std::string left_out_text(const std::string& part);
/// "the images of 3 evaluations were not part of the archive that they were imported from"
std::string left_out_text(const std::string& part, std::int64_t count, const std::string& of_what);

/// What brings it in.
inline constexpr const char* kLeftOutHint =
    "export the experiment again with --images or --checkpoints where they are, and import that archive here: it "
    "adds what is missing";

}  // namespace harness
