#pragma once

#include <cairo.h>
#include <pango/pangocairo.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace harness {

struct DestroyDrawing {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* cairo) const { cairo_destroy(cairo); }
  void operator()(PangoLayout* layout) const { g_object_unref(layout); }
};
template <class T>
using Owned = std::unique_ptr<T, DestroyDrawing>;

/// Without a text; `em`: in pixels.
inline Owned<PangoLayout> layout_in_font(cairo_t* cairo, const char* font, double em) {
  Owned<PangoLayout> layout(pango_cairo_create_layout(cairo));
  PangoFontDescription* description = pango_font_description_from_string(font);
  pango_font_description_set_absolute_size(description, em * PANGO_SCALE);
  pango_layout_set_font_description(layout.get(), description);
  pango_font_description_free(description);
  return layout;
}

using Colour = std::array<double, 3>;  ///< red, green, blue, 0 to 1

inline Colour from_hsv(double h, double s, double v) {
  Colour rgb;
  for (std::size_t i = 0; i < 3; ++i) {
    const double k = std::fmod(5 - 2 * static_cast<double>(i) + h * 6, 6);
    rgb[i] = v - v * s * std::clamp(std::min(k, 4 - k), 0.0, 1.0);
  }
  return rgb;
}

}  // namespace harness
