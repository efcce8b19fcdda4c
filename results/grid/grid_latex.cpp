#include <fmt/format.h>

#include "results/grid/grid.h"
#include "results/table/markup.h"

namespace harness {
namespace {

/// The picture beside the file when this is compiled where it stands; under `folder` when a document that
/// lies where harness ran takes it in.
std::string include_picture(const std::string& png, const std::string& folder) {
  constexpr std::string_view kOptions = "width=\\linewidth,height=0.6\\textheight,keepaspectratio";
  const auto beside = fmt::format("\\includegraphics[{}]{{{}}}", kOptions, png);
  constexpr std::string_view kSpecial = "#%&{}\\^~$ ";
  if (folder.empty() || folder.find_first_of(kSpecial) != std::string::npos) return beside + "\n";
  const auto below = fmt::format("{}/{}", folder, png);
  return fmt::format("\\IfFileExists{{{0}}}{{\\includegraphics[{1}]{{{0}}}}}{{{2}}}\n", below, kOptions,
                     beside);
}

}  // namespace

std::string grid_latex(const Grid& grid, const std::string& png, const std::string& folder) {
  return latex_file(
      {"graphicx"},
      fmt::format(
          "\\begin{{figure}}[htbp]\n\\centering\n{}"
          "\\caption{{{}. {} {{\\scriptsize Signature: {}}}}}\n\\label{{fig:grid}}\n\\end{{figure}}\n",
          include_picture(png, folder), latex_text(grid.title), latex_text(grid_caption(grid)),
          latex_text(grid.signature)));
}

}  // namespace harness
