#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "results/chart/canvas.h"
#include "results/chart/drawing.h"
#include "results/table/markup.h"
#include "results/table/notation.h"

namespace harness {
namespace {

constexpr const char* kWhat = "figure";  ///< that could not be drawn
constexpr const char* kFontFamilies = "Liberation Sans, DejaVu Sans";
constexpr double kShiftedSize = 0.86;  ///< of letters above or below the line
constexpr double kPointsAnInch = 72;

constexpr Color kInk{27, 31, 36}, kMuted{75, 84, 94}, kRule{214, 219, 224}, kWhite{255, 255, 255};
constexpr Color kBehind{196, 202, 208};  ///< lines that only show where others run
constexpr Color kGood{23, 113, 58}, kBad{179, 38, 30};
/// Of the series; dark enough on white, and distinguished by the colour-blind in this order.
constexpr Color kSeries[] = {{11, 98, 164},  {189, 82, 18}, {36, 120, 58}, {132, 72, 159}, {133, 103, 0},
                             {11, 119, 128}, {173, 43, 92}, {76, 85, 96},  {125, 135, 145}};

Color colour_of(const Look& look) {
  if (look.variant.size() == 2 && look.variant[0] == 'c') return kSeries[look.variant[1] - '0'];
  if (look.variant == "behind") return kBehind;
  if (look.variant == "better") return kGood;
  if (look.variant == "worse") return kBad;
  return kMuted;
}

/// Lengths of strokes and gaps, so that lines are distinguished without colour.
std::vector<double> dash_of(const Look& look) {
  if (look.role == Role::kGuide || look.role == Role::kZero) return {2.4, 1.8};
  if (look.role != Role::kLine || look.variant.size() != 2) return {};
  static const std::vector<double> kDashes[] = {{}, {4.2, 1.8}, {1.5, 1.5}, {5.4, 1.8, 1.2, 1.8}};
  const int color = look.variant[1] - '0';
  return color < 8 ? kDashes[color % 4] : std::vector<double>();
}

struct Style {
  std::optional<Color> fill = {}, stroke = {};
  double width = 0, opacity = 1;
};

Style style_of(const Look& look) {
  const auto own = colour_of(look);
  switch (look.role) {
    case Role::kGrid:
      return {.stroke = kRule, .width = 0.4};
    case Role::kAxis:
    case Role::kZero:
      return {.stroke = kMuted, .width = 0.6};
    case Role::kGuide:
      return {.stroke = kBad, .width = 0.6};
    case Role::kBand:
      return {.fill = own, .opacity = 0.18};
    case Role::kLine:
      return {.stroke = own, .width = look.variant == "behind" ? 0.5 : 1.1};
    case Role::kBar:
      return {.stroke = own, .width = 0.8};
    case Role::kMark:
    case Role::kEstimate:
      return {.fill = own, .stroke = kWhite, .width = 0.4};
    case Role::kRing:
      return {.stroke = own, .width = 0.9};
    case Role::kInterval:
      return {.stroke = own, .width = 1.2};
    case Role::kPrinted:
      return {.stroke = kInk, .width = 0.7};
    default:
      return {.fill = kInk};
  }
}

struct Lettering {
  double size;
  bool bold;
  Color colour;
};

Lettering lettering_of(Role role) {
  if (role == Role::kTitle) return {8, true, kInk};
  if (role == Role::kLabel) return {7.5, false, kMuted};
  const bool is_read = role == Role::kName || role == Role::kKey || role == Role::kNumbers;
  return is_read ? Lettering{7.5, false, kInk} : Lettering{7, false, kMuted};
}

std::string pango_text(const std::string& text) {
  std::string out;
  for (const auto& [piece, level] : notation_pieces(text)) {
    const auto escaped = html_text(piece);  // Pango's markup knows the same entities
    out += level == 0 ? escaped
                      : fmt::format("<span size=\"{:.0f}%\" rise=\"{}\">{}</span>", kShiftedSize * 100,
                                    level < 0 ? "-1500" : "2200", escaped);
  }
  return out;
}

TextLayout layout_of(cairo_t* context, const Words& words) {
  const auto [size, bold, colour] = lettering_of(words.look.role);
  return text_layout(context, pango_text(words.text), kFontFamilies, size, bold);
}

double width_of(PangoLayout* layout) {
  int width = 0;
  pango_layout_get_size(layout, &width, nullptr);
  return static_cast<double>(width) / PANGO_SCALE;
}

void draw(cairo_t* context, const Shape& shape) {
  const auto style = style_of(shape.look);
  cairo_new_path(context);
  if (shape.radius > 0) {
    const auto [x, y] = shape.spots.front();
    cairo_arc(context, x, y, shape.radius, 0, 2 * M_PI);
    cairo_close_path(context);
  }
  for (std::size_t i = 0; i < shape.spots.size() && shape.radius == 0; ++i)
    (i == 0 ? cairo_move_to : cairo_line_to)(context, shape.spots[i].x, shape.spots[i].y);
  if (shape.closed) cairo_close_path(context);
  if (style.fill) {
    set_color(context, *style.fill, style.opacity);
    style.stroke ? cairo_fill_preserve(context) : cairo_fill(context);
  }
  if (!style.stroke) return;
  set_color(context, *style.stroke, style.opacity);
  cairo_set_line_width(context, style.width);
  cairo_set_line_join(context, CAIRO_LINE_JOIN_ROUND);
  const auto dash = dash_of(shape.look);
  cairo_set_dash(context, dash.data(), static_cast<int>(dash.size()), 0);
  cairo_stroke(context);
}

void draw(cairo_t* context, const Words& words) {
  const auto layout = layout_of(context, words);
  set_color(context, lettering_of(words.look.role).colour);
  const double share[] = {0, 0.5, 1};  // of the width, before the anchor
  cairo_save(context);
  cairo_translate(context, words.at.x, words.at.y);
  if (words.upwards) cairo_rotate(context, -M_PI / 2);
  cairo_move_to(context, -share[static_cast<int>(words.anchor)] * width_of(layout.get()),
                -static_cast<double>(pango_layout_get_baseline(layout.get())) / PANGO_SCALE);
  pango_cairo_show_layout(context, layout.get());
  cairo_restore(context);
}

void draw(cairo_t* context, const Drawing& drawing) {
  for (const auto& item : drawing.items) std::visit([&](const auto& one) { draw(context, one); }, item);
}

std::string svg_colour(Color colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

std::string svg_paint(const Shape& shape) {
  const auto style = style_of(shape.look);
  auto out = fmt::format("fill=\"{}\"", style.fill ? svg_colour(*style.fill) : "none");
  if (style.opacity < 1) out += fmt::format(" opacity=\"{:g}\"", style.opacity);
  if (!style.stroke) return out;
  out += fmt::format(" stroke=\"{}\" stroke-width=\"{:g}\" stroke-linejoin=\"round\"",
                     svg_colour(*style.stroke), style.width);
  if (const auto dash = dash_of(shape.look); !dash.empty())
    out += fmt::format(" stroke-dasharray=\"{:g}\"", fmt::join(dash, " "));
  return out;
}

std::string svg_element(const Shape& shape) {
  if (shape.radius > 0) {
    return fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:g}\" {}/>\n", shape.spots.front().x,
                       shape.spots.front().y, shape.radius, svg_paint(shape));
  }
  return fmt::format("<path d=\"{}\" {}/>\n", svg_path(shape, 2), svg_paint(shape));
}

std::string svg_element(const Words& words) {
  const auto [size, bold, colour] = lettering_of(words.look.role);
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  const auto turned = svg_turn(words, 2);
  std::string text;
  int level = 0;
  for (const auto& piece : notation_pieces(words.text)) {
    const int shift = level - piece.level;
    level = piece.level;
    text += fmt::format("<tspan dy=\"{:.1f}\" font-size=\"{:g}\">{}</tspan>", shift * 0.25 * size,
                        piece.level == 0 ? size : size * kShiftedSize, html_text(piece.text));
  }
  return fmt::format(
      "<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:g}\"{} fill=\"{}\" text-anchor=\"{}\"{}>{}</text>\n",
      words.at.x, words.at.y, size, bold ? " font-weight=\"bold\"" : "", svg_colour(colour),
      kAnchors[static_cast<int>(words.anchor)], turned, text);
}

}  // namespace

