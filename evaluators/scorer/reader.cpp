#include "evaluators/scorer/reader.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "evaluators/scorer/glyph_reader.h"
#include "evaluators/scorer/scene_reader.h"

namespace harness {

std::vector<std::string> profile_names() {
  return {GlyphReader::kProfile, SceneReader::kProfile};
}

std::unique_ptr<Reader> make_reader(const std::string& profile, const std::filesystem::path& tessdata,
                                    const std::string& only) {
  if (profile == SceneReader::kProfile) return std::make_unique<SceneReader>(tessdata, only);
  if (profile != GlyphReader::kProfile) {
    throw Error(fmt::format("unknown profile \"{}\"", profile), "--profile",
                suggestion(profile, profile_names()));
  }
  if (!only.empty()) {
    throw Error(fmt::format("the profile {} has a single reading", profile), "--only", "leave it out");
  }
  return std::make_unique<GlyphReader>(tessdata);
}

}  // namespace harness
