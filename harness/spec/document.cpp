#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "harness/spec/reading.h"
#include "harness/workspace/workspace.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

bool is_file_name(const std::string& id) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !id.empty() && std::isalnum(static_cast<unsigned char>(id[0])) != 0 &&
         std::all_of(id.begin(), id.end(), is_plain);
}

constexpr std::uintmax_t kLargestFile = 1'000'000;  // bytes; a shipped table has 8 kB
constexpr std::size_t kLongestText = 10'000;        // bytes: the longest note of a shipped table has 210
constexpr std::size_t kLongestList = 1000;          // seeds, rows, columns, notes, ...

/// The file of the table that `file` extends: an id, or a path relative to `file`.
fs::path base_of(const std::string& base, const fs::path& file) {
  const auto where = file.string() + ": extends";
  if (!is_table_file(base)) {
    require_choice(base, known_tables(), "table", where);
    return find_data_file("tables/" + base + ".json");
  }
  const auto base_file = file.parent_path() / base;
  refuse_unless(fs::exists(base_file), fmt::format("there is no file {}", base_file.string()), where,
                "a path is relative to the file that names it; or give a table's id");
  return base_file;
}

/// Takes out of a table's backbones and scales what would overrule the settings of a table that extends it.
void take_out(const Json& settings, Json& table) {
  for (const char* group : {"backbones", "scales"}) {
    if (!table.contains(group) || !table[group].is_object()) continue;
    for (auto& member : table[group]) {
      if (!member.is_object() || !member.contains("settings") || !member["settings"].is_object()) continue;
      for (const auto& [name, _] : settings.items()) member["settings"].erase(name);
    }
  }
}

/// `document` over the table that it extends, as a merge patch (RFC 7386: objects are merged, all else is
/// replaced, null removes); its settings over all of that table's. `above`: the files that led here.
Json resolved(Json document, const fs::path& file, std::vector<std::string> above) {
  if (!document.is_object() || !document.contains("extends")) return document;
  const auto where = file.string() + ": extends";
  refuse_unless(document["extends"].is_string(), "must be the id of a table or a file", where);
  const auto base = base_of(document["extends"].get<std::string>(), file);
  above.push_back(fs::weakly_canonical(file).string());
  const auto next = fs::weakly_canonical(base).string();
  refuse_unless(std::find(above.begin(), above.end(), next) == above.end(),
                fmt::format("the table extends itself: {} -> {}", join(above, " -> "), next), where,
                "extend another table, or give all of it here");
  document.erase("extends");
  auto whole = resolved(read_table_document(base), base, std::move(above));
  refuse_unless(document.contains("id") && document["id"] != whole.value("id", Json()),
                "a table that extends another needs an id of its own", file.string() + ": id");
  if (document.contains("settings") && document["settings"].is_object())
    take_out(document["settings"], whole);
  whole.merge_patch(document);
  return whole;
}

}  // namespace

void check_sizes(const Json& value, const std::string& where) {
  if (value.is_string()) {
    const auto size = value.get_ref<const std::string&>().size();
    refuse_unless(size <= kLongestText, fmt::format("has {} bytes", size), where,
                  fmt::format("a text of a table has at most {}", kLongestText));
  }
  if (value.is_array()) {
    refuse_unless(value.size() <= kLongestList, fmt::format("has {} entries", value.size()), where,
                  fmt::format("a list of a table has at most {}", kLongestList));
    for (std::size_t i = 0; i < value.size(); ++i) check_sizes(value[i], fmt::format("{}[{}]", where, i));
  }
  if (!value.is_object()) return;
  const char* joint = where.find(": ") == std::string::npos ? ": " : ".";
  for (const auto& [key, member] : value.items()) {
    check_sizes(key, where + ": a key");
    check_sizes(member, where + joint + key);
  }
}

void require_head(const Fields& fields) {
  if (fields.has(kTablesKey)) {
    const Json& tables = fields.raw().at(kTablesKey);
    const bool has_names = tables.is_array() && std::ranges::all_of(tables, &Json::is_string);
    throw Error(
        "joins several tables, and one is asked for here", fields.where(),
        "name one of them" + (has_names ? ": " + join(tables.get<std::vector<std::string>>(), ", ") : ""));
  }
  for (const char* key : {"id", "task", "backbone"}) {
    refuse_unless(
        fields.has(key), fmt::format("\"{}\" is missing", key), fields.where(),
        "give it; a table that changes another one also names that one, in \"extends\" (`harness list "
        "tables`)");
  }
}

bool is_table_file(const std::string& id_or_file) {
  return id_or_file.ends_with(".json") || id_or_file.find('/') != std::string::npos;
}

Json read_table_document(const fs::path& file) {
  std::error_code unknown;  // what cannot be asked cannot be read either
  const auto size = fs::file_size(file, unknown);
  refuse_unless(unknown || size <= kLargestFile, fmt::format("has {} bytes", size), file.string(),
                fmt::format("a table has at most {}", kLargestFile));
  return read_json(file);
}

void require_table_id(const std::string& id, const std::string& where) {
  refuse_unless(
      is_file_name(id),
      "must be letters, digits, '-', '_' and '.', beginning with a letter or digit: it names a folder",
      where);
  constexpr std::size_t kLongestId = 100;
  refuse_unless(
      id.size() <= kLongestId,
      fmt::format("has {} letters, and at most {} are allowed: it names a folder", id.size(), kLongestId),
      where);
  refuse_unless(!is_taken_in_workspace(id),
                fmt::format("\"{}\" is the name of something else in a workspace", id), where,
                "choose another: the table's files go to a folder of this name");
}

TableSpec read_table_spec(const fs::path& file) {
  return parse_table_spec(resolved(read_table_document(file), file, {}), file);
}

std::vector<std::string> known_tables() {
  std::vector folders = {find_data_file("tables/sd35-ocr.json").parent_path()};
  if (const char* path = std::getenv("HARNESS_PATH")) {
    for (const auto& folder : split(path, ':')) {
      std::error_code unknown;
      if (!folder.empty() && fs::is_directory(fs::path(folder) / "tables", unknown))
        folders.push_back(fs::path(folder) / "tables");
    }
  }
  std::set<std::string> ids;
  for (const auto& folder : folders)
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".json") ids.insert(entry.path().stem().string());
  return {ids.begin(), ids.end()};
}

bool is_known_table(const std::string& id) {
  return std::ranges::count(known_tables(), id) > 0;
}

TableSpec load_table_spec(const std::string& id_or_file, const std::string& where) {
  if (is_table_file(id_or_file)) return read_table_spec(id_or_file);
  const auto known = known_tables();
  if (std::ranges::count(known, id_or_file) == 0 && fs::exists(id_or_file + ".json"))
    throw Error(fmt::format("unknown table \"{}\"", id_or_file), where,
                fmt::format("your own is a file: {}.json", id_or_file));
  require_choice(id_or_file, known, "table", where);
  return read_table_spec(find_data_file("tables/" + id_or_file + ".json"));
}

}  // namespace harness
