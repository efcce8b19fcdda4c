#include "bench/scenes.h"

#include <numbers>
#include <random>
#include <vector>

#include "bench/drawing.h"
#include "datasets/prompt_set.h"

namespace harness {
namespace {

constexpr std::array kFontNames{"DejaVu Sans",
                                "DejaVu Sans Bold",
                                "DejaVu Serif",
                                "DejaVu Serif Bold",
                                "Liberation Sans",
                                "Liberation Sans Bold",
                                "Liberation Sans Narrow",
                                "Liberation Serif",
                                "Liberation Serif Bold",
                                "URW Gothic Demi",
                                "URW Bookman",
                                "C059 Bold",
                                "P052 Italic",
                                "Nimbus Mono PS Bold",
                                "DejaVu Sans Mono Bold",
                                "Z003"};
constexpr double kMostDegrees = 6, kSmallestLetters = 28, kLargestLetters = 80, kTextRoom = 430;
constexpr double kCapitalHeight = 0.72;  // of an em, about

/// The standard fixes this engine's numbers, but not those of its distributions.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }
  int below(int n) { return static_cast<int>(uniform(0, n)); }
  bool chance(double p) { return uniform(0, 1) < p; }

 private:
  std::mt19937_64 engine_;
};

/// Relative luminance and contrast ratio of WCAG 2.
double luminance(const Colour& colour) {
  const auto linear = [](double c) { return c <= .04045 ? c / 12.92 : std::pow((c + .055) / 1.055, 2.4); };
  return .2126 * linear(colour[0]) + .7152 * linear(colour[1]) + .0722 * linear(colour[2]);
}

double contrast(const Colour& a, const Colour& b) {
  const auto [low, high] = std::minmax({luminance(a), luminance(b)});
  return (high + .05) / (low + .05);
}

Colour colour_of(Dice& dice, bool light) {
  const double hue = dice.uniform(0, 1);
  return light ? from_hsv(hue, dice.uniform(0, .45), dice.uniform(.8, 1))
               : from_hsv(hue, dice.uniform(.2, .9), dice.uniform(.05, .5));
}

struct Paint {
  Colour ground, letters, surroundings;
};

/// Letters that stand out: a contrast of 4.5 is WCAG's for text, 3 for large text.
Paint choose_paint(Dice& dice, bool light_on_dark) {
  Paint paint;
  do {
    paint.ground = colour_of(dice, !light_on_dark);
    paint.letters = colour_of(dice, light_on_dark);
  } while (contrast(paint.ground, paint.letters) < 3.5);
  paint.surroundings = colour_of(dice, dice.chance(.5));
  return paint;
}

void set_colour(cairo_t* cairo, const Colour& colour, double shade = 0, double alpha = 1) {
  cairo_set_source_rgba(cairo, colour[0] + shade, colour[1] + shade, colour[2] + shade, alpha);
}

/// Smooth noise between -1 and 1: random values at the nodes of a grid, interpolated.
class Clouds {
 public:
  Clouds(Dice& dice, double cell) : cell_(cell), nodes_(static_cast<int>(kSceneSize / cell) + 2) {
    for (int i = 0; i < nodes_ * nodes_; ++i) values_.push_back(dice.uniform(-1, 1));
  }
  double at(int x, int y) const {
    const double u = x / cell_, v = y / cell_;
    const int i = static_cast<int>(u), j = static_cast<int>(v);
    const double a = smooth(u - i), b = smooth(v - j);
    return (1 - b) * ((1 - a) * node(i, j) + a * node(i + 1, j)) +
           b * ((1 - a) * node(i, j + 1) + a * node(i + 1, j + 1));
  }

 private:
  static double smooth(double t) { return t * t * (3 - 2 * t); }
  double node(int i, int j) const { return values_[static_cast<std::size_t>(j * nodes_ + i)]; }

