#include "harness/spec/collection.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "harness/terminal/output.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kKept = "collection.json";

/// Rows are distinguished by their task. `backbone_of`: the backbone that a table is made with.
void require_different_tasks(const Collection& whole, const auto& backbone_of, const std::string& where) {
  std::set<std::string> tasks;
  for (const auto& table : whole.tables) {
    const auto task = for_backbone(table, backbone_of(table)).task;
    refuse_unless(tasks.insert(task).second, fmt::format("two tables have the task {}", task), where,
                  "rows are distinguished by their task");
  }
}

/// Under one heading stands what can be compared: rows of the same names and seeds.
void require_alike(const Collection& whole, const std::string& where) {
  const auto& first = whole.tables.front();
  const auto require_same = [&](const TableSpec& table, bool same, const char* what) {
    refuse_unless(same, fmt::format("{} and {} have different {}", first.id, table.id, what), where,
                  "tables of one collection agree in kind, methods, baseline and seeds");
  };
  std::set<std::string> ids, backbones;
  for (const auto& table : whole.tables) {
    refuse_unless(table.id != whole.id, fmt::format("table {} has the collection's own id", table.id), where);
    refuse_unless(ids.insert(table.id).second, fmt::format("names the table {} twice", table.id), where);
    for (const auto& [name, _] : table.backbones) backbones.insert(name);
    refuse_unless(!table.is_training(), fmt::format("table {} is one of training statistics", table.id),
                  where, "a collection joins tables of evaluations");
    require_same(table, table.methods == first.methods, "methods");
    require_same(table, table.baseline == first.baseline, "baselines");
    require_same(table, table.seeds == first.seeds, "seeds");
    require_same(table, table.shown.split == first.shown.split, "splits");
  }
  require_different_tasks(
      whole, [](const TableSpec& table) { return table.backbone; }, where);
  for (const auto& backbone : backbones)
    require_different_tasks(
        whole, [&](const TableSpec&) { return backbone; }, where);
}

CollectedColumn read_column(const Collection& whole, const Json& value, const std::string& where) {
  Fields fields(value, where);
  CollectedColumn column;
  column.title = fields.required<std::string>("title");
  if (fields.get("of").is_string()) {
    for (const auto& table : whole.tables) column.of[table.id] = fields.required<std::string>("of");
  } else {
    auto of = fields.object("of");
    for (const auto& table : whole.tables) column.of[table.id] = of.required<std::string>(table.id);
    of.finish();
  }
  fields.finish();
  for (const auto& table : whole.tables) {
    require_choice(column.of.at(table.id), names_of(table.columns), fmt::format("column of {}", table.id),
                   where + ": of");
  }
  return column;
}

Collection read_collection(const Json& document, const fs::path& file) {
  Fields fields(document, file.string());
  Collection whole;
  whole.id = fields.required<std::string>("id");
  whole.file = file;
  require_table_id(whole.id, fields.where() + ": id");
  whole.title = fields.optional<std::string>("title", whole.id);
  whole.version = fields.optional<int>("version", 1);
  whole.notes = fields.optional<std::vector<std::string>>("notes", {});
  const auto where = fields.where() + ": tables";
  for (const auto& name : fields.required<std::vector<std::string>>("tables")) {
    whole.names.push_back(is_table_file(name) ? (file.parent_path() / name).lexically_normal().string()
                                              : name);
    whole.tables.push_back(load_table_spec(whole.names.back(), where));
  }
  refuse_unless(whole.tables.size() >= 2, "needs two tables or more", where);
  require_alike(whole, where);
  const Json& columns = fields.get("columns");
  refuse_unless(columns.is_array() && !columns.empty(), "must be a list of columns",
                fields.where() + ": columns");
  for (std::size_t i = 0; i < columns.size(); ++i)
    whole.columns.push_back(
        read_column(whole, columns[i], fmt::format("{}: columns[{}]", fields.where(), i)));
  fields.finish();
  return whole;
}

}  // namespace

std::vector<std::string> Collection::table_ids() const {
  std::vector<std::string> ids;
  for (const auto& table : tables) ids.push_back(table.id);
  return ids;
}

std::string Collection::backbone_for(const TableSpec& table, const std::string& of_first) const {
  return of_first == tables.front().backbone ? table.backbone : of_first;
}

std::vector<std::string> Collection::backbones() const {
  std::vector<std::string> own;
  for (const auto& table : tables) {
    if (std::ranges::find(own, table.backbone) == own.end()) own.push_back(table.backbone);
  }
  return own;
}

std::optional<Collection> find_collection(const std::string& id_or_file) {
  if (id_or_file.empty()) return std::nullopt;
  fs::path file = id_or_file;
  if (!is_table_file(id_or_file)) {
    if (!is_known_table(id_or_file)) return std::nullopt;
    file = find_data_file("tables/" + id_or_file + ".json");
  }
  const auto document = read_table_document(file);
  if (!document.is_object() || !document.contains(kTablesKey)) return std::nullopt;
  return read_collection(document, file);
}

void keep_collection(const Collection& collection, const fs::path& folder) {
  auto document = read_table_document(collection.file);
  document[kTablesKey] = Json::array();
  for (const auto& name : collection.names)
    document[kTablesKey].push_back(is_table_file(name) ? fs::absolute(name).lexically_normal().string()
                                                       : name);
  write_file_atomically(folder / kKept, document.dump(2) + "\n");
}

std::optional<Collection> kept_collection(const fs::path& folder) {
  const auto file = folder / kKept;
  return fs::is_regular_file(file) ? find_collection(file.string()) : std::nullopt;
}

}  // namespace harness
