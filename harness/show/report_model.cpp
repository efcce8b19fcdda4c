#include "harness/show/report_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "core/source_sums/build_info.h"
#include "core/text.h"
#include "harness/plan/selection.h"
#include "harness/read/evaluated_checkpoints.h"
#include "harness/show/report_curves.h"
#include "harness/show/table_model.h"
#include "results/store/journal.h"
#include "results/store/left_out.h"
#include "results/store/rows.h"
#include "results/table/table_view.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Of a cell whose image an archive left out.
constexpr const char* kNotInArchive = "not part of the archive";

/// Prompts by position in the set and sample.
using Prompts = std::map<std::pair<int, std::int64_t>, ReportPrompt>;

/// A prompt with a cell for `column`, made where no column before had it.
ReportPrompt& prompt_with(std::size_t column, Prompts& prompts, int position, std::int64_t sample) {
  auto& prompt = prompts[{position, sample}];
  prompt.prompt.position = position;
  prompt.sample = sample;
  if (prompt.cells.size() <= column) prompt.cells.resize(column + 1);
  return prompt;
}

/// In the place of an image that a row of given images lacks.
constexpr const char* kNotGiven = "no image was given";

void read_samples(Store& store, const std::string& evaluation_id, std::size_t column,
                  const ReportImages& images, Prompts& prompts) {
  constexpr auto kSql = R"sql(
    SELECT p.position, s.sample, ps.name, p.text, p.target, s.path, s.sha256, s.transcript, s.judgement
    FROM samples AS s JOIN prompts AS p ON p.id = s.prompt_id JOIN prompt_sets AS ps ON ps.id = p.prompt_set_id
    WHERE s.evaluation_id = ?1)sql";
  const auto folder = evaluation_folder(store, *store.evaluation(evaluation_id));
  const bool left_out = is_left_out(folder, kImagesFolder);
  using Text = std::string;
  for (const auto& [position, sample, set, text, target, path, sha256, transcript, judgement] :
       rows_of<int, std::int64_t, Text, Text, Text, Text, Text, std::optional<Text>, std::optional<Text>>(
           store, kSql, evaluation_id)) {
    auto& prompt = prompt_with(column, prompts, position, sample);
    auto& cell = prompt.cells[column];
    prompt.prompt = stored_prompt(set, position, text, target);
    cell.transcript = transcript;
    cell.judgement = judgement;
    if (path.empty() || left_out) {
      cell.image_note = path.empty() ? kNotGiven : kNotInArchive;
      continue;
    }
    try {
      auto image = embedded_image(folder / path, sha256, images);
      cell.image = std::move(image.uri);
      cell.width = image.width;
      cell.height = image.height;
    } catch (const Error& error) {
      cell.image_note = fmt::format("no image: {}", error.problem());
    }
  }
}

void read_objects(Store& store, const std::string& evaluation_id, std::size_t column, Prompts& prompts) {
  for (auto& found : store.detections(evaluation_id)) {
    auto& cell = prompt_with(column, prompts, static_cast<int>(found.position), found.sample).cells[column];
    cell.objects.push_back({.name = std::move(found.name),
                            .score = found.score,
                            .box = {found.x0, found.y0, found.x1, found.y1},
                            .colour = std::move(found.colour),
                            .counted = found.counted});
  }
}

void read_values(Store& store, const std::string& evaluation_id, std::size_t column, Prompts& prompts) {
  constexpr auto kSql = R"sql(
    SELECT p.position, m.sample, m.name, m.value, m.reason
    FROM metrics AS m JOIN prompts AS p ON p.id = m.prompt_id
    WHERE m.evaluation_id = ?1)sql";
  for (const auto& [position, sample, name, value, reason] :
       rows_of<int, std::int64_t, std::string, std::optional<double>, std::optional<std::string>>(
           store, kSql, evaluation_id)) {
    auto& cell = prompt_with(column, prompts, position, sample).cells[column];
    cell.values[name] = value;
    if (reason) cell.reasons[name] = *reason;
  }
}

