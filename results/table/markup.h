#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// Text for pdflatex: the special characters escaped, no accidental ligatures ("--"), common symbols (Greek
/// letters, arrows, dashes) as their commands, and any other character beyond Latin-1 as U+XXXX, because
/// pdflatex stops at those it has no glyph for. The text must be UTF-8.
std::string latex_text(std::string_view text);

/// Sentences for pdflatex: latex_text, with signed numbers and "3.8e-5" set as mathematics and what stands
/// between backquotes in typewriter type.
std::string latex_prose(std::string_view text);

/// True for "0.5632", "+0.0199", "[-0.0013, +0.0011]", "3.80e-5", "<0.0001": what is set as mathematics, so
/// that signs have their width.
bool is_numeric(const std::string& text);

/// "3.80e-5" -> "3.80\times10^{-5}"; the blanks after a comma and before a bracket are kept.
std::string latex_math(const std::string& text);

/// A LaTeX file that both compiles on its own and can be \input in a document that loads `packages`.
std::string latex_file(const std::vector<std::string>& packages, std::string_view body);

/// Text for HTML, between tags and inside quoted attributes.
std::string html_text(std::string_view text);
/// The same of a sentence, whose `commands` in backquotes become code.
std::string html_prose(std::string_view text);

/// A whole page that loads nothing from anywhere. `title` and `style` are text, `body` is HTML.
std::string html_page(std::string_view title, std::string_view style, std::string_view body);

/// Text for Markdown, in a cell of a table or elsewhere within a line: every character is shown as itself.
/// What means nothing where it stands stays readable as it is: an underscore inside a word, "[-0.1, 0.2]",
/// "p < 0.05", "R&D".
std::string markdown_text(std::string_view text);
/// The same of a sentence, on one line, that may begin a paragraph or an item; `commands` in backquotes are
/// code.
std::string markdown_prose(std::string_view text);
/// A text as code, whatever backquotes it holds.
std::string markdown_code(std::string_view text);

/// A line of a Markdown table: "| a | b |\n".
std::string markdown_row(std::span<const std::string> cells);

/// A field of a CSV line (RFC 4180): quoted where it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);
/// The same, quoted whatever it holds.
std::string csv_quoted(std::string_view text);

}  // namespace harness
