#include "results/query/format.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

struct Writer {
  const char* name;
  void (*write)(const ResultSet&, PieceWriter&);
};

/// In the order of QueryFormat.
constexpr Writer kWriters[] = {{"table", write_table}, {"csv", write_csv},     {"json", write_json},
                               {"jsonl", write_jsonl}, {"md", write_markdown}, {"latex", write_latex}};

}  // namespace

std::vector<std::string> query_format_names() {
  std::vector<std::string> names;
  for (const auto& writer : kWriters) names.emplace_back(writer.name);
  return names;
}

QueryFormat query_format(std::string_view name) {
  const auto names = query_format_names();
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<QueryFormat>(found - names.begin());
  const auto near = nearest(name, names);
  throw Error(fmt::format("unknown format \"{}\"", name), "--format",
              (near ? fmt::format("did you mean \"{}\"? ", *near) : "") + "known: " + join(names, ", "));
}

void write_rows(const ResultSet& rows, QueryFormat format, const TakePiece& take) {
  PieceWriter out(take);
  kWriters[static_cast<std::size_t>(format)].write(rows, out);
  out.hand_on();
}

}  // namespace harness
