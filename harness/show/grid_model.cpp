#include "harness/show/grid_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "core/base64.h"
#include "core/error.h"
#include "core/files.h"
#include "core/image.h"
#include "core/sha256.h"
#include "evaluators/jpeg.h"
#include "harness/read/evaluated_checkpoints.h"
#include "harness/workspace/workspace.h"
#include "results/grid/grid_canvas.h"
#include "results/paper/paper.h"
#include "results/query/experiments.h"
#include "results/store/rows.h"
#include "results/store/stored_image.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr int kQuality = 95, kShrunkQuality = 85;

/// Four channels of 16 bits and what goes with them; a page would carry along whatever else a file holds.
void require_small(std::size_t bytes, const Image& image, const std::filesystem::path& file) {
  constexpr std::size_t kPerPixel = 8, kBeside = 64u << 10;
  const auto pixels = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
  if (bytes <= kPerPixel * pixels + kBeside) return;
  throw Error(fmt::format("has {} bytes for {} x {} pixels, too many to be put into a page", bytes,
                          image.width, image.height),
              file.string(), "strip its metadata", Status::kFailed);
}

Image shrunk(const Image& image, int longest) {
  const double factor = static_cast<double>(longest) / std::max(image.width, image.height);
  const auto side = [&](int pixels) { return std::max(1, static_cast<int>(std::lround(pixels * factor))); };
  const int width = side(image.width), height = side(image.height);
  GridCanvas canvas;
  canvas.picture(image, 0, 0, width, height);
  return canvas.finish(width, height);
}

/// The longer side of an image in grid.html, which shows 288 of them on most screens.
constexpr int kPagePixels = 384;

/// One image of an evaluation with what the scorer made of it.
struct Sample {
  Prompt prompt;
  GridCell cell;
};

/// The first image of every prompt, by position.
using Samples = std::map<int, Sample>;

Samples read_samples(Store& store, const std::string& evaluation_id, const std::string& metric) {
  constexpr auto kSql = R"sql(
    SELECT p.position, ps.name, p.text, p.target, s.path, s.sha256, s.transcript, s.judgement, m.value,
           coalesce(m.reason, (
             SELECT min(any_of.reason) FROM metrics AS any_of
             WHERE any_of.evaluation_id = s.evaluation_id AND any_of.prompt_id = s.prompt_id
               AND any_of.sample = s.sample), '')
    FROM samples AS s
    JOIN prompts AS p ON p.id = s.prompt_id
    JOIN prompt_sets AS ps ON ps.id = p.prompt_set_id
    LEFT JOIN metrics AS m
      ON m.evaluation_id = s.evaluation_id AND m.prompt_id = s.prompt_id AND m.sample = s.sample AND m.name = ?2
    WHERE s.evaluation_id = ?1 AND s.sample = 0)sql";
  const auto folder = evaluation_folder(store, *store.evaluation(evaluation_id));
  using Text = std::string;
  Samples samples;
  for (const auto& [position, set, text, target, path, sha256, transcript, judgement, score, reason] :
       rows_of<int, Text, Text, Text, Text, Text, std::optional<Text>, std::optional<Text>,
               std::optional<double>, Text>(store, kSql, evaluation_id, metric))
    samples[position] = {stored_prompt(set, position, text, target),
                         {folder / path, transcript, score, reason, sha256, judgement}};
  return samples;
}

std::vector<PromptScores> scores_by_prompt(const std::vector<Samples>& columns) {
  std::vector<PromptScores> prompts;
  for (const auto& [position, first] : columns.front()) {
    PromptScores scores{.position = position, .scores = {}};
    for (const auto& samples : columns) {
      const auto found = samples.find(position);
      if (found == samples.end())
        throw Error(fmt::format("prompt {} lacks an image of at least one method", position), "grid", "",
                    Status::kFailed);
      scores.scores.push_back(found->second.cell.score);
    }
    prompts.push_back(std::move(scores));
  }
  return prompts;
}

