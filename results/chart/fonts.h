#pragma once

#include <pango/pangocairo.h>

#include <memory>
#include <string>

namespace harness {

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
