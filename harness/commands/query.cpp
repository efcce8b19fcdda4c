#include "results/query/query.h"

#include <fmt/format.h>

#include <memory>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/terminal/output.h"
#include "harness/terminal/width.h"
#include "results/query/format.h"
#include "results/query/saved_queries.h"

namespace harness {
namespace {

struct QueryOptions {
  DbOptions db;
  std::string sql, format = "table";
  std::vector<std::pair<std::string, std::string>> params;
  bool list = false, json = false;
};

int list_queries(bool json) {
  std::vector<Json> rows;
  for (const auto& query : saved_queries()) {
    Json params = Json::array();
    std::vector<std::string> names;
    for (const auto& param : query.params) {
      params.push_back({{"name", param.name}, {"default", or_null(param.fallback)}, {"help", param.help}});
      names.emplace_back(param.name);
    }
    rows.push_back({{"name", query.name},
                    {"summary", query.summary},
                    {"params", params},
                    {"parameters", join(names, ", ")},
                    {"sql", query.sql}});
  }
  return print_list(json, rows, {"name", "parameters", "summary"});
}

/// Headings alone would look like an answer to a person; a program needs them.
void print_answer(const ResultSet& rows, QueryFormat format) {
  if (!rows.rows.empty() || format != QueryFormat::kTable) {
    write_rows(
        rows, format,
        [](std::string_view piece) {
          put_exactly(piece);
          return is_output_wanted();
        },
        is_terminal(stdout) ? terminal_columns(stdout) : 0);
  }
  if (rows.rows.empty()) tell("{}\n", rows.nothing);
}

int query(const QueryOptions& o) {
  if (o.list) return list_queries(o.json || o.format == "json");
  if (o.sql.empty())
    throw Error("needs a SELECT or the name of a saved query", "harness query", "see `harness query --list`");
  const auto format = query_format(o.json ? "json" : o.format);
  const auto rows = run_query(find_workspace(o.db.place).db, {.sql = o.sql, .params = o.params});
  if (!rows.experiment.empty()) tell("{}\n", rows.experiment);
  print_answer(rows, format);
  if (rows.may_have_more()) tell("the first {}; `-p n {}` gives more\n", *rows.asked, 5 * *rows.asked);
  return 0;
}

std::vector<std::string> query_names() {
  std::vector<std::string> names;
  for (const auto& query : saved_queries()) names.emplace_back(query.name);
  return names;
}

Command make_query() {
  auto o = std::make_shared<QueryOptions>();
  Command command{"query", "Ask the results database in SQL; nothing can be changed",
                  fmt::format(R"(
Formats table and md cut a cell to {} columns, marked by "…", and give the target of a GenEval prompt in
words; csv, json, jsonl and latex have all of it. Import csv into a spreadsheet as text: cells may begin with =.
Examples:
  harness query "SELECT method, seed, split, metric, mean, n FROM v_results"
  harness query --list
  harness query "SELECT * FROM v_results WHERE metric = :m" -p m cer --format csv)",
                              kWidestCell)};
  command.add("sql", &o->sql, "a SELECT, or the name of a saved query", {.offers = query_names});
  command.add("-p,--param", &o->params, "value of the parameter :NAME", {.one_each = true});
  command.add("--list", &o->list, "list the saved queries");
  command.add("--format", &o->format, "table, csv, json, jsonl, md or latex", {.offers = query_format_names});
  command.add("--json", &o->json, "same as --format json", {.excludes = {"--format"}});
  add_workspace_options(command, o->db.place);
  command.run = [o] { return query(*o); };
  return command;
}

const bool kRegistered = register_command(CommandGroup::kLook, 30, make_query);

}  // namespace
}  // namespace harness
