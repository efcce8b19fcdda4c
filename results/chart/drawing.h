#pragma once

#include <string>
#include <variant>
#include <vector>

namespace harness {

/// What a shape or text is, which decides how it looks: on the report's page by its style sheet, in a file by
/// a table of this room (drawing_files.cpp). The names are the classes of the page.
enum class Role {
  kGrid,
  kAxis,
  kGuide,
  kZero,
  kBand,
  kLine,
  kBar,
  kMark,
  kRing,
  kInterval,
  kEstimate,
  kPrinted,
  kTick,
  kLabel,
  kTitle,
  kName,
  kNumbers,
  kKey
};

struct Look {
  Role role;
  std::string variant = {};  ///< "c0" to "c8": of a series; "better", "worse", ...: of a difference
};

struct Spot {
  double x = 0, y = 0;
};

/// A line through the spots, or with a radius a circle around the only one.
struct Shape {
  Look look;
  std::vector<Spot> spots = {};
  bool closed = false;
  double radius = 0;
  std::string tooltip = {};  ///< what a page shows under the pointer
};

enum class Anchor { kStart, kMiddle, kEnd };

/// A text in notation (notation.h); `at` is on its baseline. Of numbers the minus signs are true ones.
struct Words {
  Look look;
  Spot at;
  Anchor anchor = Anchor::kStart;
  std::string text = {};
  bool upwards = false;  ///< turned by a quarter, as along a vertical axis
};

/// What is drawn, in the order in which it is, y down. In a file a unit is a point (1/72 inch).
struct Drawing {
  double width = 0, height = 0;
  std::string description = {};  ///< in words, for those who cannot see it
  std::vector<std::variant<Shape, Words>> items = {};

  void line(Look look, std::vector<Spot> spots);
  void area(Look look, std::vector<Spot> spots);
  void circle(Look look, Spot middle, double radius, std::string tooltip = {});
  void words(Look look, Spot at, Anchor anchor, std::string text);
  void words_upwards(Look look, Spot at, std::string text);  ///< `at` is their middle
  /// All of another drawing, moved by (x, y).
  void add(const Drawing& other, double x, double y);
};

// Of SVG elements, for any style: what "d" holds, and the attribute of a text that is turned.
std::string svg_path(const Shape& shape, int decimals);
std::string svg_turn(const Words& words, int decimals);

/// An SVG element of this class in the page's style. Texts are escaped.
std::string page_svg(const Drawing& drawing, const std::string& svg_class);

/// Width of a text in a file, in points.
double text_width(Role role, const std::string& text);

/// Size of a role's letters in a file, in points; none is below 6, subscripts included.
double font_size(Role role);

// Whole files: texts are texts and lines are lines, however large they are printed. Equal drawings give equal
// bytes on one machine.
std::string svg_file(const Drawing& drawing);
std::string pdf_file(const Drawing& drawing);
std::string png_file(const Drawing& drawing, double dots_per_inch);

}  // namespace harness