/// The prompts of the paper's gallery among those of `samples`, the test split.
void find_paper_prompts(const Experiment& experiment, const Samples& samples, GridRule& rule, Grid& grid) {
  const auto task = experiment.spec.at("task").get<std::string>();  // also if another metric replaces it
  const auto gallery = load_paper_gallery(task);
  if (!gallery) {
    throw Error(fmt::format("the paper has no gallery of task {}", task), "--pick paper",
                "choose of wins, mixed, near-ties, losses and failures");
  }
  if (!gallery->other_sets && gallery->prompt_set != prompts_of(experiment)) {
    throw Error(
        fmt::format("the paper's gallery of task {} shows prompts of {}, and this experiment has {}, where "
                    "the same places hold records of other tags",
                    task, gallery->prompt_set, prompts_of(experiment)),
        "--pick paper", "choose of wins, mixed, near-ties, losses and failures");
  }
  std::vector<int> test;
  for (const auto& [position, sample] : samples) test.push_back(position);
  bool same_texts = gallery->prompt_set.empty() || gallery->prompt_set == prompts_of(experiment);
  for (const auto& prompt : gallery->prompts) {
    const auto position = gallery_position(*gallery, prompt, test);
    if (!position) continue;
    rule.paper.push_back(*position);
    same_texts = same_texts &&
                 (prompt.target_sha256.empty() ||
                  sha256_hex(samples.at(*position).prompt.target.text()).starts_with(prompt.target_sha256));
  }
  if (rule.paper.empty()) {
    throw Error("no prompt of the paper's gallery is in this cut of the test split", "--pick paper",
                "choose a --scale with the whole split");
  }
  grid.paper_rule = same_texts ? "its own prompts, by their printed indices"
                               : fmt::format(
                                     "the prompts at its printed indices; prompt set {} is not the "
                                     "paper's, and neither are the texts",
                                     prompts_of(experiment));
  if (rule.paper.size() < gallery->prompts.size()) {
    grid.paper_rule += fmt::format("; {} of its {} lie in this cut of the split", rule.paper.size(),
                                   gallery->prompts.size());
  }
}

}  // namespace

EmbeddedImage embedded_image(const std::filesystem::path& file, const std::string& sha256,
                             const ReportImages& images) {
  const auto bytes = read_stored_image(file, sha256);
  const auto image = decode_png(bytes, file);
  const auto embedded = [&](const char* kind, const std::string& data) {
    return EmbeddedImage{fmt::format("data:image/{};base64,", kind) + base64(data), image.width,
                         image.height};
  };
  if (std::max(image.width, image.height) > images.longest)
    return embedded("jpeg", jpeg_bytes(shrunk(image, images.longest), kShrunkQuality));
  require_small(bytes.size(), image, file);
  if (images.lossless) return embedded("png", bytes);
  const auto packed = jpeg_bytes(image, kQuality, JpegColours::kFull);
  return packed.size() < bytes.size() ? embedded("jpeg", packed) : embedded("png", bytes);
}

fs::path evaluation_folder(Store& store, const StoredEvaluation& evaluation) {
  const fs::path recorded = evaluation.folder;
  return run_folder_now(store.path(), evaluation.run_id, recorded.parent_path()) / recorded.filename();
}

std::string highlighted_method(const Experiment& experiment) {
  const auto baseline = experiment.effective.baseline;
  for (const auto& method : experiment.methods | std::views::reverse) {
    if (method != baseline) return method;
  }
  return baseline;
}

