#include "harness/score/score_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/paths/shown_path.h"
#include "core/text.h"
#include "evaluators/given/given_image.h"
#include "harness/plan/outside_runs.h"
#include "harness/plan/scorers.h"
#include "harness/score/score_table.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr double kValidationShare = 0.25;

/// Every list of images that the rows have, as far as the folders show.
std::vector<ImageList> lists_of(const ScoreRequest& request, const ImageRows& rows,
                                const PromptSet& prompts) {
  std::vector<ImageList> lists;
  std::vector<std::int64_t> seeds(rows.runs());
  for (const auto& name : rows.names) {
    const ArmSpec arm{.name = name, .method = kImagesMethod, .places = rows.places.at(name)};
    for (const auto& run : outside_runs(arm, seeds, "/")) {
      for (const auto& [step, place] : run)
        lists.push_back(find_images(
            {.path = place, .where = fmt::format("images of {}", name), .first_index = request.first_index},
            prompts));
    }
  }
  return lists;
}

/// The evaluation prompts, and the file that workers read them from.
void gather_prompts(const ScoreRequest& request, const Workspace& workspace, Inputs& inputs) {
  if (std::ranges::count(own_prompt_sets(), request.prompts) > 0) {
    inputs.evaluation = own_prompt_set(request.prompts);
    inputs.evaluation_file = workspace.prompts_folder() / own_file_name(request.prompts);
    inputs.evaluation_file_is_ours = true;
    return;
  }
  fs::path file = request.prompts;
  if (fs::is_directory(file)) {
    std::vector<std::string> tasks;
    std::ranges::copy_if(prompt_tasks(), std::back_inserter(tasks),
                         [&](const auto& task) { return has_prompt_file(file, task); });
    if (tasks.size() != 1) {
      throw Error(tasks.empty() ? fmt::format("{} holds no prompts", file.string())
                                : fmt::format("{} holds several: {}", file.string(), join(tasks, ", ")),
                  "--prompts", "give the file that these images were generated from");
    }
    file = find_prompt_file(file, tasks.front());
  }
  if (!fs::exists(file))
    throw Error(
        fmt::format("there is no file {}", file.string()), "--prompts",
        "give the file that these images were generated from: one prompt per line, or GenEval's records "
        "(.jsonl)");
  const auto task = task_of_file(file);
  file = find_prompt_file(file, task);
  inputs.evaluation = load_prompt_set(file, task);
  const auto quotes = [](const Prompt& prompt) { return !prompt.target.empty(); };
  if (task == kPickscorePrompts && std::ranges::all_of(inputs.evaluation.prompts, quotes))
    inputs.evaluation = load_prompt_set(file, kOcrPrompts);
  inputs.evaluation_file = file;
}

struct KindOfImage {
  std::string kind = kSceneImages, file = {}, size = {};
};

