#include "results/paper/paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/files.h"
#include "core/json.h"
#include "core/text.h"

namespace harness {
namespace {

template <class T>
std::optional<T> maybe(Fields& fields, const std::string& key) {
  if (!fields.has(key) || fields.get(key).is_null()) return std::nullopt;
  return fields.required<T>(key);
}

std::string text_or_empty(Fields& fields, const std::string& key) {
  return maybe<std::string>(fields, key).value_or("");
}

PaperColumn read_column(Fields fields) {
  PaperColumn column{.key = fields.required<std::string>("key"),
                     .unit = fields.required<std::string>("unit")};
  fields.required<std::string>("title");
  const auto better = fields.required<std::string>("better");
  if (better != "up" && better != "down" && better != "none")
    throw Error("unknown direction \"" + better + "\"", fields.where() + ": better",
                "it is \"up\", \"down\" or \"none\"");
  fields.finish();
  return column;
}

PaperRow read_row(Fields fields) {
  PaperRow row;
  row.method = fields.required<std::string>("method");
  row.task = text_or_empty(fields, "task");
  row.checkpoint = maybe<int>(fields, "checkpoint");
  row.selected = fields.required<bool>("selected");
  Fields values = fields.object("values");
  for (const auto& key : values.keys()) {
    Fields cell = values.object(key);
    row.values[key] = {cell.required<double>("value"), cell.required<std::string>("printed")};
    cell.finish();
  }
  fields.finish();
  return row;
}

std::optional<Interval> read_interval(Fields& fields) {
  const auto ends = maybe<std::vector<double>>(fields, "ci");
  if (!ends) return std::nullopt;
  if (ends->size() != 2) throw Error("needs two numbers", fields.where() + ": ci");
  return Interval{(*ends)[0], (*ends)[1]};
}

PaperComparison read_comparison(Fields fields) {
  PaperComparison comparison;
  comparison.baseline = fields.required<std::string>("baseline");
  comparison.method = fields.required<std::string>("method");
  comparison.metric = fields.required<std::string>("metric");
  comparison.task = text_or_empty(fields, "task");
  comparison.delta = maybe<double>(fields, "delta");
  comparison.t = maybe<double>(fields, "t");
  comparison.relative_percent = maybe<double>(fields, "relative_percent");
  comparison.ci = read_interval(fields);
  comparison.n = maybe<std::int64_t>(fields, "n");
  comparison.wins = maybe<std::int64_t>(fields, "wins");
  comparison.ties = maybe<std::int64_t>(fields, "ties");
  comparison.losses = maybe<std::int64_t>(fields, "losses");
  maybe<bool>(fields, "resolved");
  comparison.printed = fields.required<bool>("printed");
  fields.finish();
  return comparison;
}

/// Reads each object of the array `key` with `read`.
template <class Item>
std::vector<Item> read_list(Fields& fields, const std::string& key, Item (*read)(Fields)) {
  const Json& list = fields.get(key);
  if (!list.is_array()) throw Error("is not a list", fields.where() + ": " + key);
  std::vector<Item> items;
  for (std::size_t i = 0; i < list.size(); ++i) {
    items.push_back(read(Fields(list[i], fmt::format("{}: {}[{}]", fields.where(), key, i))));
  }
  return items;
}

GalleryPrompt read_prompt(Fields fields) {
  fields.required<std::string>("block");
  GalleryPrompt prompt{.index = fields.required<int>("index"),
                       .target_sha256 = fields.required<std::string>("target_sha256")};
  fields.finish();
  return prompt;
}

}  // namespace

const PaperColumn* PaperTable::column(std::string_view key) const {
  const auto found = std::ranges::find(columns, key, &PaperColumn::key);
  return found == columns.end() ? nullptr : &*found;
}

const PaperRow* PaperTable::row(std::string_view method, std::string_view of_task,
                                std::optional<int> checkpoint) const {
  const PaperRow* only = nullptr;
  int matches = 0;
  for (const auto& candidate : rows) {
    if (candidate.method != method || (!of_task.empty() && candidate.task != of_task)) continue;
    if (checkpoint ? candidate.checkpoint == checkpoint : candidate.selected) return &candidate;
    only = &candidate;
    ++matches;
  }
  return !checkpoint && matches == 1 ? only : nullptr;
}

const PaperComparison* PaperTable::comparison(std::string_view baseline, std::string_view method,
                                              std::string_view metric, std::string_view of_task) const {
  for (const auto& candidate : comparisons) {
    if (candidate.baseline == baseline && candidate.method == method && candidate.metric == metric &&
        (of_task.empty() || candidate.task == of_task)) {
      return &candidate;
    }
  }
  return nullptr;
}

PaperTable read_paper_table(const std::filesystem::path& file) {
  const Json document = read_json(file);
  Fields fields(document, file.filename().string());
  PaperTable table;
  table.id = fields.required<std::string>("id");
  table.paper = fields.required<std::string>("paper");
  table.label = fields.required<std::string>("label");
  fields.required<std::string>("caption");
  table.backbone = text_or_empty(fields, "backbone");
  table.task = text_or_empty(fields, "task");
  table.split = text_or_empty(fields, "split");
  table.n = maybe<std::int64_t>(fields, "n");
  maybe<std::int64_t>(fields, "seeds");
  table.columns = read_list(fields, "columns", read_column);
  table.rows = read_list(fields, "rows", read_row);
  table.comparisons = read_list(fields, "comparisons", read_comparison);
  fields.finish();
  for (const auto& row : table.rows) {
    for (const auto& [key, value] : row.values) {
      if (!table.column(key))
        throw Error("no column \"" + key + "\"", fields.where() + ": rows: " + row.method);
    }
  }
  return table;
}

PaperTable load_paper_table(const std::string& id) {
  return read_paper_table(find_data_file("paper/" + id + ".json"));
}

double paper_value_in_db_unit(const PaperColumn& column, const PaperValue& value) {
  if (column.unit != "percent") return value.value;
  // Through the printed digits: 22.83 / 100 would be 0.22829999999999998.
  return std::strtod(fmt::format("{}e-2", value.value).c_str(), nullptr);
}

std::optional<PaperGallery> load_paper_gallery(const std::string& task) {
  if (task != "ocr" && task != "pickscore" && task != "geneval") return std::nullopt;
  const auto file = find_data_file("paper/galleries/" + task + ".json");
  const auto document = read_json(file);
  Fields fields(document, file.string());
  fields.required<std::string>("id");
  const std::vector<std::string> indices{"prompt-set-from-0",
                                         "test-split-from-1"};  // in the order of GalleryIndex
  const auto index = fields.required<std::string>("index");
  const auto known = std::ranges::find(indices, index);
  if (known == indices.end())
    throw Error(fmt::format("unknown index \"{}\"", index), fields.where() + ": index",
                suggestion(index, indices));
  PaperGallery gallery{.index = static_cast<GalleryIndex>(known - indices.begin()),
                       .prompt_set = fields.optional<std::string>("prompt_set", ""),
                       .other_sets = fields.optional<bool>("other_sets", true)};
  gallery.prompts = read_list(fields, "prompts", read_prompt);
  fields.finish();
  return gallery;
}

std::optional<int> gallery_position(const PaperGallery& gallery, const GalleryPrompt& prompt,
                                    std::span<const int> test) {
  if (gallery.index == GalleryIndex::kPromptSetFrom0) {
    return std::ranges::binary_search(test, prompt.index) ? std::optional(prompt.index) : std::nullopt;
  }
  if (prompt.index < 1 || static_cast<std::size_t>(prompt.index) > test.size()) return std::nullopt;
  return test[static_cast<std::size_t>(prompt.index) - 1];
}

}  // namespace harness
