#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "results/chart/chart.h"
#include "results/chart/forest.h"

namespace harness {

/// Centimetres of a figure's width.
struct FigureWidth {
  double cm = 16.5;

  double points() const { return cm / 2.54 * 72; }
  /// Too wide for one column of a page with two.
  bool is_wide() const { return cm > 10; }
};

/// "single" and "double": one column and both of a two-column page (8 cm, 16.5 cm), or a number of
/// centimetres from 5 to 60. Throws Error (status 2, at --width) for anything else.
FigureWidth figure_width(const std::string& text);

/// Charts or forests that belong together, with what a caption says of them. Names are in notation.
struct Figure {
  std::string name;  ///< of its files
  std::string title = {};
  std::vector<Chart> charts = {};
  std::vector<Forest> forests = {};
  std::vector<std::string> notes = {};
  bool small = false;  ///< many small panels, whose axes the title names
};

/// The figure at a width: panels in rows, a legend above them where series have names. Letters have the same
/// size at every width. Throws Error if it has no data.
Drawing figure_drawing(const Figure& figure, FigureWidth width);

/// A LaTeX figure around `picture`, which lies beside it in `folder` (as seen from the document that takes it
/// in); across both columns where it is too wide for one, and smaller where it and its caption are too much
/// for the document's page. Compiles on its own where it is, too, under another name than the picture,
/// which it would replace.
struct LatexFigure {
  std::string picture, folder, label;
  std::string caption;  ///< LaTeX
  bool wide = false;
};
std::string latex_figure(const LatexFigure& figure);

/// Writes FOLDER/NAME.{pdf,svg,png} and NAME-float.tex. Returns name -> path.
std::map<std::string, std::string> write_figure(const Figure& figure, FigureWidth width,
                                                const std::filesystem::path& folder);

}  // namespace harness
