#pragma once

#include <string>
#include <string_view>

#include "core/image.h"
#include "results/chart/canvas.h"

namespace harness {

struct TextStyle {
  double size = 16;  ///< pixels, in a PDF points
  bool bold = false;
  Color color{};
  PangoAlignment align = PANGO_ALIGN_LEFT;
  int max_lines = 1;  ///< what does not fit ends in an ellipsis; 0: as many as needed
};

/// A page of known width that grows downwards while it is drawn on (Cairo recording surface, Pango text).
class GridCanvas {
 public:
  static constexpr int kMaxSide = 32767;  ///< pixels of an image: Cairo's limit

  explicit GridCanvas(std::string font = "DejaVu Sans");

  /// Draws text in a box of `width` pixels; its height in whole pixels, so that what follows stays on the
  /// grid of pixels. `markup` is Pango markup; markup_text() makes it from plain text.
  double text(const std::string& markup, double x, double y, double width, const TextStyle& style);
  void picture(const Image& image, double x, double y, double width, double height);
  void frame(double x, double y, double width, double height, Color color);
  void line(double x, double y, double width, Color color);

  /// The page on white. Throws Error if Cairo cannot hold it.
  Image finish(int width, int height);
  /// The page as a PDF of this size in points: texts are texts, images are embedded as they are. Equal pages
  /// give equal bytes on one machine.
  std::string finish_pdf(double width, double height, const std::string& title);

 private:
  std::string font_;
  CairoSurface surface_;
  CairoContext context_;
};

/// Plain text as Pango markup. Control characters become blanks.
std::string markup_text(std::string_view text);

}  // namespace harness
