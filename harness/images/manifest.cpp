#include "harness/images/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <locale>
#include <map>
#include <set>
#include <sstream>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "harness/images/collector.h"
#include "harness/images/csv.h"
#include "harness/images/table_file.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

using Names = std::vector<std::string>;
const Names kFileNames = {"file", "file_name", "filename", "path", "image", "image_path"};
const Names kPromptNames = {"prompt", "text", "caption"};
const Names kIndexNames = {"index", "prompt_index", "prompt_id", "position"};
const Names kSampleNames = {"sample", "sample_index", "sample_id"};
const Names kSeedNames = {"seed", "noise_seed", "image_seed"};

/// A number as a field may hold it: digits as a text, with ".0" as tables with empty cells write it, or a
/// number without a fraction.
template <class T>
std::optional<T> whole_number(const Json& field) {
  if (field.is_number_float()) {
    const auto value = field.get<double>();
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (value != std::floor(value) || std::abs(value) > kExact) return std::nullopt;
    const auto whole = static_cast<std::int64_t>(value);
    return std::in_range<T>(whole) ? std::optional(static_cast<T>(whole)) : std::nullopt;
  }
  if (!field.is_string() && !field.is_number_integer()) return std::nullopt;
  const auto text = field.is_string() ? field.get<std::string>() : field.dump();
  const auto digits = text.substr(0, text.find('.'));
  if (text.find_first_not_of('0', std::min(digits.size() + 1, text.size())) != std::string::npos)
    return std::nullopt;
  return parse_number<T>(digits);
}

std::string in_message(const Json& field) {
  return field.is_string() ? in_quotes(field.get<std::string>()) : field.dump();
}

/// A line of a manifest: its fields, and where it is.
struct ManifestRow {
  std::map<std::string, Json> fields = {};  ///< by their names in lower case
  std::string where;

  void add(std::string name, Json field) {
    boost::algorithm::to_lower(name, std::locale::classic());
    if (!fields.emplace(name, std::move(field)).second)
      throw Error(fmt::format("duplicate name {}: upper and lower case are the same here", in_quotes(name)),
                  where);
  }

  /// The first of these that holds something, by its name.
  const std::pair<const std::string, Json>* any_of(const Names& names) const {
    for (const auto& name : names) {
      const auto found = fields.find(name);
      if (found != fields.end() && !found->second.is_null() && found->second != "") return &*found;
    }
    return nullptr;
  }

  std::optional<std::string> text(const Names& names) const {
    const auto* found = any_of(names);
    if (found == nullptr) return std::nullopt;
    if (!found->second.is_string())
      throw Error(fmt::format("\"{}\" is {}, and must be a text", found->first, in_message(found->second)),
                  where);
    return found->second.get<std::string>();
  }

  /// Throws Error where another of these is a text that does not mean the same.
  void require_no_other(const Names& names, const auto& means_the_same) const {
    for (const auto& name : names) {
      const auto other = fields.find(name);
      if (other == fields.end() || !other->second.is_string() || other->second == "" ||
          means_the_same(other->second.get<std::string>()))
        continue;
      const auto& [first, value] = *any_of(names);
      throw Error(fmt::format("\"{}\" is {}, and \"{}\" is {}", first, in_message(value), name,
                              in_message(other->second)),
                  where, "keep the one that is meant");
    }
  }

  /// Throws Error where two fields that mean the same hold different numbers.
  template <class T>
  std::optional<T> number(const Names& names) const {
    const auto* found = any_of(names);
    if (found == nullptr) return std::nullopt;
    const auto value = whole_number<T>(found->second);
    if (!value)
      throw Error(fmt::format("\"{}\" is {}, and must be a whole number{}", found->first,
                              in_message(found->second), std::is_unsigned_v<T> ? " of 0 or more" : ""),
                  where);
    for (const auto& name : names) {
      const auto other = fields.find(name);
      const auto number = other == fields.end() ? std::nullopt : whole_number<T>(other->second);
      if (number && *number != *value)
        throw Error(fmt::format("\"{}\" is {}, and \"{}\" is {}", found->first, *value, name, *number), where,
                    "keep the one that is meant");
    }
    return value;
  }
};

std::vector<ManifestRow> rows_of_csv(const fs::path& file) {
  std::vector<ManifestRow> rows;
  for (const auto& row : read_csv(file)) {
    rows.push_back({.fields = {}, .where = fmt::format("{}:{}", file.string(), row.line)});
    for (const auto& [name, field] : row.fields) rows.back().add(name, field);
  }
  return rows;
}

