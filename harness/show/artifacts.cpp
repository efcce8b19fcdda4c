#include "harness/show/artifacts.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/streams.h"
#include "harness/show/figures.h"
#include "harness/show/grid_model.h"
#include "results/store/rows.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// True if all `required` (a figure is not) were recorded, and all that was is in the folder with its bytes.
bool all_intact(const std::map<std::string, std::string>& recorded, const fs::path& folder,
                const std::vector<std::string>& required) {
  return std::ranges::all_of(required, [&](const auto& name) { return recorded.contains(name); }) &&
         std::ranges::all_of(recorded, [&](const auto& file) {
           return fs::exists(folder / file.first) && sha256_file(folder / file.first) == file.second;
         });
}

/// Paths by name. A result stands without its figure: a run whose policy never moved has none.
std::map<std::string, std::string> draw(Store& store, const Experiment& experiment, const std::string& figure,
                                        const fs::path& folder) {
  try {
    return write_figure(make_figure(store, experiment, {.name = figure}), figure_width("double"), folder);
  } catch (const Error& error) {
    tell("note: figure {} was not drawn: {}\n", figure, error.what());
    return {};
  }
}

void write_formats(const fs::path& folder, TableModel& model) {
  for (const auto& format : table_formats()) model.artifacts[format.file] = (folder / format.file).string();
  for (const auto& format : table_formats())
    write_file_atomically(folder / format.file, format.render(model));
}

}  // namespace

void write_tables(const fs::path& folder, TableModel& whole) {
  make_folder(folder);
  write_formats(folder, whole);
}

std::optional<std::int64_t> experiment_in(Store& store, const fs::path& folder) {
  const auto file = folder / "table.json";
  if (!fs::exists(file)) return std::nullopt;
  return rows_of<std::optional<std::int64_t>>(
             store, "SELECT max(reproduction_id) FROM artifacts WHERE name = 'table.json' AND sha256 = ?1",
             sha256_file(file))
      .front();
}

void write_artifacts(Store& store, const Experiment& experiment, const fs::path& folder, TableModel& model) {
  const bool has_images = !experiment.is_training();
  std::vector<std::string> required;
  if (has_images) required = {"grid.png", "grid.tex", "grid.html"};
  for (const auto& format : table_formats()) required.push_back(format.file);
  std::map<std::string, std::string> recorded;  // checksums
  for (const auto& [name, sha256] : rows_of<std::string, std::string>(
           store, "SELECT name, sha256 FROM artifacts WHERE reproduction_id = ?1", experiment.id))
    recorded[name] = sha256;
  model.artifacts.clear();
  if (all_intact(recorded, folder, required)) {
    for (const auto& [name, sha256] : recorded) model.artifacts[name] = (folder / name).string();
    return;
  }
  make_folder(folder);
  if (has_images) model.artifacts = write_grid(make_grid(store, experiment, {}), folder);
  for (const auto& figure : figures_of(experiment))
    model.artifacts.merge(draw(store, experiment, figure, folder));
  write_formats(folder, model);
  for (const auto& [name, path] : model.artifacts)
    store.record_artifact({.reproduction_id = experiment.id,
                           .table_id = experiment.table_id,
                           .name = name,
                           .path = path,
                           .sha256 = sha256_file(path)});
}

}  // namespace harness
