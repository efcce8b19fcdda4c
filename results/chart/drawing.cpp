#include "results/chart/drawing.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>
#include <type_traits>

#include "results/table/markup.h"
#include "results/table/notation.h"

namespace harness {
namespace {

constexpr const char* kClasses[] = {"grid", "axis",  "guide", "zero",     "band",     "line",
                                    "bar",  "mark",  "ring",  "interval", "estimate", "printed",
                                    "tick", "label", "title", "name",     "numbers",  "key"};

std::string class_of(const Look& look) {
  std::string name = kClasses[static_cast<int>(look.role)];
  return look.variant.empty() ? name : name + " " + look.variant;
}

std::string element_of(const Shape& shape) {
  const auto tooltip =
      shape.tooltip.empty() ? std::string() : fmt::format("<title>{}</title>", html_text(shape.tooltip));
  const auto end = [&](const char* name) {
    return tooltip.empty() ? std::string("/>") : fmt::format(">{}</{}>", tooltip, name);
  };
  if (shape.radius > 0) {
    const auto [x, y] = shape.spots.front();
    return fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:g}\"", class_of(shape.look), x,
                       y, shape.radius) +
           end("circle");
  }
  return fmt::format("<path class=\"{}\" d=\"{}\"", class_of(shape.look), svg_path(shape, 1)) + end("path");
}

std::string element_of(const Words& words) {
  constexpr const char* kAnchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  const auto turned = svg_turn(words, 1);
  std::string text;
  int level = 0;
  for (const auto& piece : notation_pieces(words.text)) {
    // A shift lasts until the next one takes it back.
    const int shift = level - piece.level;
    level = piece.level;
    const auto size = piece.level == 0 ? "" : " font-size=\"78%\"";
    text += shift == 0 ? html_text(piece.text)
                       : fmt::format("<tspan dy=\"{}\"{}>{}</tspan>", shift * 3, size, html_text(piece.text));
  }
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>", class_of(words.look),
                     words.at.x, words.at.y, kAnchors[static_cast<int>(words.anchor)], turned, text);
}

/// U+2212 before digits, where no word is being hyphenated.
std::string with_minus_signs(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || std::string_view(" [({^").find(text[i - 1]) != std::string_view::npos;
    const bool of_number = i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0;
    out += text[i] == '-' && begins && of_number ? "\u2212" : std::string(1, text[i]);
  }
  return out;
}

}  // namespace

void Drawing::line(Look look, std::vector<Spot> spots) {
  items.emplace_back(Shape{.look = std::move(look), .spots = std::move(spots)});
}

void Drawing::area(Look look, std::vector<Spot> spots) {
  items.emplace_back(Shape{.look = std::move(look), .spots = std::move(spots), .closed = true});
}

void Drawing::circle(Look look, Spot middle, double radius, std::string tooltip) {
  items.emplace_back(
      Shape{.look = std::move(look), .spots = {middle}, .radius = radius, .tooltip = std::move(tooltip)});
}

void Drawing::words(Look look, Spot at, Anchor anchor, std::string text) {
  if (look.role == Role::kTick || look.role == Role::kNumbers) text = with_minus_signs(text);
  items.emplace_back(Words{std::move(look), at, anchor, std::move(text)});
}

void Drawing::words_upwards(Look look, Spot at, std::string text) {
  items.emplace_back(Words{std::move(look), at, Anchor::kMiddle, std::move(text), true});
}

void Drawing::add(const Drawing& other, double x, double y) {
  for (auto item : other.items) {
    std::visit(
        [&](auto& one) {
          if constexpr (std::is_same_v<std::decay_t<decltype(one)>, Shape>) {
            for (auto& spot : one.spots) spot = {spot.x + x, spot.y + y};
          } else {
            one.at = {one.at.x + x, one.at.y + y};
          }
        },
        item);
    items.push_back(std::move(item));
  }
}

std::string svg_path(const Shape& shape, int decimals) {
  std::string path;
  for (const auto& [x, y] : shape.spots)
    path += fmt::format("{}{:.{}f} {:.{}f}", path.empty() ? 'M' : 'L', x, decimals, y, decimals);
  return path + (shape.closed ? "Z" : "");
}

std::string svg_turn(const Words& words, int decimals) {
  if (!words.upwards) return {};
  return fmt::format(" transform=\"rotate(-90 {:.{}f} {:.{}f})\"", words.at.x, decimals, words.at.y,
                     decimals);
}

std::string page_svg(const Drawing& drawing, const std::string& svg_class) {
  auto out = fmt::format("<svg{} viewBox=\"0 0 {:g} {:g}\" ",
                         svg_class.empty() ? "" : fmt::format(" class=\"{}\"", svg_class), drawing.width,
                         drawing.height);
  out += drawing.description.empty()
             ? std::string("aria-hidden=\"true\">")
             : fmt::format("role=\"img\" aria-label=\"{}\">", html_text(plain_notation(drawing.description)));
  for (const auto& item : drawing.items)
    out += std::visit([](const auto& one) { return element_of(one); }, item);
  return out + "</svg>";
}

}  // namespace harness
