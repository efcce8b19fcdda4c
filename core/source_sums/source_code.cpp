#include "core/source_sums/source_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/text.h"

namespace harness {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80U) != 0;
}

/// Characters that may be part of a longer operator with their neighbour.
bool is_operator(char c) {
  return std::string_view("+-*/%&|^<>=!:.#?").find(c) != std::string_view::npos;
}

/// Whether a blank between the two means something.
bool keeps_apart(char left, char right) {
  return (is_word(left) && is_word(right)) || (is_operator(left) && is_operator(right));
}

/// Reads a source from its beginning to its end and keeps its code.
class CodeReader {
 public:
  explicit CodeReader(std::string_view source) : source_(source) {}

  std::string read() {
    while (at_ < source_.size()) step();
    end_line();
    return std::move(code_);
  }

 private:
  bool comes(std::string_view text) const { return source_.substr(at_, text.size()) == text; }

  void step() {
    const char c = source_[at_];
    if (comes("//")) {
      skip_line_comment();
    } else if (comes("/*")) {
      const auto end = source_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? source_.size() : end + 2;
      blank_ = true;
    } else if (comes("\\\n")) {
      at_ += 2;
      blank_ = true;
    } else if (c == '\n') {
      ++at_;
      end_line();
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
      blank_ = true;
    } else if (c == '"') {
      is_raw() ? take_raw() : take_quoted('"');
    } else if (c == '\'' && !is_digit_separator()) {
      take_quoted('\'');
    } else {
      take(c);
    }
  }

  /// A backslash at the end of a line carries its comment on.
  void skip_line_comment() {
    while (at_ < source_.size() && source_[at_] != '\n') at_ += comes("\\\n") ? 2 : 1;
    blank_ = true;
  }

  void end_line() {
    if (in_directive_) code_ += '\n';
    in_directive_ = false;
    line_is_empty_ = true;
    blank_ = true;
  }

  void take(char c) {
    if (line_is_empty_ && c == '#') {
      if (!code_.empty() && code_.back() != '\n') code_ += '\n';
      in_directive_ = true;
    }
    // `#define F (x)` and `#define F(x)` are two things.
    const bool apart =
        blank_ && !code_.empty() && code_.back() != '\n' && (in_directive_ || keeps_apart(code_.back(), c));
    if (apart) code_ += ' ';
    if (!is_word(c) || apart || code_.empty() || !is_word(code_.back())) word_ = code_.size();
    blank_ = false;
    line_is_empty_ = false;
    code_ += c;
    ++at_;
  }

  /// 1'000: a quote inside a word that begins with a digit.
  bool is_digit_separator() const {
    return !blank_ && !code_.empty() && is_word(code_.back()) && word_ < code_.size() &&
           std::isdigit(static_cast<unsigned char>(code_[word_])) != 0;
  }

  /// R"( with or without an encoding before it.
  bool is_raw() const {
    if (blank_ || code_.empty() || code_.back() != 'R') return false;
    const auto word = std::string_view(code_).substr(word_);
    return word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR";
  }

  void take_raw() {
    const auto open = source_.find('(', at_);
    const auto close = open == std::string_view::npos
                           ? std::string()
                           : fmt::format("){}\"", source_.substr(at_ + 1, open - at_ - 1));
    const auto end = close.empty() ? std::string_view::npos : source_.find(close, open);
    take_until(end == std::string_view::npos ? source_.size() : end + close.size());
  }

  void take_quoted(char quote) {
    auto end = at_ + 1;
    while (end < source_.size() && source_[end] != quote && source_[end] != '\n')
      end += source_[end] == '\\' ? 2 : 1;
    take_until(std::min(end + 1, source_.size()));
  }

  void take_until(std::size_t end) {
    take(source_[at_]);
    code_ += source_.substr(at_, end - at_);
    at_ = end;
    word_ = code_.size();
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::string code_;
  std::size_t word_ = 0;  ///< where the last word of `code_` begins
  bool blank_ = false, in_directive_ = false, line_is_empty_ = true;
};

}  // namespace

std::string code_of(std::string_view source) {
  return CodeReader(source).read();
}

std::vector<std::string> quoted_includes(std::string_view source) {
  std::vector<std::string> paths;
  for (const auto& line : split(code_of(source), '\n')) {
    const auto begin = line.find('"') + 1;
    auto directive = line.substr(0, begin);
    std::erase(directive, ' ');
    if (directive != "#include\"") continue;
    paths.push_back(line.substr(begin, line.find('"', begin) - begin));
  }
  return paths;
}

}  // namespace harness
