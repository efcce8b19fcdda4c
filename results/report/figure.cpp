#include "results/report/figure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "core/processes/process.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr double kPanelInches = 3.6, kHeightInches = 3.3, kNoteInches = 0.17;
constexpr int kNoteWidth = 56;  // characters that fit beneath one panel

/// In single quotes nothing but the quote is special to gnuplot; enhanced text is off.
std::string gnuplot_text(std::string text) {
  boost::replace_all(text, "'", "''");
  std::ranges::replace(text, '\n', ' ');
  return "'" + text + "'";
}

struct Look {
  const char *colour, *band;
  int dash, mark;
};

/// In the order of SeriesStyle.
constexpr Look kLooks[] = {{"#1b4f8a", "#c9d8ea", 1, 7},   // solid, filled circle
                           {"#b4531a", "#f0d9c9", 2, 4},   // dashed, open square
                           {"#3c7a3c", "#d3e5d3", 4, 8}};  // dash-dot, open triangle

/// Words in lines of at most `width` characters.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const auto& word : split(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::vector<std::string> note_lines(const Figure& figure) {
  std::vector<std::string> lines;
  for (const auto& note : figure.notes) {
    for (auto& line : wrapped(note, kNoteWidth * figure.panels.size())) lines.push_back(std::move(line));
  }
  return lines;
}

std::string terminal(const std::string& format, double width, double height) {
  constexpr const char* kFont = "font 'DejaVu Sans,9'";
  if (format == "svg") {
    return fmt::format(
        "set terminal svg size {:.0f},{:.0f} noenhanced background 'white' font 'DejaVu Sans,12'", width * 96,
        height * 96);
  }
  if (format == "pdf")
    return fmt::format("set terminal pdfcairo size {:.2f}in,{:.2f}in noenhanced {}", width, height, kFont);
  if (format == "png") {
    return fmt::format(
        "set terminal pngcairo size {:.0f},{:.0f} noenhanced fontscale 2 linewidth 2 pointscale 1.6 {}",
        width * 200, height * 200, kFont);
  }
  throw Error(fmt::format("unknown format \"{}\"", format), "figure", "it is svg, pdf or png");
}

/// On a logarithmic axis there is no place for values that are not positive.
std::vector<FigurePoint> drawable(const FigureSeries& series, bool log_y) {
  auto points = series.points;
  if (!log_y) return points;
  std::erase_if(points, [](const FigurePoint& point) { return !(point.y > 0); });
  for (auto& point : points) {
    if (!(point.low > 0)) point.low = point.y;  // a bar that would reach below the axis has no lower end
  }
  return points;
}

std::string data_block(const std::vector<FigurePoint>& points, const std::string& name) {
  std::string out = fmt::format("${} << EOD\n", name);
  for (const auto& point : points)
    out += fmt::format("{} {} {} {}\n", point.x, point.y, point.low, point.high);
  return out + "EOD\n";
}

/// The plot commands of a panel's series. What is drawn later lies on top: bands, then lines, then marks.
struct PlotCommands {
  std::vector<std::string> bands, lines, marks;

  std::string joined() const {
    auto all = bands;
    all.insert(all.end(), lines.begin(), lines.end());
    all.insert(all.end(), marks.begin(), marks.end());
    return join(all, ", \\\n     ");
  }
};

void add_plots(const FigureSeries& series, const std::string& name, PlotCommands& commands) {
  const auto& look = kLooks[static_cast<int>(series.style)];
  if (series.kind == SeriesKind::kMarks) {
    commands.marks.push_back(
        fmt::format("${} using 1:2:3:4 with yerrorbars pointtype {} pointsize 0.7 linewidth 1.2 linecolor "
                    "rgb '{}' title {}",
                    name, look.mark, look.colour, gnuplot_text(series.label)));
    return;
  }
  commands.bands.push_back(
      fmt::format("${} using 1:3:4 with filledcurves fillcolor rgb '{}' fillstyle solid noborder notitle",
                  name, look.band));
  commands.lines.push_back(
      fmt::format("${} using 1:2 with lines linewidth 1.6 dashtype {} linecolor rgb '{}' title {}", name,
                  look.dash, look.colour, gnuplot_text(series.label)));
}

