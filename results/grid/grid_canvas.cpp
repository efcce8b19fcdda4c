#include "results/grid/grid_canvas.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

#ifdef __SANITIZE_ADDRESS__
// Fontconfig keeps its caches until the process ends, which the leak checker takes for leaks.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig\n";
}
#endif

namespace harness {
namespace {

// Fonts, texts and the images of a large grid; and the room that each of Pango's threads reserves.
constexpr std::size_t kMemory = std::size_t{256} << 20;

/// GLib ends the program where it finds no memory; asked for beforehand it is an error in words.
void require_memory() {
  void* room = ::mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) {
    throw Error(
        "there is not enough memory to draw it", "grid",
        fmt::format("free {} MB or raise the limit (`ulimit -v`), then repeat the command", kMemory >> 20),
        Status::kFailed);
  }
  ::munmap(room, kMemory);
}

cairo_surface_t* make_recording() {
  require_memory();
  require_fonts("grid");
  return cairo_recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, nullptr);
}

/// Cairo's pixel format: native-endian 0x00RRGGBB.
cairo_surface_t* to_surface(const Image& image) {
  cairo_surface_t* surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, image.width, image.height);
  unsigned char* pixels = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  const std::uint8_t* from = image.rgb.data();
  for (int y = 0; y < image.height; ++y) {
    auto* row = reinterpret_cast<std::uint32_t*>(pixels + static_cast<std::ptrdiff_t>(y) * stride);
    for (int x = 0; x < image.width; ++x, from += 3) {
      row[x] = static_cast<std::uint32_t>(from[0]) << 16 | static_cast<std::uint32_t>(from[1]) << 8 | from[2];
    }
  }
  cairo_surface_mark_dirty(surface);
  return surface;
}

Image to_image(cairo_surface_t* surface) {
  cairo_surface_flush(surface);
  Image image{cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface), {}};
  const unsigned char* pixels = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  image.rgb.reserve(static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height) * 3);
  for (int y = 0; y < image.height; ++y) {
    const auto* row =
        reinterpret_cast<const std::uint32_t*>(pixels + static_cast<std::ptrdiff_t>(y) * stride);
    for (int x = 0; x < image.width; ++x) {
      for (const int shift : {16, 8, 0}) image.rgb.push_back(static_cast<std::uint8_t>(row[x] >> shift));
    }
  }
  return image;
}

}  // namespace

GridCanvas::GridCanvas(std::string font)
    : font_(std::move(font)), surface_(make_recording()), context_(cairo_create(surface_.get())) {}

double GridCanvas::text(const std::string& markup, double x, double y, double width, const TextStyle& style) {
  const auto layout = text_layout(context_.get(), markup, font_, style.size, style.bold);
  pango_layout_set_width(layout.get(), static_cast<int>(std::floor(width * PANGO_SCALE)));
  pango_layout_set_wrap(layout.get(), PANGO_WRAP_WORD_CHAR);
  pango_layout_set_alignment(layout.get(), style.align);
  if (style.max_lines > 0) {
    pango_layout_set_ellipsize(layout.get(), PANGO_ELLIPSIZE_END);
    pango_layout_set_height(layout.get(), -style.max_lines);
  }
  set_color(context_.get(), style.color);
  cairo_move_to(context_.get(), x, y);
  pango_cairo_show_layout(context_.get(), layout.get());
  int height = 0;
  pango_layout_get_size(layout.get(), nullptr, &height);
  return std::ceil(static_cast<double>(height) / PANGO_SCALE);
}

void GridCanvas::picture(const Image& image, double x, double y, double width, double height) {
  cairo_t* context = context_.get();
  const double zoom = width / image.width;
  cairo_save(context);
  cairo_rectangle(context, x, y, width, height);
  cairo_clip(context);
  cairo_translate(context, x, y);
  cairo_scale(context, zoom, height / image.height);
  cairo_surface_t* surface = to_surface(image);
  cairo_set_source_surface(context, surface, 0, 0);
  cairo_pattern_set_filter(cairo_get_source(context), zoom >= 1 ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_BEST);
  cairo_paint(context);
  cairo_surface_destroy(surface);
  cairo_restore(context);
}

void GridCanvas::frame(double x, double y, double width, double height, Color color) {
  set_color(context_.get(), color);
  cairo_set_line_width(context_.get(), 1);
  cairo_rectangle(context_.get(), x - 0.5, y - 0.5, width + 1, height + 1);
  cairo_stroke(context_.get());
}

void GridCanvas::line(double x, double y, double width, Color color) {
  set_color(context_.get(), color);
  cairo_rectangle(context_.get(), x, y, width, 1);
  cairo_fill(context_.get());
}

Image GridCanvas::finish(int width, int height) {
  if (std::max(width, height) > kMaxSide) {
    throw Error(fmt::format("a grid of {} x {} pixels is too large", width, height), "grid",
                "show fewer rows with -n");
  }
  const CairoSurface page(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height));
  const CairoContext context(cairo_create(page.get()));
  set_color(context.get(), {255, 255, 255});
  cairo_paint(context.get());
  cairo_set_source_surface(context.get(), surface_.get(), 0, 0);
  cairo_paint(context.get());
  require_drawn(context.get(), "grid");
  return to_image(page.get());
}

std::string GridCanvas::finish_pdf(double width, double height, const std::string& title) {
  return pdf_page(width, height, title, "grid", [&](cairo_t* page) {
    cairo_set_source_surface(page, surface_.get(), 0, 0);
    cairo_paint(page);
  });
}

std::string markup_text(std::string_view text) {
  std::string plain(text);
  std::ranges::replace_if(
      plain, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  const std::unique_ptr<char, decltype(&g_free)> escaped(
      g_markup_escape_text(plain.data(), static_cast<gssize>(plain.size())), g_free);
  return escaped.get();
}

}  // namespace harness