void fill_prompts(Store& store, const Experiment& experiment,
                  const std::vector<EvaluatedCheckpoint>& evaluated, const ReportImages& images,
                  Report& report) {
  Prompts prompts;
  for (const auto& checkpoint : evaluated) {
    if (checkpoint.split != report.table.split || !checkpoint.selected) continue;
    const auto column = report.columns.size();
    report.columns.push_back({.method = checkpoint.method,
                              .seed = checkpoint.seed,
                              .checkpoint = checkpoint.step,
                              .is_base = experiment.traits_of(checkpoint.method).is_start});
    read_samples(store, checkpoint.evaluation_id, column, images, prompts);
    read_objects(store, checkpoint.evaluation_id, column, prompts);
    read_values(store, checkpoint.evaluation_id, column, prompts);
  }
  for (auto& [key, prompt] : prompts) {
    prompt.cells.resize(report.columns.size(), {.image_note = "this prompt was not drawn"});
    report.prompts.push_back(std::move(prompt));
  }
  for (const auto& metric : metrics_of(store, evaluated)) {
    report.metrics.push_back(column_of(report.table, metric));
  }
  // In the order of the table's columns.
  const auto rank = [&](const TableColumn& metric) {
    const auto& columns = report.table.columns;
    return std::ranges::find(columns, metric.key, &TableColumn::key) - columns.begin();
  };
  std::ranges::stable_sort(report.metrics, {}, rank);
  report.highlighted = highlighted_method(experiment);
  report.noise_note = experiment.noise_note();
  report.image_note = fmt::format(
      "Images are {}; those longer than {} pixels on one side are shrunk to that (--image-size). The scored "
      "files are PNGs in the run folders.",
      images.lossless ? "the files themselves"
                      : "JPEG of quality 95 with full colours (--lossless: the files)",
      images.longest);
}

void note_missing_images(Report& report) {
  std::int64_t& missing = report.images_missing;  // images that were not given are counted under the table
  std::int64_t left_out = 0;
  std::set<std::string> reasons;
  for (const auto& prompt : report.prompts) {
    for (const auto& cell : prompt.cells) {
      if (!cell.image.empty() || cell.image_note == kNotGiven) continue;
      if (cell.image_note == kNotInArchive) {
        ++left_out;
        continue;
      }
      ++missing;
      reasons.insert(cell.image_note);
    }
  }
  if (left_out > 0) {
    report.missing.push_back(
        fmt::format("{} images are not shown: {}.", left_out, left_out_text(kImagesFolder)));
  }
  if (missing == 0) return;
  report.missing.push_back(
      fmt::format("{} images are missing from the list of prompts ({}).", missing, fmt::join(reasons, "; ")));
}

/// "max-mean of ocr_reward on validation: 0.9590".
std::string selection_text(const StoredSelection& selection) {
  if (selection.metric.empty()) return selection.rule;
  auto text = fmt::format("{} of {} on {}", selection.rule, selection.metric, selection.split);
  return selection.value ? fmt::format("{}: {:.4f}", text, *selection.value) : text;
}

std::vector<ReportRun> report_runs(Store& store, const Experiment& experiment) {
  std::vector<ReportRun> runs;
  for (const auto& member : runs_of(store, experiment)) {
    const auto stored = *store.run(member.id);
    ReportRun run{.method = member.row, .seed = member.seed, .id = member.id};
    run.build = stored.build.value_or("").substr(0, 12);
    run.finished = readable_time(stored.finished.value_or(""));
    auto selections = store.selections(member.id);
    std::erase_if(selections, [](const auto& s) { return s.kind == SelectionKind::kAtEqualEvaluations; });
    if (!selections.empty()) {
      run.checkpoint = fmt::format("{}", selections.back().step);
      run.selection = selection_text(selections.back());
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<ReportCost> report_costs(Store& store, const Experiment& experiment) {
  std::vector<ReportCost> costs;
  for (const auto& member : runs_of(store, experiment)) {
    const auto budgets = store.budgets(member.id);
    if (budgets.empty()) continue;  // of given weights or images
    auto cost = std::ranges::find(costs, member.row, &ReportCost::method);
    if (cost == costs.end()) cost = costs.insert(costs.end(), {.method = member.row});
    cost->runs.push_back(budgets.back());
  }
  return costs;
}

std::vector<std::pair<std::string, std::string>> facts_of(const Experiment& experiment) {
  return {{"Experiment", fmt::format("{} (table {}, backbone {}, scale {})", experiment.id,
                                     experiment.table_id, experiment.backbone, experiment.scale)},
          {"Seeds", fmt::format("{}", fmt::join(experiment.seeds, ", "))},
          {"Finished", readable_time(experiment.finished)},
          {"Page written by", fmt::format("harness {} revision {}, numerics {}", build_info().version,
                                          build_info().git_revision, kNumericsVersion)}};
}

}  // namespace

Report make_report(Store& store, const Experiment& experiment, const ReportImages& images) {
  Report report;
  report.table = make_table_model(store, experiment);
  report.training.push_back(training_curves(store, experiment, 120));
  report.law = law_charts(store, experiment);
  report.costs = report_costs(store, experiment);
  report.runs = report_runs(store, experiment);
  report.facts = facts_of(experiment);
  if (experiment.is_training()) {
    report.highlighted = highlighted_method(experiment);
    report.metric = report.table.comparisons.empty() ? "" : report.table.comparisons.front().metric;
    return report;
  }
  report.metric = experiment.table.selection.metric;
  fill_prompts(store, experiment, evaluated_checkpoints(store, experiment), images, report);
  report.training.push_back(validation_curves(store, experiment, report.metrics));
  note_missing_images(report);
  return report;
}

}  // namespace harness