/// Lets gnuplot draw into the file `aside`, which `file` shall become.
void draw(const std::string& script, const fs::path& aside, const fs::path& file) {
  const auto input = memory_file(script);
  ExitStatus status;
  try {
    status = Process({"gnuplot"}, {.in = input.get()}).wait();
  } catch (const Error& error) {
    throw Error("gnuplot " + error.problem(), file.string(), "it is in the package gnuplot-nox",
                Status::kFailed);
  }
  if (status.ok() && fs::exists(aside)) return;
  std::error_code ignored;
  fs::remove(aside, ignored);
  throw Error("gnuplot failed; its message is above", file.string(), {}, Status::kFailed);
}

}  // namespace

std::string figure_script(const Figure& figure, const std::string& format, const fs::path& file) {
  const auto notes = note_lines(figure);
  const auto count = figure.panels.size();
  const double foot = kNoteInches * static_cast<double>(notes.size()) + 0.1;
  const double width = kPanelInches * static_cast<double>(count), height = kHeightInches + foot;
  std::string out =
      terminal(format, width, height) + fmt::format("\nset output {}\n", gnuplot_text(file.string()));
  out += "set encoding utf8\nset border 3 linewidth 0.8\nset tics nomirror out scale 0.5\n";
  out +=
      "set grid ytics linecolor rgb '#dddddd' linewidth 0.5\nset key below center horizontal reverse Left "
      "maxrows 2 height 0.5 samplen 2.5 spacing 1.05\n";
  for (std::size_t i = 0; i < notes.size(); ++i) {
    out += fmt::format("set label {} {} at screen 0.012,{:.4f} left front\n", i + 1, gnuplot_text(notes[i]),
                       (foot - 0.1 - kNoteInches * static_cast<double>(i)) / height);
  }
  out += "set multiplot\n";
  for (std::size_t i = 0; i < count; ++i) {
    const auto& panel = figure.panels[i];
    PlotCommands commands;
    std::vector<double> steps;
    for (std::size_t j = 0; j < panel.series.size(); ++j) {
      for (const auto& point : panel.series[j].points) steps.push_back(std::floor(point.x + 0.5));
      const auto points = drawable(panel.series[j], panel.log_y);
      if (points.empty()) continue;
      const auto name = fmt::format("p{}s{}", i, j);
      out += data_block(points, name);
      add_plots(panel.series[j], name, commands);
    }
    if (commands.joined().empty()) throw Error("has no data", "figure " + figure.name, {}, Status::kFailed);
    out += fmt::format("set origin {:.4f},{:.4f}\nset size {:.4f},{:.4f}\n",
                       static_cast<double>(i) / static_cast<double>(count), foot / height,
                       1.0 / static_cast<double>(count), kHeightInches / height);
    out += fmt::format("set title {}\nset xlabel {}\nset ylabel {} offset 0.5,0\n", gnuplot_text(panel.title),
                       gnuplot_text(panel.x_label), gnuplot_text(panel.y_label));
    out += panel.log_y ? "set logscale y\nset format y '%.0e'\n" : "unset logscale y\nset format y '%.2g'\n";
    const auto [first, last] = std::ranges::minmax(steps);
    out += fmt::format("set xtics 1\nset xrange [{}:{}]\nplot ", first - 0.4, last + 0.4) +
           commands.joined() + "\n";
    if (i == 0) out += "unset label\n";
  }
  return out + "unset multiplot\n";
}

std::map<std::string, std::string> write_figure(const Figure& figure, const fs::path& folder) {
  make_folder(folder);
  std::map<std::string, std::string> paths;
  for (const std::string format : {"svg", "pdf", "png"}) {
    const auto file = folder / fmt::format("{}.{}", figure.name, format);
    auto aside = file;
    aside += fmt::format(".tmp{}", ::getpid());
    draw(figure_script(figure, format, aside), aside, file);
    fs::rename(aside, file);
    paths[file.filename().string()] = file.string();
  }
  return paths;
}

}  // namespace harness