std::vector<ManifestRow> rows_of_json(const fs::path& file) {
  std::vector<ManifestRow> rows;
  std::istringstream lines(read_table_text(file));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (trim(line).empty()) continue;
    const auto where = fmt::format("{}:{}", file.string(), number);
    const auto value = parse_json_line(without_nan(line), where);
    if (!value.is_object()) throw Error("expected a JSON object", where, "write one object per line");
    ManifestRow row{.fields = {}, .where = where};
    for (const auto& [name, field] : value.items()) row.add(name, field);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The claim of a line on its prompt; its name is left to fill in.
ImageClaim claim_of(const ManifestRow& row, const PromptFinder& prompts) {
  const auto index = row.number<long long>(kIndexNames);
  const auto text = row.text(kPromptNames);
  if (!index && !text)
    throw Error("names no prompt", row.where, "give \"prompt\", its text, or \"index\", its number");
  ImageClaim claim{.position = index ? prompts.at(*index, row.where) : prompts.of_text(*text, row.where),
                   .name = {},
                   .where = row.where,
                   .by_number = !text};
  if (index && text && !prompts.is_of(claim.position, *text)) {
    throw Error(
        fmt::format("its prompt is not the one of index {}", *index), row.where,
        "give the prompts that these images were generated from, in their order; --index-from says where "
        "numbers begin");
  }
  row.require_no_other(kPromptNames,
                       [&](const std::string& other) { return prompts.is_of(claim.position, other); });
  claim.sample = row.number<std::uint64_t>(kSampleNames);
  const auto* seed = row.any_of(kSeedNames);
  if (seed != nullptr && claim.sample)
    claim.seed = whole_number<std::uint64_t>(seed->second);  // one of another kind is ignored
  else
    claim.seed = row.number<std::uint64_t>(kSeedNames);
  return claim;
}

/// The longest stretch of a caption between its " | " that is a prompt, which may itself hold one. Throws
/// Error (at `where`) where several prompts have it, or two stretches apart are prompts.
std::optional<int> position_of_caption(const std::string& caption, const PromptFinder& prompts,
                                       const std::string& where) {
  constexpr std::string_view kBetween = " | ";
  constexpr std::size_t kMostParts = 64;
  std::vector<std::size_t> begins = {0}, ends;
  for (auto at = caption.find(kBetween); at != std::string::npos && ends.size() < kMostParts;
       at = caption.find(kBetween, at + 1)) {
    ends.push_back(at);
    begins.push_back(at + kBetween.size());
  }
  ends.push_back(caption.size());
  std::vector<std::string_view> prompts_there;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    for (std::size_t j = i; j < ends.size(); ++j) {
      const auto part = std::string_view(caption).substr(begins[i], ends[j] - begins[i]);
      if (prompts.knows(part)) prompts_there.push_back(part);
    }
  }
  if (prompts_there.empty()) return std::nullopt;
  const auto longest = *std::ranges::max_element(prompts_there, {}, &std::string_view::size);
  const int position = prompts.of_text(longest, where);
  for (const auto part : prompts_there) {
    const bool is_inside =
        part.data() >= longest.data() && part.data() + part.size() <= longest.data() + longest.size();
    if (is_inside || prompts.of_text(part, where) == position) continue;
    throw Error(fmt::format("the caption {} holds two prompts, {} and {}", in_quotes(caption),
                            in_quotes(longest), in_quotes(part)),
                where, "write a manifest.csv with the columns file and prompt");
  }
  return position;
}

/// An image that was logged without a caption has null.
std::vector<std::optional<std::string>> captions_of(Fields& logged) {
  std::vector<std::optional<std::string>> captions;
  const auto& list = logged.get("captions");
  if (!list.is_array()) logged.fail("captions", "must be a list");
  for (const auto& caption : list) {
    if (!caption.is_string() && !caption.is_null()) logged.fail("captions", "holds a value that is not text");
    captions.push_back(caption.is_null() ? std::nullopt : std::optional(caption.get<std::string>()));
  }
  return captions;
}

/// A note on images next to a manifest that it does not list; nothing if there is none.
std::optional<std::string> note_on_unlisted(const fs::path& folder, const fs::path& file,
                                            const ImageList& list) {
  std::set<fs::path> listed;
  for (const auto& image : list.images) listed.insert((folder / image.name).lexically_normal());
  std::vector<std::string> others;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    const auto& path = entry.path();
    if (ImageCollector::is_image(path) && !path.filename().string().starts_with('.') &&
        !listed.contains(path.lexically_normal()))
      others.push_back(path.filename().string());
  }
  if (others.empty()) return std::nullopt;
  return fmt::format("{} beside {} {} not listed there and not scored, such as {}",
                     counted(std::ssize(others), "image"), file.filename().string(),
                     others.size() == 1 ? "is" : "are", *std::ranges::min_element(others));
}

