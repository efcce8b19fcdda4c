#include "evaluators/bench/renderings.h"

#include <cairo.h>
#include <pango/pangocairo.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "core/text.h"

namespace harness {
namespace {

constexpr int kWidth = 96, kHeight = 48, kColumns = 12, kRows = 3, kCellWidth = 8, kCellHeight = 16;
constexpr int kOversampling = 4;
constexpr double kBaseline = 0.76;  // of a cell's height

constexpr std::array<const char*, kFonts> kFontNames{"DejaVu Sans Mono", "DejaVu Sans Mono Bold",
                                                     "Liberation Mono", "Liberation Mono Bold",
                                                     "DejaVu Sans Mono Oblique"};

using Colour = std::array<double, 3>;

Colour from_hsv(double h, double s, double v) {
  Colour rgb;
  for (int i = 0; i < 3; ++i) {
    const double k = std::fmod(5 - 2 * i + h * 6, 6);
    rgb[static_cast<std::size_t>(i)] = v - v * s * std::clamp(std::min(k, 4 - k), 0.0, 1.0);
  }
  return rgb;
}

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

struct Unref {
  void operator()(void* object) const { g_object_unref(object); }
};

/// Coverage of the ink, 0 to 1, kWidth x kHeight.
std::vector<double> ink_of(const std::vector<std::string>& lines, int font) {
  const int width = kWidth * kOversampling, height = kHeight * kOversampling;
  cairo_surface_t* surface = cairo_image_surface_create(CAIRO_FORMAT_A8, width, height);
  cairo_t* cairo = cairo_create(surface);
  {
    const std::unique_ptr<PangoLayout, Unref> layout(pango_cairo_create_layout(cairo));
    PangoFontDescription* description =
        pango_font_description_from_string(kFontNames[static_cast<std::size_t>(font)]);
    // All these fonts advance by about 0.6 em.
    pango_font_description_set_absolute_size(description, kCellWidth * kOversampling / 0.602 * PANGO_SCALE);
    pango_layout_set_font_description(layout.get(), description);
    pango_font_description_free(description);
    int row = lines.size() == 1 ? 1 : 0;
    for (const std::string& line : lines) {
      const int column = (kColumns - static_cast<int>(line.size())) / 2;
      pango_layout_set_text(layout.get(), line.c_str(), -1);
      const double baseline = static_cast<double>(pango_layout_get_baseline(layout.get())) / PANGO_SCALE;
      cairo_move_to(cairo, column * kCellWidth * kOversampling,
                    (row + kBaseline) * kCellHeight * kOversampling - baseline);
      pango_cairo_show_layout(cairo, layout.get());
      ++row;
    }
  }
  cairo_surface_flush(surface);
  const unsigned char* data = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  std::vector<double> ink(kWidth * kHeight);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      ink[static_cast<std::size_t>(y / kOversampling * kWidth + x / kOversampling)] +=
          data[y * stride + x] / (255.0 * kOversampling * kOversampling);
    }
  }
  cairo_destroy(cairo);
  cairo_surface_destroy(surface);
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