/// Nothing for what cannot be read, which has no scores in any case.
std::optional<KindOfImage> kind_of(const fs::path& file) {
  try {
    const auto image = decode_given_image(read_file(file), file.string()).image;
    const auto is = [&](int width, int height) { return image.width == width && image.height == height; };
    return KindOfImage{is(96, 48)   ? kGlyphImages
                       : is(64, 64) ? kShapeImages
                                    : kSceneImages,
                       file.string(), fmt::format("{} x {} pixels", image.width, image.height)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The kind by which all of them are scored, by the sizes of some of every list. Throws Error where these are
/// of several kinds: a scorer reads each otherwise.
KindOfImage kind_of(const std::vector<ImageList>& lists) {
  constexpr std::size_t kLooked = 8;  // of a list
  std::optional<KindOfImage> first;
  for (const auto& list : lists) {
    const auto count = list.images.size();
    for (std::size_t i = 0; i < std::min(kLooked, count); ++i) {
      const auto& image = list.images[i * count / std::min(kLooked, count)];
      auto found = kind_of(list.folder / image.name);
      if (!found) continue;
      if (!first)
        first = std::move(found);
      else if (found->kind != first->kind)
        throw Error(fmt::format("{} has {} and is read as {} are, {} has {} and is read as {} are",
                                first->file, first->size, first->kind, found->file, found->size, found->kind),
                    "images", "--like glyph or --like sd35-medium says how all of them are read");
    }
  }
  return first.value_or(KindOfImage());
}

/// The backbone whose images these are scored like: as asked for, else by their sizes.
const BackboneInfo& like_of(const ScoreRequest& request, const Registry& registry,
                            const std::vector<ImageList>& lists, std::vector<std::string>& notes) {
  if (!request.like.empty()) return registry.backbone(request.like, "--like");
  const auto found = kind_of(lists);
  if (found.kind != kSceneImages)
    notes.push_back(fmt::format("Scored as {} of {} are; --like chooses another backbone's scorers.",
                                found.kind, found.size));
  for (const auto& backbone : registry.backbones) {
    if (backbone.images == found.kind) return backbone;
  }
  return registry.default_backbone();
}

/// Images of a prompt that every row has, at least of some prompt.
int samples_of(const ScoreRequest& request, const std::vector<ImageList>& lists,
               std::vector<std::string>& notes) {
  const auto& fewest = *std::ranges::min_element(lists, {}, &ImageList::samples);
  const auto& most = *std::ranges::max_element(lists, {}, &ImageList::samples);
  if (request.samples) {
    if (*request.samples < 1 || *request.samples > most.samples())
      throw Error(fmt::format("must be 1 to {}, the most images of a prompt", most.samples()), "--samples");
    return *request.samples;
  }
  if (most.samples() > fewest.samples())
    notes.push_back(
        fmt::format("The first {} per prompt of every row: {} has {}, and {} has {} (--samples chooses).",
                    counted(fewest.samples(), "image"), shown_path(fewest.folder), fewest.samples(),
                    shown_path(most.folder), most.samples()));
  return fewest.samples();
}

/// How many of `count` prompts choose the checkpoints: by --split, else a quarter.
int validation_of(const ScoreRequest& request, const ImageRows& rows, int count) {
  if (!rows.has_steps()) {
    if (!request.split.empty())
      throw Error("nothing is selected: every row has one checkpoint", "--split",
                  "leave it out, or give several: NAME=DIR/{step}");
    return 0;
  }
  if (count < 2) throw Error("one prompt cannot be divided", "--prompts", "give more");
  if (request.split.empty())
    return std::clamp(static_cast<int>(std::lround(kValidationShare * count)), 1, count - 1);
  const auto asked = asked_split(request.split);
  if (asked.validation + asked.test == count) return asked.validation;
  throw Error(
      fmt::format("{} does not divide the {} prompts that have images", in_quotes(request.split), count),
      "--split", fmt::format("give two numbers whose sum is {}: {}/{}", count, count / 4, count - count / 4));
}

void divide(Plan& plan, const std::vector<int>& positions) {
  auto split = make_split(plan.spec.split, positions);
  plan.inputs.validation = std::move(split.validation);
  plan.inputs.test = std::move(split.test);
  plan.inputs.validation_size = static_cast<int>(std::ssize(plan.inputs.validation));
  plan.inputs.test_size = static_cast<int>(std::ssize(plan.inputs.test));
}

/// Of all settings those that choose a scorer's profile have a meaning.
void keep_scorer_settings(Plan& plan) {
  std::erase_if(plan.settings.loop, [&](const auto& entry) {
    const auto setting = std::ranges::find(plan.registry.settings, entry.first, &Setting::name);
    if (setting->used_by == "scorer") return false;
    if (entry.second.origin != "--set") return true;
    throw Error(fmt::format("setting {} is not used: nothing is trained or generated", entry.first),
                "--set " + entry.first, "leave it out");
  });
}

/// Throws Error for a row without a prompt of the baseline's: nothing of it can be compared.
void require_common_prompts(const Plan& plan) {
  std::map<std::string, std::set<int>> prompts;
  for (const auto& run : plan.runs) {
    for (const auto& [_, given] : run.images) {
      for (const auto& image : given.list) prompts[run.name].insert(image.position);
    }
  }
  const auto& baseline = prompts[plan.baseline];
  for (const auto& [name, own] : prompts)
    refuse_unless(std::ranges::any_of(own, [&](int position) { return baseline.contains(position); }),
                  fmt::format("{} and {} have images of no prompt in common", name, plan.baseline), name,
                  "give images of the same prompts, numbered alike, or leave the row out");
}

BackboneInfo images_backbone(const BackboneInfo& like) {
  BackboneInfo backbone;
  backbone.name = kImagesBackbone;
  backbone.precisions = {{"", "as given"}};
  backbone.images = like.images;
  return backbone;
}

}  // namespace

Plan make_score_plan(const ScoreRequest& request, const Workspace& workspace) {
  Plan plan;
  plan.workspace = workspace;
  plan.registry = load_registry();
  plan.numerics_version = plan.registry.numerics_version;
  const ScorerFolders folders(plan.registry, request.scorers);
  plan.external_scorers = find_external_scorers(request.scorers);
  add_to_registry(plan.external_scorers, plan.registry);
  gather_prompts(request, workspace, plan.inputs);
  const auto& prompts = plan.inputs.evaluation;
  ScoreTable table;
  table.rows = read_image_rows(request.rows);
  const auto lists = lists_of(request, table.rows, prompts);
  if (auto note = require_same_seeds(lists)) table.notes.push_back(std::move(*note));
  const auto& like = like_of(request, plan.registry, lists, table.notes);
  table.samples = samples_of(request, lists, table.notes);
  std::set<int> with_images;
  for (const auto& list : lists) add_positions(list.images, table.samples, with_images);
  const std::vector<int> positions(with_images.begin(), with_images.end());
  table.metrics = choose_score_metrics(request, plan.registry, folders, prompts, like);
  if (!request.metrics.empty())
    table.notes.push_back("Only these metrics were asked for (--metric): the adjusted p knows of no others.");
  table.task = task_of_set(prompts.name);
  table.prompts = static_cast<int>(std::ssize(prompts.prompts));
  table.validation = validation_of(request, table.rows, static_cast<int>(positions.size()));
  require_table_id(request.name, "--as");
  refuse_unless(request.name.find_first_not_of("0123456789") != std::string::npos,
                fmt::format("{} is a number, which names an experiment", in_quotes(request.name)), "--as",
                "choose a name with a letter in it");
  refuse_unless(std::ranges::count(known_tables(), request.name) == 0,
                fmt::format("{} is a table that is trained (`harness list tables`)", in_quotes(request.name)),
                "--as", "choose another name: its commands would show these images");
  plan.spec = parse_table_spec(score_document(request, table, plan.registry), "harness score",
                               MetricCatalogue(plan.registry.evaluators));
  plan.scale = plan.spec.scale("default");
  plan.methods = plan.spec.methods;
  plan.baseline = plan.spec.baseline;
  plan.seeds = plan.spec.seeds;
  plan.checkpoints = plan.spec.checkpoints;
  plan.device = device_name(request.device);
  if (request.device == kAllGpus) plan.device = kAllGpus;
  plan.runs_elsewhere = request.runs_elsewhere;
  plan.device_kind = plan.device.substr(0, plan.device.find(':'));
  plan.device_identity = plan.device_kind == "cpu" ? "cpu" : request.gpu;
  plan.settings =
      resolve_settings(plan.registry, plan.spec, like.name, plan.scale.name, plan.methods, request.sets);
  keep_scorer_settings(plan);
  plan.backbone = like;
  choose_scorers(plan, folders);
  plan.backbone = images_backbone(like);
  divide(plan, positions);
  if (table.validation > 0)
    plan.inputs.notes.push_back(
        fmt::format("{} prompts choose the checkpoints by {}, the earlier one at a tie, and {} test them "
                    "(--split chooses).",
                    plan.inputs.validation_size, plan.spec.selection.metric, plan.inputs.test_size));
  if (positions.size() < prompts.prompts.size())
    plan.inputs.notes.push_back(fmt::format("Of the {} prompts the {} that have images count.",
                                            prompts.prompts.size(), positions.size()));
  if (positions.size() == 1)
    plan.inputs.notes.push_back("Only one prompt has images: differences have no interval and no p-value.");
  add_runs(plan, request.first_index);
  require_common_prompts(plan);
  add_prompt_notes(plan);
  return plan;
}

}  // namespace harness
