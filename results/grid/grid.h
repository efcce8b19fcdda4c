#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/image.h"
#include "datasets/prompt.h"

namespace harness {

/// Why a prompt is shown.
enum class GridGroup { kWins, kMixed, kNearTies, kLosses, kFailures, kPaper };

/// "wins", "mixed", "near-ties", "losses", "failures", "paper".
const std::vector<std::string>& grid_group_names();

/// The group of one of these names. Throws Error with the nearest known name.
GridGroup grid_group_from_name(const std::string& name);

/// The scores of one prompt, one per column (the base model may be a column too); nothing where a scorer
/// failed.
struct PromptScores {
  int position = 0;  ///< in the whole prompt set
  std::vector<std::optional<double>> scores;
};

/// How rows are chosen. Columns are numbered from 0; higher scores are better.
struct GridRule {
  std::size_t highlighted = 0;       ///< the method that the grid is about
  std::size_t baseline = 0;          ///< the method it is held against
  std::vector<std::size_t> methods;  ///< all trained methods, including highlighted and baseline
  std::vector<GridGroup> groups{GridGroup::kWins, GridGroup::kMixed, GridGroup::kFailures};
  std::size_t rows = 9;
  std::vector<int> paper = {};        ///< positions of the paper's gallery, in its order
  std::optional<double> perfect = 1;  ///< score that is no failure; nothing for one without a highest value
};

struct GridPick {
  int position = 0;
  GridGroup group = GridGroup::kWins;
};

/// The prompts to show, by rule alone:
///   wins      highlighted above baseline: largest difference first; then its higher score
///   mixed     highlighted not above baseline, methods differ: largest spread (highest - lowest method) first
///   near-ties smallest difference between highlighted and baseline first; then its higher score
///   losses    highlighted below baseline: largest difference first; then its lower score
///   failures  every method below the perfect score: lowest best score first; then the lower mean
///   paper     the prompts of the paper's gallery, in its order, whatever their scores
/// The last tie goes to the earlier position. `rows` are shared equally over the groups, earlier groups
/// taking the remainder; what a group cannot fill goes to the next groups that can. A prompt is shown once,
/// in the first group that takes it. Prompts without a score in some method's column are no candidates.
std::vector<GridPick> pick_grid_rows(std::span<const PromptScores> prompts, const GridRule& rule);

struct GridColumn {
  std::string title, subtitle;
};

struct GridCell {
  std::filesystem::path image;            ///< PNG
  std::optional<std::string> transcript;  ///< nothing where the scorer failed
  std::optional<double> score;
  std::string reason = {};  ///< why there is no transcript or score
  std::string sha256 = {};  ///< of the image's bytes when it was scored
  /// What a rule found wrong with it, one line each; empty: nothing. Unset: it was not judged.
  std::optional<std::string> judgement = {};
};

struct GridRow {
  Prompt prompt = {};
  GridGroup group = GridGroup::kWins;
  std::vector<GridCell> cells = {};  ///< one per column

  bool is_judged() const { return prompt.target.record().has_value(); }  ///< by a rule; else words are read
};

struct Grid {
  std::string title, signature;
  std::string highlighted, baseline;  ///< names, for headings and caption
  std::string paper_rule = {};        ///< what the prompts of the paper's gallery are here
  std::string split;
  /// What the images of a row have in common, a sentence.
  std::string noise_note = "All images of a row are made from the same noise.";
  std::string score_title = "score";  ///< of the number beneath each image
  int score_decimals = 2;
  std::optional<double> perfect = 1;  ///< as in the rule
  std::vector<GridColumn> columns;
  std::vector<GridRow> rows;  ///< groups together, as picked
  std::size_t left_out = 0;   ///< further rows that were picked and do not fit the page
};

/// A heading of a group, and its rule in words.
struct GroupText {
  std::string title, rule;
};
GroupText grid_group_text(GridGroup group, const Grid& grid);

/// How a format escapes a text and marks what it is; {} is the escaped text.
struct TranscriptMarks {
  std::string (*escaped)(std::string_view);
  const char *whole, *wrong, *missing, *failed;
};

/// What stands beneath an image: the transcript against the target, or what the rule found wrong with it, or
/// why there is neither.
std::string text_beneath(const GridCell& cell, const GridRow& row, const TranscriptMarks& marks);

/// What the figure shows and how its rows were chosen, in sentences.
std::string grid_caption(const Grid& grid);

/// The figure: one row a prompt, one column a method; images upscaled by whole factors without smoothing
/// where they are small. Throws Error if an image cannot be read or is not the one that was scored, a row
/// lacks a cell, or the figure would be too large. `bare`: without title, caption and signature.
Image render_grid(const Grid& grid, bool bare = false);

/// The grid with as many of its rows as fit one page at this width in points: the last rows of its largest
/// groups are left out.
Grid fitted_to_page(Grid grid, double width);

/// Whether so many columns can be one picture (render_grid).
bool fits_picture(std::size_t columns);

/// Whether so many columns fit this width, each with room for a score beside its text.
bool fits_width(std::size_t columns, double width);

/// The same rows as a PDF of this width in points, bare: the texts are texts, and the images are embedded.
std::string grid_pdf(const Grid& grid, double width);

/// A LaTeX figure around the PDF, which lies beside it in `folder` (as seen from the document that takes it
/// in; empty: the document's own), with title, caption and signature. Compiles on its own where it is, too.
std::string grid_latex(const Grid& grid, const std::string& pdf, const std::string& folder, bool wide = true);

/// A scored image as a page holds it: a data URI, and its own size in pixels.
struct EmbeddedImage {
  std::string uri;
  int width = 0, height = 0;
};
using GridPictures = std::function<EmbeddedImage(const GridCell&)>;

/// report_page/grid.css, embedded by the build.
extern const char* const kGridStyle;

/// A page with the same rows, which needs no other file.
std::string grid_html(const Grid& grid, const GridPictures& pictures);

}  // namespace harness
