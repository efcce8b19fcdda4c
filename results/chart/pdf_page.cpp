#include "results/chart/pdf_page.h"

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

}  // namespace harness
