#include "results/paper/paper_gallery.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"
#include "core/json.h"
#include "core/text.h"

namespace harness {
namespace {

GalleryIndex index_from_name(const std::string& name, const std::string& where) {
  if (name == "prompt-set-from-0") return GalleryIndex::kPromptSetFrom0;
  if (name == "test-split-from-1") return GalleryIndex::kTestSplitFrom1;
  const std::vector<std::string> known{"prompt-set-from-0", "test-split-from-1"};
  throw Error(fmt::format("unknown index \"{}\"", name), where + ": index", suggestion(name, known));
}

GalleryPrompt read_prompt(const Json& object, const std::string& where) {
  Fields fields(object, where);
  GalleryPrompt prompt{.index = fields.required<int>("index"),
                       .block = fields.required<std::string>("block"),
                       .target_sha256 = fields.required<std::string>("target_sha256")};
  fields.finish();
  return prompt;
}

}  // namespace

PaperGallery read_paper_gallery(const std::filesystem::path& file) {
  const auto document = read_json(file);
  const auto where = file.string();
  Fields fields(document, where);
  PaperGallery gallery{.id = fields.required<std::string>("id"),
                       .index = index_from_name(fields.required<std::string>("index"), where),
                       .prompt_set = fields.optional<std::string>("prompt_set", "")};
  const auto& prompts = fields.get("prompts");
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    gallery.prompts.push_back(read_prompt(prompts[i], fmt::format("{}: prompts[{}]", where, i)));
  }
  fields.finish();
  return gallery;
}

std::optional<PaperGallery> load_paper_gallery(const std::string& task) {
  static const std::vector<std::string> known{"ocr", "pickscore"};
  if (std::ranges::find(known, task) == known.end()) return std::nullopt;
  return read_paper_gallery(find_data_file("paper/galleries/" + task + ".json"));
}

std::optional<int> gallery_position(const PaperGallery& gallery, const GalleryPrompt& prompt,
                                    std::span<const int> test) {
  if (gallery.index == GalleryIndex::kPromptSetFrom0) {
    return std::ranges::binary_search(test, prompt.index) ? std::optional(prompt.index) : std::nullopt;
  }
  if (prompt.index < 1 || static_cast<std::size_t>(prompt.index) > test.size()) return std::nullopt;
  return test[static_cast<std::size_t>(prompt.index) - 1];
}

}  // namespace harness