  double cell_;
  int nodes_;
  std::vector<double> values_;
};

void paint_plain(cairo_t* cairo, Dice& dice, const Colour& colour) {
  cairo_pattern_t* fade = cairo_pattern_create_linear(0, 0, dice.uniform(-200, 200), kSceneSize);
  const double change = dice.uniform(-.2, .2);
  cairo_pattern_add_color_stop_rgb(fade, 0, colour[0], colour[1], colour[2]);
  cairo_pattern_add_color_stop_rgb(fade, 1, colour[0] + change, colour[1] + change, colour[2] + change);
  cairo_set_source(cairo, fade);
  cairo_paint(cairo);
  cairo_pattern_destroy(fade);
}

void paint_clouds(cairo_t* cairo, Dice& dice, const Colour& colour) {
  cairo_surface_t* surface = cairo_get_target(cairo);
  const Clouds coarse(dice, 90), middle(dice, 30), fine(dice, dice.uniform(3, 10));
  const double strength = dice.uniform(.05, .16);
  cairo_surface_flush(surface);
  unsigned char* data = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  for (int y = 0; y < kSceneSize; ++y) {
    for (int x = 0; x < kSceneSize; ++x) {
      const double shade = strength * (coarse.at(x, y) + .6 * middle.at(x, y) + .5 * fine.at(x, y));
      for (int c = 0; c < 3; ++c) {
        const double value = colour[static_cast<std::size_t>(2 - c)] + shade;
        data[y * stride + 4 * x + c] =
            static_cast<unsigned char>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
      }
    }
  }
  cairo_surface_mark_dirty(surface);
}

/// Tiles of slightly different shades with dark joints; `shift` moves every second row by half a tile.
void paint_tiles(cairo_t* cairo, Dice& dice, const Colour& colour, double width, double height, bool shift) {
  set_colour(cairo, colour, -.2);
  cairo_paint(cairo);
  const double joint = dice.uniform(1, 5), variation = dice.uniform(.02, .1);
  bool odd = false;
  for (double y = -dice.uniform(0, height); y < kSceneSize; y += height, odd = !odd) {
    for (double x = shift && odd ? -1.5 * width : -width; x < kSceneSize; x += width) {
      cairo_rectangle(cairo, x, y, width - joint, height - joint);
      set_colour(cairo, colour, dice.uniform(-variation, variation));
      cairo_fill(cairo);
    }
  }
}

void paint_discs(cairo_t* cairo, Dice& dice, const Colour& colour) {
  paint_plain(cairo, dice, colour);
  const int discs = 10 + dice.below(25);
  for (int i = 0; i < discs; ++i) {
    cairo_arc(cairo, dice.uniform(0, kSceneSize), dice.uniform(0, kSceneSize), dice.uniform(8, 60), 0,
              2 * std::numbers::pi);
    set_colour(cairo, from_hsv(dice.uniform(0, 1), .5, .9), 0, dice.uniform(.1, .4));
    cairo_fill(cairo);
  }
}

void paint_backdrop(cairo_t* cairo, Dice& dice, Backdrop backdrop, const Colour& colour) {
  switch (backdrop) {
    case Backdrop::kPlain:
      return paint_plain(cairo, dice, colour);
    case Backdrop::kClouds:
      return paint_clouds(cairo, dice, colour);
    case Backdrop::kPlanks:
      return paint_tiles(cairo, dice, colour, 2 * kSceneSize, dice.uniform(40, 110), false);
    case Backdrop::kBricks: {
      const double height = dice.uniform(24, 60);
      return paint_tiles(cairo, dice, colour, 2.2 * height, height, true);
    }
    case Backdrop::kDiscs:
      return paint_discs(cairo, dice, colour);
  }
}

struct Layout {
  Owned<PangoLayout> pango;
  double width, height, letter_height;
};

Layout laid_out(cairo_t* cairo, const std::string& text, const char* font, double letter_height) {
  Layout layout{layout_in_font(cairo, font, letter_height / kCapitalHeight), 0, 0, letter_height};
  pango_layout_set_text(layout.pango.get(), text.c_str(), -1);
  pango_layout_set_width(layout.pango.get(), static_cast<int>(kTextRoom * PANGO_SCALE));
  pango_layout_set_wrap(layout.pango.get(), PANGO_WRAP_WORD);
  PangoRectangle ink;
  pango_layout_get_pixel_extents(layout.pango.get(), &ink, nullptr);
  layout.width = ink.width;
  layout.height = ink.height;
  return layout;
}

/// With letters of the height that was asked for, or the largest that leave a word whole and fit.
Layout fitted(cairo_t* cairo, const std::string& text, const char* font, double letter_height) {
  Layout layout = laid_out(cairo, text, font, letter_height);
  while (layout.letter_height > 8 && (layout.width > kTextRoom || layout.height > kTextRoom)) {
    layout = laid_out(cairo, text, font, layout.letter_height * .95);
  }
  return layout;
}

void rounded_rectangle(cairo_t* cairo, double x, double y, double width, double height, double radius) {
  constexpr double quarter = std::numbers::pi / 2;
  cairo_new_sub_path(cairo);
  cairo_arc(cairo, x + width - radius, y + radius, radius, -quarter, 0);
  cairo_arc(cairo, x + width - radius, y + height - radius, radius, 0, quarter);
  cairo_arc(cairo, x + radius, y + height - radius, radius, quarter, 2 * quarter);
  cairo_arc(cairo, x + radius, y + radius, radius, 2 * quarter, 3 * quarter);
  cairo_close_path(cairo);
}

/// Around the origin, with room for a text of this size.
void paint_panel(cairo_t* cairo, Dice& dice, Panel panel, const Paint& paint, const Layout& layout) {
  if (panel == Panel::kNone) return;
  const double width = layout.width + dice.uniform(20, 60), height = layout.height + dice.uniform(20, 60);
  const double radius = dice.chance(.5) ? dice.uniform(4, 20) : .01;
  rounded_rectangle(cairo, -width / 2, -height / 2, width, height, radius);
  set_colour(cairo, paint.ground, 0, panel == Panel::kTranslucent ? dice.uniform(.7, .9) : 1);
  cairo_fill(cairo);
  if (panel != Panel::kFramed) return;
  rounded_rectangle(cairo, -width / 2, -height / 2, width, height, radius);
  set_colour(cairo, paint.letters);
  cairo_set_line_width(cairo, dice.uniform(2, 7));
  cairo_stroke(cairo);
}

enum class Effect { kNone, kShadow, kOutline };

/// Centred on the origin.
void paint_text(cairo_t* cairo, Dice& dice, const Paint& paint, const Layout& layout) {
  PangoRectangle ink;
  pango_layout_get_pixel_extents(layout.pango.get(), &ink, nullptr);
  const double x = -ink.x - ink.width / 2.0, y = -ink.y - ink.height / 2.0;
  const int kind = dice.below(6);
  const Effect effect = kind == 0 ? Effect::kShadow : kind == 1 ? Effect::kOutline : Effect::kNone;
  const double depth = layout.letter_height * dice.uniform(.03, .08);
  if (effect == Effect::kShadow) {
    cairo_move_to(cairo, x + depth, y + depth);
    set_colour(cairo, {0, 0, 0}, 0, .45);
    pango_cairo_show_layout(cairo, layout.pango.get());
  }
  if (effect == Effect::kOutline) {
    cairo_move_to(cairo, x, y);
    pango_cairo_layout_path(cairo, layout.pango.get());
    set_colour(cairo, paint.ground, luminance(paint.ground) > .4 ? .15 : -.15);
    cairo_set_line_width(cairo, 2 * depth);
    cairo_stroke(cairo);
  }
  cairo_move_to(cairo, x, y);
  set_colour(cairo, paint.letters);
  pango_cairo_show_layout(cairo, layout.pango.get());
}

std::vector<double> gaussian(double sigma) {
  std::vector<double> weights;
  double sum = 0;
  for (int i = -4; i <= 4; ++i) {
    weights.push_back(std::exp(-i * i / (2 * sigma * sigma)));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// One channel, edges repeated.
std::vector<double> blurred(const std::vector<double>& channel, const std::vector<double>& weights) {
  const int reach = static_cast<int>(weights.size()) / 2;
  const auto pass = [&](const std::vector<double>& in, int dx, int dy) {
    std::vector<double> out;
    out.reserve(in.size());
    for (int y = 0; y < kSceneSize; ++y) {
      for (int x = 0; x < kSceneSize; ++x) {
        double sum = 0;
        for (int i = -reach; i <= reach; ++i) {
          const int u = std::clamp(x + i * dx, 0, kSceneSize - 1),
                    v = std::clamp(y + i * dy, 0, kSceneSize - 1);
          sum +=
              weights[static_cast<std::size_t>(i + reach)] * in[static_cast<std::size_t>(v * kSceneSize + u)];
        }
        out.push_back(sum);
      }
    }
    return out;
  };
  return pass(pass(channel, 1, 0), 0, 1);
}

/// What a lens and a sensor add: blur, light that falls off to one side, noise.
Image photographed(cairo_surface_t* surface, Dice& dice) {
  cairo_surface_flush(surface);
  const unsigned char* data = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  const auto weights = gaussian(dice.uniform(.3, 1.2));
  const double slope_x = dice.uniform(-.15, .15), slope_y = dice.uniform(-.15, .15);
  const double noise = dice.uniform(0, .05);
  Image image{kSceneSize, kSceneSize, std::vector<std::uint8_t>(kSceneSize * kSceneSize * 3)};
  for (int c = 0; c < 3; ++c) {
    std::vector<double> channel;
    for (int y = 0; y < kSceneSize; ++y) {
      for (int x = 0; x < kSceneSize; ++x) channel.push_back(data[y * stride + 4 * x + 2 - c] / 255.0);
    }
    channel = blurred(channel, weights);
    for (int i = 0; i < kSceneSize * kSceneSize; ++i) {
      const double x = static_cast<double>(i % kSceneSize) / kSceneSize - .5;
      const double y = static_cast<double>(i / kSceneSize) / kSceneSize - .5;
      const double light = 1 + slope_x * 2 * x + slope_y * 2 * y;
      const double value = channel[static_cast<std::size_t>(i)] * light + dice.uniform(-noise, noise);
      image.rgb[static_cast<std::size_t>(3 * i + c)] =
          static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
    }
  }
  return image;
}

/// What is decided before anything is drawn.
TextScene chosen_scene(const std::string& text, Dice& dice) {
  TextScene scene{text,
                  static_cast<Backdrop>(dice.below(5)),
                  static_cast<Panel>(dice.below(4)),
                  {},
                  0,
                  0,
                  dice.chance(.5),
                  {}};
  scene.font = kFontNames[static_cast<std::size_t>(dice.below(static_cast<int>(kFontNames.size())))];
  scene.angle = dice.chance(2 / 3.0) ? dice.uniform(-kMostDegrees, kMostDegrees) : 0;
  return scene;
}

}  // namespace

TextScene undrawn_scene(const std::string& text, std::uint64_t seed) {
  Dice dice(seed);
  return chosen_scene(text, dice);
}

TextScene draw_scene(const std::string& text, std::uint64_t seed) {
  Dice dice(seed);
  TextScene scene = chosen_scene(text, dice);
  const Paint paint = choose_paint(dice, scene.light_on_dark);
  const Owned<cairo_surface_t> surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, kSceneSize, kSceneSize));
  const Owned<cairo_t> cairo(cairo_create(surface.get()));
  paint_backdrop(cairo.get(), dice, scene.backdrop,
                 scene.panel == Panel::kNone ? paint.ground : paint.surroundings);
  Layout layout =
      fitted(cairo.get(), text, scene.font.c_str(), dice.uniform(kSmallestLetters, kLargestLetters));
  if (dice.chance(.5)) pango_layout_set_alignment(layout.pango.get(), PANGO_ALIGN_CENTER);
  scene.letter_height = layout.letter_height;
  const double room_x = (kTextRoom - layout.width) / 2, room_y = (kTextRoom - layout.height) / 2;
  cairo_translate(cairo.get(), kSceneSize / 2.0 + dice.uniform(-room_x, room_x),
                  kSceneSize / 2.0 + dice.uniform(-room_y, room_y));
  cairo_rotate(cairo.get(), scene.angle * std::numbers::pi / 180);
  paint_panel(cairo.get(), dice, scene.panel, paint, layout);
  paint_text(cairo.get(), dice, paint, layout);
  scene.image = photographed(surface.get(), dice);
  return scene;
}

TextScene generated_scene(std::uint64_t i) {
  static const PromptSet set = generated_prompt_set();
  return draw_scene(set.prompts[i % set.prompts.size()].target, i);
}

}  // namespace harness
