#include "results/paper/paper_gallery.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"
#include "core/json.h"
#include "core/text.h"

namespace harness {

std::optional<PaperGallery> load_paper_gallery(const std::string& task) {
  if (task != "ocr" && task != "pickscore") return std::nullopt;
  const auto file = find_data_file("paper/galleries/" + task + ".json");
  const auto document = read_json(file);
  Fields fields(document, file.string());
  fields.required<std::string>("id");
  const std::vector<std::string> indices{"prompt-set-from-0",
                                         "test-split-from-1"};  // in the order of GalleryIndex
  const auto index = fields.required<std::string>("index");
  const auto known = std::ranges::find(indices, index);
  if (known == indices.end())
    throw Error(fmt::format("unknown index \"{}\"", index), fields.where() + ": index",
                suggestion(index, indices));
  PaperGallery gallery{.index = static_cast<GalleryIndex>(known - indices.begin()),
                       .prompt_set = fields.optional<std::string>("prompt_set", "")};
  const auto& prompts = fields.get("prompts");
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    Fields prompt(prompts[i], fmt::format("{}: prompts[{}]", fields.where(), i));
    prompt.required<std::string>("block");
    gallery.prompts.push_back({.index = prompt.required<int>("index"),
                               .target_sha256 = prompt.required<std::string>("target_sha256")});
    prompt.finish();
  }
  fields.finish();
  return gallery;
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
