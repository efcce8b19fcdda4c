#include "results/chart/fonts.h"

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

TextLayout text_layout(cairo_t* context, const std::string& markup, const std::string& families, double size,
                       bool bold) {
  TextLayout layout(pango_cairo_create_layout(context));
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  pango_cairo_context_set_font_options(pango_layout_get_context(layout.get()), options);
  cairo_font_options_destroy(options);
  const std::unique_ptr<PangoFontDescription, PangoRelease> font(
      pango_font_description_from_string(families.c_str()));
  pango_font_description_set_absolute_size(font.get(), size * PANGO_SCALE);
  if (bold) pango_font_description_set_weight(font.get(), PANGO_WEIGHT_BOLD);
  pango_layout_set_font_description(layout.get(), font.get());
  pango_layout_set_markup(layout.get(), markup.data(), static_cast<int>(markup.size()));
  return layout;
}

}  // namespace harness
