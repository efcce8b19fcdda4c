#include "harness/images/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "harness/images/collector.h"
#include "harness/images/csv.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

using Names = std::vector<std::string>;
const Names kFileNames = {"file", "file_name", "filename", "path", "image", "image_path"};
const Names kPromptNames = {"prompt", "text", "caption"};
const Names kIndexNames = {"index", "prompt_index", "prompt_id", "position"};
const Names kSampleNames = {"sample", "sample_index", "sample_id"};

/// A line of a manifest: its fields as texts, and where it is.
struct ManifestRow {
  std::map<std::string, std::string> fields;
  std::string where;

  const std::string* any_of(const Names& names) const {
    for (const auto& name : names) {
      if (const auto found = fields.find(name); found != fields.end() && !found->second.empty())
        return &found->second;
    }
    return nullptr;
  }

  std::optional<long long> number(const Names& names) const {
    const auto* text = any_of(names);
    if (text == nullptr) return std::nullopt;
    long long value = 0;
    const auto* end = text->data() + text->size();
    if (const auto parsed = std::from_chars(text->data(), end, value);
        parsed.ec != std::errc() || parsed.ptr != end)
      throw Error(fmt::format("{} is not a whole number", in_quotes(*text)), where);
    return value;
  }
};

std::vector<ManifestRow> rows_of_csv(const fs::path& file) {
  std::vector<ManifestRow> rows;
  for (auto& row : read_csv(file))
    rows.push_back({std::move(row.fields), fmt::format("{}:{}", file.string(), row.line)});
  return rows;
}

