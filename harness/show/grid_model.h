#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/read/experiments.h"
#include "results/chart/figure.h"
#include "results/grid/grid.h"
#include "results/table/notation.h"

namespace harness {

/// Where an evaluation's files are (run_folder_now).
std::filesystem::path evaluation_folder(Store& store, const StoredEvaluation& evaluation);

/// The method that grids and reports are about: the table's last that is not the baseline, if there is one.
std::string highlighted_method(const Experiment& experiment);

/// What a grid shows: groups in order, and how many rows in all.
struct GridChoice {
  std::vector<GridGroup> groups = {};    ///< empty: the table's own
  std::optional<std::size_t> rows = {};  ///< unset: the table's own, or of the paper's gallery alone all
};

/// Prompts of the table's split chosen by rule, a column for the base model and each method (the first
/// seed). Throws Error if an evaluation lacks a sample, or the split the paper's gallery.
Grid make_grid(Store& store, const Experiment& experiment, const GridChoice& choice);

/// Its columns and sentences with methods named so.
void rename(const DisplayNames& names, Grid& grid);

/// "grid"; with a choice of one's own "grid-wins-failures-12", so that the table's grid stays.
std::string grid_stem(const GridChoice& choice);

/// How images are put into a page.
struct ReportImages {
  int longest = 256;      ///< pixels of the longer side
  bool lossless = false;  ///< the files themselves
};

/// The data URI is of a JPEG with full colours, shrunk to `longest` pixels where the image is larger; or of
/// the file's own bytes (PNG), where they are fewer or asked for. The size is that of the file's image.
/// Throws Error if it cannot be read, has another checksum, is no PNG, or is larger than its pixels can need.
EmbeddedImage embedded_image(const std::filesystem::path& file, const std::string& sha256,
                             const ReportImages& images);

/// How a grid is written.
struct GridFiles {
  std::string stem = "grid";
  FigureWidth width = {};  ///< of the PDF
  /// Of a grid that is too wide for them no PDF and LaTeX, and no PNG, rather than an Error.
  bool may_lack_page = false;
  bool bare = false;  ///< the PNG without title, caption and signature, as the PDF always is
  DisplayNames names = DisplayNames{};  ///< in PDF, LaTeX and the bare PNG
};

/// STEM.png, STEM.pdf, STEM.html and STEM-float.tex in `folder`; gives their paths by name.
std::map<std::string, std::string> write_grid(const Grid& grid, const std::filesystem::path& folder,
                                              const GridFiles& files = {});

}  // namespace harness