double font_size(Role role) {
  return lettering_of(role).size;
}

double text_width(Role role, const std::string& text) {
  static const CairoSurface surface(cairo_recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, nullptr));
  static const CairoContext context(cairo_create(surface.get()));
  return width_of(layout_of(context.get(), {.look = {role}, .at = {}, .text = text}).get());
}

std::string svg_file(const Drawing& drawing) {
  auto out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "width=\"{0:.2f}pt\" height=\"{1:.2f}pt\" viewBox=\"0 0 {0:.2f} {1:.2f}\" "
      "font-family=\"Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif\" role=\"img\">\n"
      "<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      drawing.width, drawing.height, html_text(plain_notation(drawing.description)));
  for (const auto& item : drawing.items)
    out += std::visit([](const auto& one) { return svg_element(one); }, item);
  return out + "</svg>\n";
}

std::string pdf_file(const Drawing& drawing) {
  require_fonts(kWhat);
  return pdf_page(drawing.width, drawing.height, plain_notation(drawing.description), kWhat,
                  [&](cairo_t* context) { draw(context, drawing); });
}

std::string png_file(const Drawing& drawing, double dots_per_inch) {
  require_fonts(kWhat);
  const double zoom = dots_per_inch / kPointsAnInch;
  const CairoSurface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                                        static_cast<int>(std::ceil(drawing.width * zoom)),
                                                        static_cast<int>(std::ceil(drawing.height * zoom))));
  const CairoContext context(cairo_create(surface.get()));
  set_color(context.get(), kWhite);
  cairo_paint(context.get());
  cairo_scale(context.get(), zoom, zoom);
  draw(context.get(), drawing);
  require_drawn(context.get(), kWhat);
  std::string bytes;
  cairo_surface_write_to_png_stream(surface.get(), append_bytes, &bytes);
  return bytes;
}

}  // namespace harness
