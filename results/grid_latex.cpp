#include <fmt/format.h>

#include "results/grid.h"
#include "results/markup.h"

namespace harness {

std::string grid_latex(const Grid& grid, const std::string& png) {
  return latex_file(
      {"graphicx"},
      fmt::format(
          "\\begin{{figure}}[htbp]\n\\centering\n"
          "\\includegraphics[width=\\linewidth,height=0.85\\textheight,keepaspectratio]{{{}}}\n"
          "\\caption{{{}. {} {{\\scriptsize Signature: {}}}}}\n\\label{{fig:grid}}\n\\end{{figure}}\n",
          png, latex_text(grid.title), latex_text(grid_caption(grid)), latex_text(grid.signature)));
}

}  // namespace harness
