#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace harness {

/// The candidate with the smallest edit distance to `word` (two swapped neighbours count 1), or nothing if
/// none is near (distance above max(2, a third of the word), or above 1 from a word of less than 4 bytes).
/// Ties: the earlier candidate.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// The candidates that may have been meant: those that go by this name elsewhere (core/other_names.h), else
/// the nearest, else the shortest that begins with it. Empty if there is none.
std::vector<std::string> meant_by(std::string_view word, std::span<const std::string> candidates);

/// `did you mean "X"?` by meant_by, or `known: a, b, c`.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

/// Code points of a UTF-8 string. Throws Error (with `where`) at an invalid or overlong sequence, naming the
/// byte offset.
std::u32string utf8_to_utf32(std::string_view text, std::string_view where = {});
std::string utf32_to_utf8(std::u32string_view text);

/// Offset of the first byte that is not valid UTF-8, or nothing.
std::optional<std::size_t> invalid_utf8_at(std::string_view text);

/// `text` for a reader's terminal: control characters other than \n and \t, controls of the direction of
/// writing and bytes that are not UTF-8 become \u001b, \u202e, \xff, and all else stays. A JSON document
/// keeps its data: such characters occur in its strings alone, where \u001b is JSON's own way to write them.
std::string printable(std::string_view text);

/// printable, on one line: line breaks and tabs become \n and \t.
std::string printable_line(std::string_view text);

/// `text` in double quotes on one line of valid UTF-8 without control or format characters, for messages
/// about text from outside: `"a\u001b[2J"`. Long texts are cut, with a mark.
std::string in_quotes(std::string_view text);

/// Simple lower case, code point by code point (utf8proc).
std::u32string to_lower(std::u32string_view text);

/// Every run of Unicode white space becomes one U+0020; both ends are trimmed.
std::string squeeze_white_space(std::string_view text);

/// Two lower-case digits a byte.
std::string hexadecimal(std::string_view bytes);

/// The longest beginning of `text`, ending between two characters, that takes at most `columns` on a terminal
/// when printable_line shows it. Its time is bounded by `columns`, however long the text.
std::string_view beginning_within(std::string_view text, int columns);

/// Columns that the text takes on a terminal (utf8proc character widths).
int display_width(std::string_view text);

/// `text` if it takes at most `columns`, else its beginning and "…".
std::string cut_to_width(std::string_view text, int columns);

/// `text` with blanks to `width` columns, before it if `right`; as it is where it is wider.
std::string padded(std::string_view text, int width, bool right = false);

/// The words of a text in lines of at most `width` columns; a longer word is a line. What is in backquotes is
/// one word, so that it can be copied.
std::vector<std::string> filled(std::string_view text, int width);

/// Widths of columns that are printed with `between` blanks between them, made to fit `total`: the widest of
/// those that `may_shrink` lose first, none becomes narrower than `least`. Where that cannot be, they stay as
/// they are.
std::vector<int> fitted_widths(std::vector<int> widths, const std::vector<bool>& may_shrink, int between,
                               int total, int least);

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);

/// The number that the whole text is, as std::from_chars reads it (no blanks, no "+", "-" for signed types
/// alone); nothing where it is not one or T cannot hold it.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

/// "1 run", "2 runs": a count with its noun, whose plural ends in s.
std::string counted(std::int64_t count, std::string_view noun);

/// `word` as a shell takes it for one word: as it is, or in single quotes.
std::string shell_word(std::string_view word);

/// Edit distance over code points or bytes (insert, delete, substitute: cost 1).
std::size_t levenshtein(std::u32string_view a, std::u32string_view b);

}  // namespace harness