Grid make_grid(Store& store, const Experiment& experiment, const GridChoice& choice) {
  const auto& spec = experiment.table;
  const auto split = experiment.shown_split(), metric = spec.selection.metric;
  Grid grid;
  const auto scale = experiment.scale == "default" ? "" : ", scale " + experiment.scale;
  grid.title = fmt::format("{} ({}{})", spec.title, experiment.backbone, scale);
  grid.signature = experiment.signature;
  grid.split = split;
  grid.noise_note = experiment.noise_note();
  grid.baseline = experiment.effective.baseline;
  grid.highlighted = highlighted_method(experiment);
  GridRule rule;
  rule.groups = choice.groups;
  if (rule.groups.empty()) {
    for (const auto& name : spec.grid.pick) rule.groups.push_back(grid_group_from_name(name));
  }
  rule.rows = static_cast<std::size_t>(spec.grid.rows);
  const auto* known = built_in_catalogue().find(metric);
  rule.perfect = grid.perfect = known == nullptr ? std::nullopt : known->perfect;
  if (!grid.perfect) {
    grid.score_title = spec.metric_catalogue.title(metric);
    grid.score_decimals = 4;
  }
  std::vector<Samples> columns;
  for (const auto& checkpoint : evaluated_checkpoints(store, experiment)) {
    if (checkpoint.split != split || checkpoint.seed != experiment.seeds.front() || !checkpoint.selected)
      continue;
    const auto column = columns.size();
    if (checkpoint.method == grid.highlighted) rule.highlighted = column;
    if (checkpoint.method == grid.baseline) rule.baseline = column;
    const auto& traits = experiment.traits_of(checkpoint.method);
    if (!traits.is_start) rule.methods.push_back(column);
    grid.columns.push_back({.title = checkpoint.method,
                            .subtitle = traits.is_start ? "base model"
                                        : traits.draws  ? fmt::format("checkpoint {}", checkpoint.step)
                                                        : "drawn elsewhere"});
    columns.push_back(read_samples(store, checkpoint.evaluation_id, metric));
  }
  if (const auto runs = experiment.seeds.size(); runs > 1)
    grid.title += fmt::format(" (seed {}, one of {} runs)", experiment.seeds.front(), runs);
  if (columns.empty()) throw Error("the experiment has no evaluation to show", "grid", "", Status::kFailed);
  if (std::ranges::find(rule.groups, GridGroup::kPaper) != rule.groups.end()) {
    find_paper_prompts(experiment, columns.front(), rule, grid);
  }
  const bool paper_alone = rule.groups == std::vector{GridGroup::kPaper};
  rule.rows = choice.rows.value_or(paper_alone ? rule.paper.size() : rule.rows);
  for (const auto& pick : pick_grid_rows(scores_by_prompt(columns), rule)) {
    const auto& sample = columns.front().at(pick.position);
    GridRow row{.prompt = sample.prompt, .group = pick.group};
    for (const auto& samples : columns) row.cells.push_back(samples.at(pick.position).cell);
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

void rename(const DisplayNames& names, Grid& grid) {
  const auto name_of = [&](const std::string& name) { return plain_notation(names.of(name)); };
  for (auto& column : grid.columns) column.title = name_of(column.title);
  grid.highlighted = name_of(grid.highlighted);
  grid.baseline = name_of(grid.baseline);
  grid.score_title = plain_notation(names.in_text(grid.score_title));
}

std::string grid_stem(const GridChoice& choice) {
  std::string stem = "grid";
  for (const auto group : choice.groups)
    stem += fmt::format("-{}", grid_group_names().at(static_cast<std::size_t>(group)));
  if (choice.rows) stem += fmt::format("-{}", *choice.rows);
  return stem;
}

std::map<std::string, std::string> write_grid(const Grid& grid, const fs::path& folder,
                                              const GridFiles& files) {
  const auto width = files.width.points();
  std::optional<std::string> pdf;  // what it refuses is known before a file is written
  Grid paper;
  if (!files.may_lack_page || fits_width(grid.columns.size(), width)) {
    paper = fitted_to_page(grid, width);
    rename(files.names, paper);
    pdf = grid_pdf(paper, width);
  }
  auto shown = grid;
  if (files.bare) rename(files.names, shown);
  make_folder(folder);
  std::map<std::string, std::string> paths;
  const auto write = [&](const char* ending, const std::string& bytes) {
    const auto name = files.stem + ending;
    write_file_atomically(folder / name, bytes);
    paths[name] = (folder / name).string();
  };
  if (!files.may_lack_page || fits_picture(grid.columns.size()))
    write(".png", png_bytes(render_grid(shown, files.bare)));
  if (pdf) {
    write(".pdf", *pdf);
    write("-float.tex", grid_latex(paper, files.stem + ".pdf", folder.string(), files.width.is_wide()));
  }
  write(".html", grid_html(grid, [](const GridCell& cell) {
          return embedded_image(cell.image, cell.sha256, {.longest = kPagePixels, .lossless = true});
        }));
  return paths;
}

}  // namespace harness
