#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// A piece of a text in notation: "Λ_{late}" is "Λ" and a subscript "late", "10^{-3}" has a superscript.
struct NotationPiece {
  std::string text;
  int level = 0;  ///< -1: subscript, 1: superscript
};

std::vector<NotationPiece> notation_pieces(std::string_view text);

std::string html_notation(std::string_view text);  ///< with <sub> and <sup>, escaped
/// For pdflatex, outside of mathematics; letters above or below the line have 6 points in any text.
std::string latex_notation(std::string_view text);
std::string plain_notation(std::string_view text);  ///< "Λ_late"

/// A piece above or below the line; `latex` is its text as LaTeX.
std::string latex_shifted(const std::string& latex, int level);

/// What tables and figures for papers call methods, metrics and statistics: their names in the field, and
/// over them the reader's own.
class DisplayNames {
 public:
  /// `own`: name -> what it is called, in notation.
  explicit DisplayNames(std::map<std::string, std::string> own = {}) : own_(std::move(own)) {}

  /// The name as it is where nothing is known of it. "lambda-controlled" is "λ-Controlled".
  std::string of(const std::string& name) const;

  /// Those of the reader's own that are neither among `known`, as a whole or a word of it, nor of the field.
  std::vector<std::string> unknown_among(const std::vector<std::string>& known) const;

  /// A sentence or heading with each known name that stands in it as a word by itself put so.
  std::string in_text(std::string_view text) const;

 private:
  std::map<std::string, std::string> own_;
};

/// Reads {"name": "what it is called", ...}. Throws Error naming the file.
DisplayNames read_display_names(const std::string& file);

}  // namespace harness
