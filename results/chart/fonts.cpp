#include "results/chart/fonts.h"

#include <pango/pangocairo.h>

#include "core/error.h"

namespace harness {

void require_fonts(const std::string& what) {
  // Pango lists families that are names alone where there is no font.
  auto* map = pango_cairo_font_map_get_default();
  auto* context = pango_font_map_create_context(map);
  auto* wanted = pango_font_description_from_string("Sans 10");
  auto* font = pango_font_map_load_font(map, context, wanted);
  pango_font_description_free(wanted);
  g_object_unref(context);
  if (font != nullptr) return g_object_unref(font);
  throw Error("this machine has no fonts, so that no text can be drawn", what,
              "install some (apt-get install fonts-dejavu-core fonts-liberation) and repeat the command",
              Status::kFailed);
}

}  // namespace harness
