#include "results/chart/canvas.h"

#include <cairo/cairo-pdf.h>

#include "core/error.h"

namespace harness {

void set_color(cairo_t* context, Color color, double opacity) {
  cairo_set_source_rgba(context, color.red / 255.0, color.green / 255.0, color.blue / 255.0, opacity);
}

void require_drawn(cairo_t* context, const char* what) {
  if (const auto status = cairo_status(context); status != CAIRO_STATUS_SUCCESS)
    throw Error(cairo_status_to_string(status), what, "", Status::kFailed);
}

cairo_status_t append_bytes(void* bytes, const unsigned char* data, unsigned int size) {
  static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), size);
  return CAIRO_STATUS_SUCCESS;
}

std::string pdf_page(double width, double height, const std::string& title, const char* what,
                     const std::function<void(cairo_t*)>& draw) {
  std::string bytes;
  const CairoSurface page(cairo_pdf_surface_create_for_stream(append_bytes, &bytes, width, height));
  cairo_pdf_surface_set_metadata(page.get(), CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
  cairo_pdf_surface_set_metadata(page.get(), CAIRO_PDF_METADATA_TITLE, title.c_str());
  CairoContext context(cairo_create(page.get()));
  draw(context.get());
  cairo_show_page(context.get());
  require_drawn(context.get(), what);
  context.reset();
  cairo_surface_finish(page.get());
  return bytes;
}

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
