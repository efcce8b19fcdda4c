#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/command_line/recorded_path.h"
#include "core/error.h"
#include "core/text.h"
#include "harness/spec/reading.h"

namespace harness {
namespace fs = std::filesystem;

namespace {

/// A row: the name of a method, or {"name", "method", "settings", "paper"}.
void read_row(TableSpec& spec, const Json& value, const std::string& where) {
  if (value.is_string()) {
    spec.methods.push_back(value.get<std::string>());
    return;
  }
  Fields fields(value, where);
  ArmSpec arm;
  const char* outside = fields.has("adapters") ? "adapters" : fields.has("images") ? "images" : nullptr;
  if (outside != nullptr) {
    arm.method = fields.has("adapters") ? kOutsideMethod : kImagesMethod;
    arm.name = fields.required<std::string>("name");
    arm.places = fields.required<std::vector<std::string>>(outside);
    refuse_unless(!arm.places.empty(), "needs a folder or file for each run", where + ": " + outside);
  } else {
    arm.method = fields.required<std::string>("method");
    arm.name = fields.optional<std::string>("name", arm.method);
  }
  read_settings(fields, arm.settings);
  const auto paper = fields.optional<std::string>("paper", "");
  fields.finish();
  refuse_unless(!arm.name.empty() && arm.name.find_first_of(",=") == std::string::npos,
                "must be a name without , and =", where + ": name");
  if (!paper.empty()) spec.paper_rows[arm.name] = paper;
  spec.methods.push_back(arm.name);
  spec.arms[arm.name] = std::move(arm);
}

}  // namespace

void read_rows(TableSpec& spec, const Json& rows, const std::string& where) {
  refuse_unless(rows.is_array(), "must be a list of methods", where);
  for (std::size_t i = 0; i < rows.size(); ++i) read_row(spec, rows[i], fmt::format("{}[{}]", where, i));
}

void read_tuning(TableSpec& spec, Fields& fields) {
  const auto where = fields.where() + ": tuning";
  const Json& value = fields.get("tuning");
  const auto put = [&](const std::string& row, const Json& runs, const std::string& place) {
    refuse_unless(runs.is_number_integer() && runs.get<std::int64_t>() >= 0, "must be a number of runs",
                  place);
    spec.tuning[row] = runs.get<std::int64_t>();
  };
  if (!value.is_object()) {
    for (const auto& row : spec.methods) put(row, value, where);
    return;
  }
  for (const auto& [row, runs] : value.items()) {
    require_choice(row, spec.methods, "row", where);
    put(row, runs, where + "." + row);
  }
}

TableSpec with_outside_rows(TableSpec spec, const std::vector<std::string>& given, const char* option,
                            const char* key) {
  if (given.empty()) return spec;
  refuse_unless(!spec.is_training(), "is not for training tables: they compare statistics of the training",
                option, "leave it out");
  const auto own = spec.methods;
  for (const auto& text : given) {
    const auto [name, places] = name_and_place(text, option);
    refuse_unless(!spec.has_base || name != kBaseMethod, "\"base\" cannot be a row's name", option,
                  "choose another name: \"base\" is reserved for the base model");
    refuse_unless(std::ranges::count(own, name) == 0,
                  fmt::format("{} is a row of the table already", in_quotes(name)), option,
                  "give the row another name");
    Json row = {{"name", name}, {key, Json::array({absolute_places(places)})}};  // not below the table's file
    if (spec.arms.contains(name)) {
      spec.arms.at(name).places.push_back(row[key].front());
      for (auto& known : spec.document.at("methods")) {
        if (known.is_object() && known.value("name", "") == name) known[key].push_back(row[key].front());
      }
    } else {
      read_row(spec, row, option);
      spec.document.at("methods").push_back(std::move(row));
      if (const auto all = spec.document.find("tuning"); all != spec.document.end() && all->is_number())
        spec.tuning[name] = *all;
    }
  }
  check_sizes(spec.document, spec.file.string());
  check_selection_split(spec);
  return spec;
}

std::vector<std::string> places_in(const std::string& text, const fs::path& folder) {
  const std::string whole(trim(text));
  std::error_code unknown;
  if (!whole.empty() && fs::exists(folder / whole, unknown)) return {whole};
  std::vector<std::string> places;
  for (const auto& part : split(text, ',')) places.emplace_back(trim(part));
  return places;
}

std::string absolute_places(const std::string& given) {
  require_recordable(given, given);
  std::vector<std::string> places;
  for (const auto& place : places_in(given, "")) {
    places.push_back(place.empty() ? place : fs::weakly_canonical(fs::absolute(place)).string());
    require_recordable(places.back(), place);  // a link may lead anywhere
  }
  return join(places, ",");
}

std::pair<std::string, std::string> name_and_place(const std::string& text, const std::string& option) {
  const auto equals = text.find('=');
  refuse_unless(equals != std::string::npos && equals > 0 && equals + 1 < text.size(),
                fmt::format("expected NAME=DIR, got {}", in_quotes(text)), option);
  auto name = text.substr(0, equals);
  refuse_unless(name.find(',') == std::string::npos,
                fmt::format("{} cannot be a row's name", in_quotes(name)), option,
                "choose another: commas separate rows");
  const auto before_colon = name.substr(0, name.find(':'));
  const bool is_plain =
      before_colon == name || before_colon.find_first_not_of("0123456789") != std::string::npos;
  refuse_unless(is_plain, fmt::format("{} cannot be a row's name", in_quotes(name)), option,
                "choose another name: compare reads what precedes a colon as an experiment");
  return {std::move(name), text.substr(equals + 1)};
}

std::string usual_baseline(const TableSpec& spec, const std::vector<std::string>& methods) {
  return std::ranges::count(methods, spec.baseline) > 0 ? spec.baseline : methods.front();
}

}  // namespace harness
