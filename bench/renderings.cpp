#include "bench/renderings.h"

#include <stdexcept>

#include "bench/drawing.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr int kWidth = 96, kHeight = 48, kColumns = 12, kRows = 3, kCellWidth = 8, kCellHeight = 16;
constexpr int kOversampling = 4;
constexpr double kBaseline = 0.76;  // of a cell's height

constexpr std::array<const char*, kFonts> kFontNames{"DejaVu Sans Mono", "DejaVu Sans Mono Bold",
                                                     "Liberation Mono", "Liberation Mono Bold",
                                                     "DejaVu Sans Mono Oblique"};

/// Greedy wrap at blanks; empty if a word or the whole does not fit.
std::vector<std::string> wrap(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& word : split(text, ' ')) {
    if (word.empty()) continue;
    if (word.size() > columns) return {};
    if (lines.empty() || lines.back().size() + 1 + word.size() > columns) {
      lines.push_back(word);
    } else {
      lines.back() += ' ' + word;
    }
  }
  return lines;
}

/// The narrowest wrap that takes no more lines than the full width does.
std::vector<std::string> balanced_lines(const std::string& text) {
  auto lines = wrap(text, kColumns);
  if (lines.empty() || lines.size() > kRows) throw std::invalid_argument("the text does not fit: " + text);
  for (std::size_t columns = 1; columns < kColumns; ++columns) {
    const auto narrow = wrap(text, columns);
    if (!narrow.empty() && narrow.size() == lines.size()) return narrow;
  }
  return lines;
}

/// Coverage of the ink, 0 to 1, kWidth x kHeight.
std::vector<double> ink_of(const std::vector<std::string>& lines, int font) {
  const int width = kWidth * kOversampling, height = kHeight * kOversampling;
  const Owned<cairo_surface_t> surface(cairo_image_surface_create(CAIRO_FORMAT_A8, width, height));
  const Owned<cairo_t> cairo(cairo_create(surface.get()));
  // All these fonts advance by about 0.6 em.
  const auto layout = layout_in_font(cairo.get(), kFontNames[static_cast<std::size_t>(font)],
                                     kCellWidth * kOversampling / 0.602);
  int row = lines.size() == 1 ? 1 : 0;
  for (const std::string& line : lines) {
    const int column = (kColumns - static_cast<int>(line.size())) / 2;
    pango_layout_set_text(layout.get(), line.c_str(), -1);
    const double baseline = static_cast<double>(pango_layout_get_baseline(layout.get())) / PANGO_SCALE;
    cairo_move_to(cairo.get(), column * kCellWidth * kOversampling,
                  (row + kBaseline) * kCellHeight * kOversampling - baseline);
    pango_cairo_show_layout(cairo.get(), layout.get());
    ++row;
  }
  cairo_surface_flush(surface.get());
  const unsigned char* data = cairo_image_surface_get_data(surface.get());
  const int stride = cairo_image_surface_get_stride(surface.get());
  std::vector<double> ink(kWidth * kHeight);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      ink[static_cast<std::size_t>(y / kOversampling * kWidth + x / kOversampling)] +=
          data[y * stride + x] / (255.0 * kOversampling * kOversampling);
    }
  }
  return ink;
}

}  // namespace

Image render_text(const std::string& text, int font, int palette, double fade) {
  const auto coverage = ink_of(balanced_lines(text), font);
  const double hue = palette / 16.0, other = std::fmod(hue + 0.4, 1);
  const bool light = palette % 2 == 0;
  const Colour ink = light ? from_hsv(hue, .8, .30) : from_hsv(hue, .25, 1);
  const Colour top = light ? from_hsv(other, .18, 1) : from_hsv(other, .75, .18);
  const Colour bottom = light ? from_hsv(other, .30, .94) : from_hsv(other, .7, .36);
  Image image{kWidth, kHeight, {}};
  for (int y = 0; y < kHeight; ++y) {
    const double down = y / (kHeight - 1.0);
    for (int x = 0; x < kWidth; ++x) {
      const double alpha = fade * coverage[static_cast<std::size_t>(y * kWidth + x)];
      for (std::size_t c = 0; c < 3; ++c) {
        const double background = top[c] * (1 - down) + bottom[c] * down;
        image.rgb.push_back(
            static_cast<std::uint8_t>(std::lround(255 * (background * (1 - alpha) + ink[c] * alpha))));
      }
    }
  }
  return image;
}

}  // namespace harness
