#pragma once

#include <pango/pangocairo.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace harness {

// Cairo and Pango, as charts and grids use them.

/// Frees what Cairo made.
struct CairoRelease {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
using CairoSurface = std::unique_ptr<cairo_surface_t, CairoRelease>;
using CairoContext = std::unique_ptr<cairo_t, CairoRelease>;

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
};
void set_color(cairo_t* context, Color color, double opacity = 1);

/// Throws Error (where: `what` is drawn) if something could not be.
void require_drawn(cairo_t* context, const char* what);

/// A PDF of one page of this size in points, on which `draw` draws. It holds no time, so that equal pages
/// give equal bytes on one machine. Throws Error as require_drawn.
std::string pdf_page(double width, double height, const std::string& title, const char* what,
                     const std::function<void(cairo_t*)>& draw);

/// Takes what Cairo writes into the std::string that `bytes` points to.
cairo_status_t append_bytes(void* bytes, const unsigned char* data, unsigned int size);

/// Throws Error where the system has no font at all: text would have no size. what: that cannot be drawn.
void require_fonts(const std::string& what);

struct PangoRelease {
  void operator()(void* object) const { g_object_unref(object); }
  void operator()(PangoFontDescription* font) const { pango_font_description_free(font); }
};
using TextLayout = std::unique_ptr<PangoLayout, PangoRelease>;

/// Pango markup in the first of `families` that there is; unhinted, so that the same text takes the same
/// place everywhere. size: in the context's units.
TextLayout text_layout(cairo_t* context, const std::string& markup, const std::string& families, double size,
                       bool bold);

}  // namespace harness