/// Of the sets of images that a wandb run logged those that have captions of these prompts.
std::vector<std::string> with_prompts(const std::vector<std::string>& keys, const Json& summary,
                                      const PromptFinder& prompts, const std::string& where) {
  const auto is_prompt = [&](const Json& caption) {
    try {
      return caption.is_string() && position_of_caption(caption.get<std::string>(), prompts, where);
    } catch (const Error&) {
      return true;  // of one of several
    }
  };
  std::vector<std::string> with;
  std::ranges::copy_if(keys, std::back_inserter(with), [&](const std::string& key) {
    return std::ranges::any_of(summary.at(key).at("captions"), is_prompt);
  });
  return with;
}

}  // namespace

std::optional<fs::path> manifest_in(const fs::path& folder) {
  std::vector<fs::path> there;
  for (const char* name : {"manifest.csv", "manifest.jsonl", "metadata.csv", "metadata.jsonl"}) {
    if (fs::exists(folder / name)) there.push_back(folder / name);
  }
  if (there.size() > 1)
    throw Error(fmt::format("holds {} manifests, {} and {}", there.size(), there[0].filename().string(),
                            there[1].filename().string()),
                folder.string(), fmt::format("give the one that is meant, as {}", there[0].string()));
  return there.empty() ? std::nullopt : std::optional(there.front());
}

ImageList read_manifest(const ImagePlace& place, const fs::path& file, const PromptFinder& prompts) {
  const auto folder = fs::absolute(file).parent_path();
  ImageCollector images(place, prompts);
  const auto rows = file.extension() == ".csv" ? rows_of_csv(file) : rows_of_json(file);
  if (rows.empty()) throw Error("names no image", file.string());
  std::map<std::string, std::string> known;
  for (const auto& row : rows) {
    const auto name = row.text(kFileNames);
    if (!name) {
      std::vector<std::string> given;
      for (const auto& [field, _] : row.fields) given.push_back(field);
      throw Error("names no file", row.where, "give it as \"file\"; fields there: " + join(given, ", "));
    }
    row.require_no_other(kFileNames, [&](const std::string& other) {
      return (folder / other).lexically_normal() == (folder / *name).lexically_normal();
    });
    std::error_code unreadable;
    if (!fs::is_regular_file(folder / *name, unreadable)) {
      throw Error(fmt::format("there is no file {}{}", (folder / *name).string(),
                              unreadable ? ": " + unreadable.message() : std::string()),
                  row.where, "names are relative to the manifest's folder; leave out rows without an image");
    }
    if (!ImageCollector::is_image(*name))
      throw Error(fmt::format("{} is not a .png, .jpg or .jpeg file", *name), row.where, "convert it to PNG");
    auto claim = claim_of(row, prompts);
    if (const auto [first, is_new] = known.emplace(*name, row.where); !is_new)
      throw Error(fmt::format("{} is there already ({})", *name, first->second), row.where,
                  "leave one of the lines out");
    claim.name = *name;
    images.add(std::move(claim));
  }
  auto list = std::move(images).finish(folder, "manifest " + file.filename().string());
  if (auto note = note_on_unlisted(folder, file, list)) list.notes.push_back(std::move(*note));
  return list;
}

std::optional<fs::path> wandb_summary_in(const fs::path& folder) {
  for (const auto& file : {folder / "wandb-summary.json", folder / "files" / "wandb-summary.json"}) {
    if (fs::exists(file)) return file;
  }
  return std::nullopt;
}

ImageList read_wandb_summary(const ImagePlace& place, const fs::path& file, const PromptFinder& prompts) {
  const auto summary = parse_json(without_nan(read_file(file)), file.string());
  const auto folder = fs::absolute(file).parent_path();
  std::vector<std::string> keys;
  for (const auto& [key, value] : summary.items()) {
    if (value.is_object() && value.value("_type", "") == "images/separated" && value.contains("filenames") &&
        value.contains("captions"))
      keys.push_back(key);
  }
  // Images of training are those of other prompts: where they are not, which are meant is a guess.
  if (const auto with = with_prompts(keys, summary, prompts, file.string()); !with.empty()) keys = with;
  if (keys.size() != 1) {
    throw Error(keys.empty() ? std::string("holds no logged images with captions")
                             : "any of its sets of logged images may be meant: " + join(keys, ", "),
                file.string(), "write a manifest.csv with the columns file and prompt");
  }
  Fields logged(summary.at(keys.front()), file.string() + ": " + keys.front());
  const auto names = logged.required<std::vector<std::string>>("filenames");
  const auto captions = captions_of(logged);
  if (names.size() != captions.size())
    throw Error(
        fmt::format("{} has {} file names and {} captions", keys.front(), names.size(), captions.size()),
        file.string());
  ImageCollector images(place, prompts);
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
      images.add({.position = *position, .name = names[i], .where = file.string()});
    }
  }
  auto list = std::move(images).finish(folder, fmt::format("images {} of a wandb run", keys.front()));
  if (without > 0)
    list.notes.push_back(fmt::format("{} of the {} captions are none of the prompts", without, names.size()));
  return list;
}

}  // namespace harness
