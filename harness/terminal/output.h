#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// One JSON document on standard output.
void print_json(const Json& document);

/// How a column is shown where that differs from its field: what heads it, what a cell without a text shows,
/// and what is made of the text of another.
struct ColumnText {
  std::string heading = {}, blank = {};  ///< empty heading: the field's name
  std::string (*made)(const std::string& text) = nullptr;
};

/// Objects as aligned columns for reading: `columns` are the fields shown, in order; `texts` by field.
/// Missing fields and nulls are blank.
void print_rows(const std::vector<Json>& rows, const std::vector<std::string>& columns,
                const std::map<std::string, ColumnText>& texts = {});

/// What a command answers: the document of --json, or what `words` prints. Gives `status`.
int print_answer(bool json, const Json& document, const std::function<void()>& words, int status = 0);

/// The same of a list: all of the rows for --json, or print_rows.
int print_list(bool json, const std::vector<Json>& rows, const std::vector<std::string>& columns,
               const std::map<std::string, ColumnText>& texts = {});

/// `value` must be one of `known`, else Error (status 2) with the nearest.
void require_choice(const std::string& value, const std::vector<std::string>& known, const std::string& noun,
                    const std::string& where);

}  // namespace harness
