#include "harness/images/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "harness/images/table_file.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

class CsvReader {
 public:
  CsvReader(std::string_view text, const fs::path& file) : text_(text), file_(file) {}

  bool at_end() const { return at_ >= text_.size(); }
  int line() const { return line_; }

  std::vector<std::string> record() {
    std::vector<std::string> fields;
    do fields.push_back(field());
    while (take(','));
    take('\r');
    if (!at_end() && !take('\n'))
      throw Error("something follows a closing quote", place(), "double the quotes inside a field");
    ++line_;
    return fields;
  }

  std::string place() const { return fmt::format("{}:{}", file_.string(), line_); }

 private:
  bool take(char wanted) {
    if (at_end() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  std::string field() {
    if (!take('"')) {
      const auto end = std::min(text_.find_first_of(",\n", at_), text_.size());
      auto plain = text_.substr(at_, end - at_);
      at_ = end;
      if (plain.ends_with('\r')) plain.remove_suffix(1);
      if (const auto text = trim(plain); text.starts_with('"'))
        throw Error("has a blank before a quote, which then quotes nothing", place(), "take the blank out");
      return std::string(trim(plain));
    }
    std::string quoted;
    const auto opened = place();
    for (;;) {
      const auto end = text_.find('"', at_);
      if (end == std::string_view::npos)
        throw Error("a quote is opened and not closed", opened, "double the quotes inside a field");
      const auto part = text_.substr(at_, end - at_);
      line_ += static_cast<int>(std::ranges::count(part, '\n'));
      quoted += part;
      at_ = end + 1;
      if (!take('"')) return quoted;
      quoted += '"';
    }
  }

  std::string_view text_;
  const fs::path& file_;
  std::size_t at_ = 0;
  int line_ = 1;
};

/// Throws Error where the first line shows that fields are separated by something else.
void require_commas(std::string_view text, const fs::path& file) {
  const auto line = trim(text.substr(0, text.find('\n')));
  const auto where = file.string() + ":1";
  if (line.starts_with("sep="))
    throw Error(fmt::format("{} is a note for spreadsheet programs and names no column", in_quotes(line)),
                where, "take this line out; fields are separated by commas");
  if (line.find(',') != std::string_view::npos) return;
  for (const auto& [separator, name] : {std::pair(';', "semicolons"), {'\t', "tabs"}, {'|', "bars"}}) {
    if (line.find(separator) != std::string_view::npos)
      throw Error(fmt::format("separates fields by {}", name), where, "save it with commas");
  }
}

/// What may make a line longer or shorter than the first one.
std::string hint_for(const std::vector<std::string>& record, const std::vector<std::string>& names) {
  if (record.size() == names.size() + 1 && record.back().empty())
    return "take the comma at the end of the line out";
  return record.size() > names.size() ? "put texts with commas between double quotes"
                                      : "give every line all fields; empty ones keep their comma";
}

bool is_empty(const std::vector<std::string>& record) {
  return record.size() == 1 && record.front().empty();
}

}  // namespace

std::vector<CsvRow> read_csv(const fs::path& file) {
  const auto text = read_table_text(file);
  require_commas(text, file);
  CsvReader reader(text, file);
  if (reader.at_end()) throw Error("is empty", file.string());
  const auto names = reader.record();
  for (const auto& name : names) {
    if (std::ranges::count(names, name) > 1)
      throw Error(fmt::format("duplicate column {}", in_quotes(name)), file.string() + ":1");
  }
  std::vector<CsvRow> rows;
  while (!reader.at_end()) {
    const auto line = reader.line();
    const auto record = reader.record();
    if (is_empty(record)) continue;
    if (record.size() != names.size()) {
      throw Error(fmt::format("has {} fields, and the first line names {}", record.size(), names.size()),
                  fmt::format("{}:{}", file.string(), line), hint_for(record, names));
    }
    CsvRow row{.fields = {}, .line = line};
    for (std::size_t i = 0; i < names.size(); ++i) row.fields[names[i]] = record[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace harness
