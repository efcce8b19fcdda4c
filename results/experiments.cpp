#include "results/experiments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "results/sql.h"

namespace harness {

std::vector<StoredReproduction> completed_experiments(SQLite::Database& db) {
  SQLite::Statement statement(db, R"sql(
    SELECT id, table_id, backbone, scale, seeds, methods, spec, signature, finished, wall_seconds
    FROM reproductions ORDER BY recency DESC)sql");
  Query row(statement);
  std::vector<StoredReproduction> all;
  while (row.step()) {
    auto& e = all.emplace_back();
    e.id = row.integer(0);
    e.table_id = row.text(1);
    e.backbone = row.text(2);
    e.scale = row.text(3);
    e.seeds = parse_json(row.text(4), "reproductions.seeds").get<std::vector<std::int64_t>>();
    e.methods = parse_json(row.text(5), "reproductions.methods").get<std::vector<std::string>>();
    e.spec = parse_json(row.text(6), "reproductions.spec");
    e.signature = row.text(7);
    e.finished = row.text(8);
    e.wall_seconds = row.real(9).value_or(0);
  }
  return all;
}

std::string in_words(const StoredReproduction& e) {
  return fmt::format("experiment {}: table {}, backbone {}, scale {}, prompts {}, seeds {}, finished {}",
                     e.id, e.table_id, e.backbone, e.scale, prompts_of(e), fmt::join(e.seeds, ","),
                     e.finished);
}

std::string prompts_of(const StoredReproduction& experiment) {
  const Json::json_pointer name("/effective/prompt_set/name");
  return experiment.spec.contains(name) ? experiment.spec.at(name).get<std::string>() : "";
}

}  // namespace harness
