#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "harness/spec/reading.h"

namespace harness {
namespace {

ClaimSpec read_claim(const Json& value, const std::string& where) {
  Fields fields(value, where);
  ClaimSpec claim{.text = fields.required<std::string>("claim"),
                  .rule = fields.required<std::string>("rule"),
                  .column = fields.required<std::string>("column"),
                  .method = fields.optional<std::string>("method", ""),
                  .against = fields.required<std::string>("against"),
                  .bound = fields.optional<double>("bound", 0),
                  .factor = fields.optional<double>("factor", 1)};
  fields.finish();
  // harness/show/training_table.cpp decides them.
  require_choice(claim.rule,
                 {"ratio-at-most", "within", "lower-on-every-seed", "higher-on-every-seed", "columns-agree"},
                 "rule", where + ": rule");
  return claim;
}

void require_row(const TableSpec& spec, const std::string& row, const std::string& where) {
  refuse_unless(
      std::ranges::count(spec.methods, row) > 0,
      fmt::format("names the row \"{}\", which is not among this table's methods", row), where,
      fmt::format("methods: {}; give other claims, or \"claims\": [] for none", join(spec.methods, ", ")));
}

}  // namespace

void read_claims(TableSpec& spec, const Json& claims, const std::string& where) {
  refuse_unless(claims.is_array(), "must be a list of claims", where);
  const auto columns = names_of(spec.columns);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto place = fmt::format("{}[{}]", where, i);
    const auto& claim = spec.claims.emplace_back(read_claim(claims[i], place));
    require_choice(claim.column, columns, "column", place + ": column");
    if (claim.rule == "columns-agree") {
      require_choice(claim.against, columns, "column", place + ": against");
    } else {
      require_row(spec, claim.against, place + ": against");
      require_row(spec, claim.method, place + ": method");
    }
  }
}

}  // namespace harness
