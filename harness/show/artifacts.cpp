#include "harness/show/artifacts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/streams.h"
#include "harness/show/figures.h"
#include "harness/show/grid_model.h"
#include "harness/workspace/workspace.h"

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

/// True where a link replaces nothing: there is no such file, or it is a link to an experiment's folder.
bool is_free(const fs::path& link) {
  const auto status = fs::symlink_status(link);
  if (!fs::exists(status)) return true;
  return fs::is_symlink(status) && fs::read_symlink(link).parent_path() == kExperimentsFolder;
}

std::optional<Experiment> linked_experiment(Store& store, const fs::path& link) {
  if (!fs::is_symlink(link)) return std::nullopt;
  const auto name = fs::read_symlink(link).filename().string();
  for (auto& record : store.reproductions()) {
    if (fmt::format("{}-{}", record.id, record.table_id) == name) return Experiment(std::move(record));
  }
  return std::nullopt;
}

/// What must be there; figures need not.
std::vector<std::string> required_files(const Experiment& experiment) {
  std::vector<std::string> required;
  const auto columns = experiment.methods.size() + (experiment.table.has_base ? 1 : 0);
  if (!experiment.is_training()) required = {"grid.html"};
  if (!experiment.is_training() && fits_picture(columns)) required.emplace_back("grid.png");
  if (!experiment.is_training() && fits_width(columns, FigureWidth().points()))
    required.insert(required.end(), {"grid.pdf", "grid-float.tex"});
  for (const auto& format : table_formats()) required.push_back(format.file);
  return required;
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
  auto written = model;  // table.json names files from where it is
  for (auto& [name, path] : written.artifacts) path = fs::proximate(path, folder).string();
  for (const auto& format : table_formats())
    write_file_atomically(folder / format.file, format.render(written));
}

}  // namespace

void write_tables(const fs::path& folder, TableModel& whole) {
  make_folder(folder);
  write_formats(folder, whole);
}

fs::path experiment_folder(const Store& store, const Experiment& experiment) {
  return store.path().parent_path() / kExperimentsFolder /
         fmt::format("{}-{}", experiment.id, experiment.table_id);
}

std::optional<std::string> link_table(Store& store, const Experiment& experiment) {
  const auto link = store.path().parent_path() / experiment.table_id;
  const auto refusal = [&](const std::string& reason) {
    return fmt::format("{} cannot be a link here ({}); the files are in {}", link.string(), reason,
                       experiment_folder(store, experiment).string());
  };
  if (!is_free(link)) return refusal("a file, folder or link of yours has its name");
  const auto linked = linked_experiment(store, link);
  if (linked && linked->id == experiment.id) return std::nullopt;
  if (linked && is_fuller(*linked, experiment))
    return fmt::format("{} still leads to experiment {}, which has more methods or seeds", link.string(),
                       linked->id);
  const auto target = fs::path(kExperimentsFolder) / fmt::format("{}-{}", experiment.id, experiment.table_id);
  auto aside = link;
  aside += fmt::format(".tmp{}", ::getpid());
  std::error_code failure;
  fs::remove(aside, failure);
  fs::create_directory_symlink(target, aside, failure);
  if (!failure) fs::rename(aside, link, failure);
  if (failure) return refusal(failure.message());
  if (!linked) return std::nullopt;
  return fmt::format("{} now leads to experiment {}; the files of experiment {} are in {}", link.string(),
                     experiment.id, linked->id, experiment_folder(store, *linked).string());
}

std::optional<std::map<std::string, std::string>> recorded_artifacts(Store& store,
                                                                     const Experiment& experiment,
                                                                     const fs::path& folder) {
  auto files = recorded_files(store, experiment);
  if (!all_intact(files, folder, required_files(experiment))) return std::nullopt;
  for (auto& [name, path] : files) path = (folder / name).string();
  return files;
}

PicturePlace picture_place(Store& store, const Experiment& experiment, const std::string& stem,
                           bool is_usual) {
  const auto folder = experiment_folder(store, experiment);
  auto recorded = recorded_files(store, experiment);
  std::erase_if(recorded, [&](const auto& file) {
    return !file.first.starts_with(stem + ".") && file.first != stem + "-float.tex";
  });
  if (recorded.empty()) return {.folder = folder};
  if (!is_usual || !all_intact(recorded, folder, {})) return {.folder = folder / "own"};
  for (auto& [name, path] : recorded) path = (folder / name).string();
  return {.folder = folder, .written = recorded};
}

std::map<std::string, std::string> write_grid(const Grid& grid, const PicturePlace& place,
                                              const GridFiles& files) {
  if (place.written.empty()) return write_grid(grid, place.folder, files);
  const auto pdf = files.stem + ".pdf";
  if (!place.written.contains(pdf)) {
    tell("note: {} columns do not fit a width of {:.1f} cm: there is no {}; a larger --width draws one\n",
         grid.columns.size(), files.width.cm, pdf);
  }
  return place.written;
}

void write_artifacts(Store& store, const Experiment& experiment, const fs::path& folder, TableModel& model) {
  const bool has_images = !experiment.is_training();
  model.artifacts.clear();
  make_folder(folder);
  if (has_images)
    model.artifacts = write_grid(make_grid(store, experiment, {}), folder, {.may_lack_page = true});
  for (const auto& figure : figures_of(experiment, model))
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
