#include "harness/grid_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "harness/plan.h"
#include "harness/reproductions.h"
#include "results/sql.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// One image of an evaluation with what the scorer made of it.
struct Sample {
  std::string prompt, target;
  GridCell cell;
};

/// The first image of every prompt, by position.
using Samples = std::map<int, Sample>;

/// Where an evaluation's files are: beside the DB, so that a workspace can be moved and copied, or where they
/// were recorded if the DB lies elsewhere.
fs::path evaluation_folder(Store& store, const StoredEvaluation& evaluation) {
  const fs::path recorded = evaluation.folder;
  const auto run = store.path().parent_path() / evaluation.run_id;
  return fs::exists(run) ? run / recorded.filename() : recorded;
}

Samples read_samples(Store& store, const std::string& evaluation_id, const std::string& metric) {
  constexpr auto kSql = R"sql(
    SELECT p.position, p.text, p.target, s.path, s.transcript, m.value, m.reason
    FROM samples AS s
    JOIN prompts AS p ON p.id = s.prompt_id
    LEFT JOIN metrics AS m
      ON m.evaluation_id = s.evaluation_id AND m.prompt_id = s.prompt_id AND m.sample = s.sample AND m.name = ?2
    WHERE s.evaluation_id = ?1 AND s.sample = 0)sql";
  const auto folder = evaluation_folder(store, *store.evaluation(evaluation_id));
  SQLite::Statement statement(store.database(), kSql);
  Query query(statement, evaluation_id, metric);
  Samples samples;
  while (query.step()) {
    samples[static_cast<int>(query.integer(0))] = {.prompt = query.text(1),
                                                   .target = query.text(2),
                                                   .cell = {.image = folder / query.text(3),
                                                            .transcript = query.optional_text(4),
                                                            .score = query.real(5),
                                                            .reason = query.optional_text(6).value_or("")}};
  }
  return samples;
}

std::vector<PromptScores> scores_by_prompt(const std::vector<Samples>& columns) {
  std::vector<PromptScores> prompts;
  for (const auto& [position, first] : columns.front()) {
    PromptScores scores{.position = position, .scores = {}};
    for (const auto& samples : columns) {
      const auto found = samples.find(position);
      if (found == samples.end())
        throw Error(fmt::format("prompt {} was not drawn by every method", position), "grid", "",
                    Status::kFailed);
      scores.scores.push_back(found->second.cell.score);
    }
    prompts.push_back(std::move(scores));
  }
  return prompts;
}

/// The method that the grid is about: the table's last one, which is not the baseline unless there is no
/// other.
std::string hero_of(const StoredReproduction& reproduction, const std::string& baseline) {
  for (auto method = reproduction.methods.rbegin(); method != reproduction.methods.rend(); ++method) {
    if (*method != baseline) return *method;
  }
  return baseline;
}

}  // namespace

Grid make_grid(Store& store, const StoredReproduction& reproduction, const GridChoice& choice) {
  const std::string split = "test", metric = reproduction.spec.at("selection").at("metric");
  Grid grid;
  grid.title = reproduction.spec.value("title", reproduction.table_id);
  grid.signature = reproduction.signature;
  grid.split = split;
  grid.baseline = reproduction.spec.at("effective").at("baseline");
  grid.hero = hero_of(reproduction, grid.baseline);
  GridRule rule;
  rule.groups = choice.groups;
  rule.rows = choice.rows;
  std::vector<Samples> columns;
  for (const auto& checkpoint : evaluated_checkpoints(store, reproduction)) {
    if (checkpoint.split != split || checkpoint.seed != reproduction.seeds.front()) continue;
    const auto column = columns.size();
    if (checkpoint.method == grid.hero) rule.hero = column;
    if (checkpoint.method == grid.baseline) rule.baseline = column;
    const bool is_base = checkpoint.method == kBaseMethod;
    if (!is_base) rule.methods.push_back(column);
    grid.columns.push_back(
        {.title = checkpoint.method,
         .subtitle = is_base ? "starting weights" : fmt::format("checkpoint {}", checkpoint.step)});
    columns.push_back(read_samples(store, checkpoint.evaluation_id, metric));
  }
  if (reproduction.seeds.size() > 1) grid.title += fmt::format(" (seed {})", reproduction.seeds.front());
  if (columns.empty()) throw Error("the reproduction has no test evaluation", "grid", "", Status::kFailed);
  for (const auto& pick : pick_grid_rows(scores_by_prompt(columns), rule)) {
    const auto& sample = columns.front().at(pick.position);
    GridRow row{
        .position = pick.position, .target = sample.target, .prompt = sample.prompt, .group = pick.group};
    for (const auto& samples : columns) row.cells.push_back(samples.at(pick.position).cell);
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

std::map<std::string, std::string> write_grid(const Grid& grid, const fs::path& folder) {
  make_folder(folder);
  write_file_atomically(folder / "grid.png", png_bytes(render_grid(grid)));
  write_file_atomically(folder / "grid.tex", grid_latex(grid, "grid.png"));
  write_file_atomically(folder / "grid.html", grid_html(grid, folder));
  std::map<std::string, std::string> paths;
  for (const char* name : {"grid.png", "grid.tex", "grid.html"}) paths[name] = (folder / name).string();
  return paths;
}

}  // namespace harness
