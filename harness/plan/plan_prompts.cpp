#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <numeric>

#include "harness/plan/plan.h"
#include "harness/plan/row_source.h"
#include "harness/plan/scorers.h"
#include "harness/plan/worker_request.h"
#include "harness/prompts/prompt_notes.h"

// What the prompts are that a plan uses.

namespace harness {
namespace fs = std::filesystem;
namespace {

/// How much of the prompts text encoders read, those of the backbone and of scorers; null where there are
/// none.
Json text_lengths(const Plan& plan, const UsedPrompts& used, const Json& scorers) {
  const bool encodes = !plan.inputs.weights.empty() && fs::is_directory(plan.inputs.weights / "tokenizer");
  Json folders = Json::object(), prompts = Json::array(), settings = Json::object();
  for (const auto& [name, folder] : plan.scorer_folders) {
    if (scorers.contains(name) && fs::exists(fs::path(folder) / "merges.txt")) folders[name] = folder;
  }
  if (!encodes && folders.empty()) return {};
  for (const int position : used.positions) {
    const auto& prompt = used.set.prompts.at(static_cast<std::size_t>(position));
    prompts.push_back({prompt.text, prompt.target.words()});
  }
  for (const auto& [name, value] : plan.settings.loop) settings[name] = value.effective;
  return ask_worker("check-texts", {{"backbone", plan.backbone.name},
                                    {"weights", encodes ? plan.inputs.weights_path() : ""},
                                    {"settings", std::move(settings)},
                                    {"scorers", std::move(folders)},
                                    {"prompts", std::move(prompts)},
                                    {"json", true}});
}

void add_notes_on(const UsedPrompts& used, const Plan& plan, const Json& scorers,
                  std::vector<std::string>& notes) {
  const auto add = [&](std::vector<std::string> more) { std::ranges::move(more, std::back_inserter(notes)); };
  add(used.set.notes);
  const auto* reader = text_reader(plan, scorers);
  if (task_of_set(used.set.name) != kGenevalPrompts) {
    if (reader != nullptr || plan.backbone.needs_target) add(quote_notes(used));
    if (reader != nullptr) add(reader_notes(used, reader->name, readable_characters(reader->name)));
  }
  if (const auto lengths = text_lengths(plan, used, scorers); !lengths.is_null())
    add(length_notes(used, lengths));
}

}  // namespace

void add_prompt_notes(Plan& plan) {
  auto& inputs = plan.inputs;
  const bool trains = plan.trains();
  if (inputs.has_evaluation()) {
    UsedPrompts used{inputs.evaluation, inputs.validation, "evaluation"};
    used.positions.insert(used.positions.end(), inputs.test.begin(), inputs.test.end());
    std::ranges::sort(used.positions);
    add_notes_on(used, plan, plan.scorers, inputs.notes);
    if (trains)
      std::ranges::move(overlap_notes(inputs.evaluation, inputs.training), std::back_inserter(inputs.notes));
    if (plan.spec.tests())
      std::ranges::move(repeat_notes(inputs.evaluation, inputs.validation, inputs.test, inputs.left_out,
                                     kLeaveOutValidationPrompts),
                        std::back_inserter(inputs.notes));
  }
  if (!trains) return;
  UsedPrompts used{inputs.training, std::vector<int>(inputs.training.prompts.size()), "training"};
  std::iota(used.positions.begin(), used.positions.end(), 0);
  add_notes_on(used, plan, plan.reward_scorers, inputs.notes);
}

}  // namespace harness