std::vector<ManifestRow> rows_of_json(const fs::path& file) {
  std::vector<ManifestRow> rows;
  std::istringstream lines(read_file(file));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (trim(line).empty()) continue;
    const auto where = fmt::format("{}:{}", file.string(), number);
    const auto value = parse_json_line(line, where);
    if (!value.is_object()) throw Error("is no JSON object", where);
    ManifestRow row{.fields = {}, .where = where};
    for (const auto& [name, field] : value.items()) {
      if (field.is_string() || field.is_number_integer())
        row.fields[name] = field.is_string() ? field.get<std::string>() : field.dump();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

int position_of(const ManifestRow& row, const PromptFinder& prompts) {
  const auto index = row.number(kIndexNames);
  const auto* text = row.any_of(kPromptNames);
  if (!index && text == nullptr)
    throw Error("names no prompt", row.where, "give \"prompt\", its text, or \"index\", its number");
  if (!index) return prompts.of_text(*text, row.where);
  const int position = prompts.at(*index, row.where);
  if (text != nullptr && trim(prompts.text_of(position)) != trim(*text)) {
    throw Error(fmt::format("its prompt is not the one of index {}", *index), row.where,
                "give the prompts that these images were drawn for, in their order; --index-from says where "
                "numbers begin");
  }
  return position;
}

/// The caption's part between " | " that is a prompt; the whole caption before any part. Throws Error (at
/// `where`) where several prompts have it.
std::optional<int> position_of_caption(const std::string& caption, const PromptFinder& prompts,
                                       const std::string& where) {
  if (const auto whole = prompts.find_text(caption, where)) return whole;
  constexpr std::string_view kBetween = " | ";
  const auto first = caption.find(kBetween), last = caption.rfind(kBetween);
  if (first == std::string::npos) return std::nullopt;
  if (const auto before = prompts.find_text(caption.substr(0, first), where)) return before;
  return prompts.find_text(caption.substr(last + kBetween.size()), where);
}

/// An image that was logged without a caption has null.
std::vector<std::optional<std::string>> captions_of(Fields& logged) {
  std::vector<std::optional<std::string>> captions;
  const auto& list = logged.get("captions");
  if (!list.is_array()) logged.fail("captions", "must be a list");
  for (const auto& caption : list) {
    if (!caption.is_string() && !caption.is_null()) logged.fail("captions", "holds what is no text");
    captions.push_back(caption.is_null() ? std::nullopt : std::optional(caption.get<std::string>()));
  }
  return captions;
}

}  // namespace

std::optional<fs::path> manifest_in(const fs::path& folder) {
  for (const char* name : {"manifest.csv", "manifest.jsonl", "metadata.csv", "metadata.jsonl"}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  return std::nullopt;
}

ImageList read_manifest(const ImagePlace& place, const fs::path& file, const PromptFinder& prompts) {
  const auto folder = fs::absolute(file).parent_path();
  ImageCollector images(place);
  const auto rows = file.extension() == ".csv" ? rows_of_csv(file) : rows_of_json(file);
  if (rows.empty()) throw Error("names no image", file.string());
  for (const auto& row : rows) {
    const auto* name = row.any_of(kFileNames);
    if (name == nullptr) throw Error("names no file", row.where, "give it as \"file\"");
    std::error_code unreadable;
    if (!fs::is_regular_file(folder / *name, unreadable)) {
      throw Error(fmt::format("there is no file {}{}", (folder / *name).string(),
                              unreadable ? ": " + unreadable.message() : std::string()),
                  row.where, "names are relative to the manifest's folder; leave out what was not drawn");
    }
    if (!ImageCollector::is_image(*name))
      throw Error(fmt::format("{} is no .png, .jpg or .jpeg", *name), row.where, "convert it to PNG");
    const auto sample = row.number(kSampleNames);
    images.add(position_of(row, prompts), sample, *name, row.where);
  }
  return std::move(images).finish(folder, "manifest " + file.filename().string());
}

std::optional<fs::path> wandb_summary_in(const fs::path& folder) {
  for (const auto& file : {folder / "wandb-summary.json", folder / "files" / "wandb-summary.json"}) {
    if (fs::exists(file)) return file;
  }
  return std::nullopt;
}

ImageList read_wandb_summary(const ImagePlace& place, const fs::path& file, const PromptFinder& prompts) {
  const auto summary = read_json(file);
  const auto folder = fs::absolute(file).parent_path();
  std::vector<std::string> keys;
  for (const auto& [key, value] : summary.items()) {
    if (value.is_object() && value.value("_type", "") == "images/separated" && value.contains("filenames") &&
        value.contains("captions"))
      keys.push_back(key);
  }
  // Images of training are those of other prompts.
  const auto is_of_evaluation = [](const std::string& key) { return key.find("eval") != std::string::npos; };
  if (std::ranges::any_of(keys, is_of_evaluation))
    std::erase_if(keys, [&](const std::string& key) { return !is_of_evaluation(key); });
  if (keys.size() != 1) {
    throw Error(keys.empty() ? std::string("holds no logged images with captions")
                             : "holds several sets of logged images: " + join(keys, ", "),
                file.string(), "write a manifest.csv with the columns file and prompt");
  }
  Fields logged(summary.at(keys.front()), file.string() + ": " + keys.front());
  const auto names = logged.required<std::vector<std::string>>("filenames");
  const auto captions = captions_of(logged);
  if (names.size() != captions.size())
    throw Error(
        fmt::format("{} has {} file names and {} captions", keys.front(), names.size(), captions.size()),
        file.string());
  ImageCollector images(place);
  int without = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto position =
        captions[i] ? position_of_caption(*captions[i], prompts, file.string()) : std::nullopt;
    if (!position) {
      ++without;
    } else if (!fs::is_regular_file(folder / names[i])) {
      throw Error(fmt::format("there is no file {}", names[i]), file.string(),
                  "copy the run's folder media/images as well");
    } else {
      images.add(*position, std::nullopt, names[i], file.string());
    }
  }
  auto list = std::move(images).finish(folder, fmt::format("images {} of a wandb run", keys.front()));
  if (without > 0)
    list.notes.push_back(fmt::format("{} of the {} captions are none of the prompts", without, names.size()));
  return list;
}

}  // namespace harness
