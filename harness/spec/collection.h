#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/spec/table_spec.h"

namespace harness {

/// A heading over one column of each table of a collection.
struct CollectedColumn {
  std::string title;
  std::map<std::string, std::string> of;  ///< id of a table -> its column, as its file calls it
};

/// Several tables, a task each, as one: a row a task and method, and all claims in one family.
struct Collection {
  std::string id, title;
  int version = 1;
  std::vector<std::string> names;  ///< what each table is known by: an id, or a file
  std::vector<TableSpec> tables;   ///< of the same methods, baseline and seeds, each with its own backbone
  std::vector<CollectedColumn> columns;
  std::vector<std::string> notes;
  std::filesystem::path file;

  std::vector<std::string> table_ids() const;
  /// The backbone that a table has where the first one was made with `of_first`: its own beside the first
  /// one's own, else the same.
  std::string backbone_for(const TableSpec& table, const std::string& of_first) const;
  std::vector<std::string> backbones() const;  ///< the tables' own, each once
};

/// The collection that an id or FILE.json names; nothing for a table, and for an unknown id. Throws
/// Error: an unknown key, tables that do not go together, a column that a table does not have.
std::optional<Collection> find_collection(const std::string& id_or_file);

/// Keeps a user's own collection in the folder of its tables, and finds it there again by its id.
void keep_collection(const Collection& collection, const std::filesystem::path& folder);
std::optional<Collection> kept_collection(const std::filesystem::path& folder);

}  // namespace harness
