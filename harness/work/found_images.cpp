#include "harness/work/found_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/text.h"

namespace harness {
namespace {

/// The first, one from the middle and the last.
Json examples_of(const GivenImages& given, const std::vector<Prompt>& prompts) {
  const auto& list = given.list;
  Json examples = Json::array();
  for (const auto at : std::set<std::size_t>{0, list.size() / 2, list.size() - 1})
    examples.push_back({{"file", list[at].name},
                        {"prompt", prompts[static_cast<std::size_t>(list[at].position)].text},
                        {"position", list[at].position},
                        {"sample", list[at].sample}});
  return examples;
}

Json found_of(const RunPlan& run, int step, const GivenImages& given, const std::vector<Prompt>& prompts) {
  std::set<int> positions;
  int samples = 0;
  for (const auto& image : given.list) {
    positions.insert(image.position);
    samples = std::max(samples, image.sample + 1);
  }
  return {{"row", run.name},
          {"seed", run.seed},
          {"step", step},
          {"folder", given.folder.string()},
          {"layout", given.layout},
          {"images", given.list.size()},
          {"prompts", positions.size()},
          {"samples", samples},
          {"notes", given.notes},
          {"examples", examples_of(given, prompts)}};
}

}  // namespace

Json found_images_json(const Plan& plan) {
  Json found = Json::array();
  for (const auto& run : plan.runs) {
    for (const auto& [step, given] : run.images)
      found.push_back(found_of(run, step, given, plan.inputs.evaluation.prompts));
  }
  return found;
}

std::string found_images_text(const Plan& plan) {
  std::string text;
  Json shown;  // the run whose examples are there: other checkpoints of it are laid out alike
  for (const auto& found : found_images_json(plan)) {
    const auto notes = found.at("notes").get<std::vector<std::string>>();
    text += fmt::format("{}: {} of {}, {} each at most, {}: {}{}\n", found.at("row").get<std::string>(),
                        counted(found.at("images").get<std::int64_t>(), "image"),
                        counted(found.at("prompts").get<std::int64_t>(), "prompt"),
                        found.at("samples").get<int>(), found.at("layout").get<std::string>(),
                        found.at("folder").get<std::string>(), notes.empty() ? "" : "; " + join(notes, "; "));
    const Json run = {found.at("row"), found.at("seed")};
    if (run == shown) continue;
    shown = run;
    for (const auto& example : found.at("examples"))
      text +=
          fmt::format("  {} -> {}, sample {}\n", example.at("file").get<std::string>(),
                      in_quotes(example.at("prompt").get<std::string>()), example.at("sample").get<int>());
  }
  return text;
}

}  // namespace harness
