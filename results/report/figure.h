#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace harness {

/// One point with the range that a band or bar shows; low = high = y: none.
struct FigurePoint {
  double x = 0, y = 0, low = 0, high = 0;
};

/// How a series is drawn: a prediction as a line with a band, a measurement as marks with bars.
enum class SeriesKind { kLine, kMarks };

/// Told apart by colour, and without colour by dash and mark.
enum class SeriesStyle { kFirst, kSecond, kThird };

struct FigureSeries {
  std::string label;
  SeriesKind kind = SeriesKind::kLine;
  SeriesStyle style = SeriesStyle::kFirst;
  std::vector<FigurePoint> points;
};

struct FigurePanel {
  std::string title, x_label, y_label;
  bool log_y = false;
  std::vector<FigureSeries> series;
};

/// Panels side by side, with what a reader needs to judge them beneath.
struct Figure {
  std::string name;  ///< of its files
  std::vector<FigurePanel> panels;
  std::vector<std::string> notes;
};

/// The gnuplot script that draws the figure to `file` as "svg", "pdf" or "png".
std::string figure_script(const Figure& figure, const std::string& format, const std::filesystem::path& file);

/// Writes FOLDER/NAME.{svg,pdf,png} with gnuplot. Returns name -> path. Throws Error if gnuplot is missing or
/// fails.
std::map<std::string, std::string> write_figure(const Figure& figure, const std::filesystem::path& folder);

}  // namespace harness
