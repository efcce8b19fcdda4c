#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// What the folders may know of each other, read from the #include lines of the source tree.

namespace harness {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

const fs::path kTree = HARNESS_SOURCE_DIR;
const Names kHouses = {"core",     "datasets",   "models", "embedded", "backbones",
                       "trainers", "evaluators", "worker", "results",  "harness"};

/// What a house may include beside itself. A house that is not named includes nothing of the others.
const std::map<std::string, Names> kHouseArrows = {
    {"datasets", {"core"}},
    {"models", {"core"}},
    {"embedded", {"core", "datasets", "models"}},
    {"backbones", {"core", "models", "embedded"}},
    {"evaluators", {"core", "models"}},
    {"trainers", {"core", "models", "backbones"}},
    {"worker", {"core", "datasets", "models", "embedded", "backbones", "trainers", "evaluators"}},
    {"results", {"core", "datasets"}},
    {"harness", {"core", "datasets", "evaluators", "results"}}};

/// What stands between white space.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

/// The rooms, of each house the lower ones first: of its own house a room includes itself and those before
/// it.
const std::vector<std::string> kRooms = words_of(R"(
core core/unicode core/command_line core/geneval core/keeper core/paths core/processes core/settings core/source_sums core/weights
datasets
models/configs models/tokenizers models/cpu models/cuda models/gpu models/nn models/graphs models/encoders models/diffusion models/detection models models/parity
embedded/pictures embedded
backbones
trainers/law trainers/ranks trainers/optimisation trainers/sampling trainers trainers/forward trainers/direct trainers/methods trainers/loop trainers/parity
evaluators/metrics evaluators evaluators/geneval evaluators/given evaluators/built_in evaluators/clip evaluators/detection evaluators/scorer
worker worker/program
results/schema results/statistics results/store results/verdict results/paper
results/table results/table/formats results/chart results/report results/grid results/query
harness/terminal harness/workspace harness/images harness/prompts harness/spec harness/plan harness/batch harness/slurm harness/read harness/show harness/run harness/compare harness/runs
harness/archive harness/checks harness/score harness/work
harness/commands harness/cli harness
)");

struct Include {
  fs::path from, to;  ///< in the tree
};

bool is_code(const fs::path& file) {
  return file.extension() == ".cpp" || file.extension() == ".h" || file.extension() == ".cu";
}

std::vector<fs::path> code_files() {
  std::vector<fs::path> files;
  for (const auto& house : kHouses) {
    for (const auto& entry : fs::recursive_directory_iterator(kTree / house)) {
      if (is_code(entry.path())) files.push_back(fs::relative(entry.path(), kTree));
    }
  }
  return files;
}

/// Calls see(file, what the pattern's group matched) for every line of the code that it fits.
void for_each_line(const char* pattern, const std::function<void(const fs::path&, const std::string&)>& see) {
  const std::regex line_of(pattern);
  std::smatch found;
  for (const auto& file : code_files()) {
    std::ifstream text(kTree / file);
    for (std::string line; std::getline(text, line);) {
      if (std::regex_search(line, found, line_of)) see(file, found[1].str());
    }
  }
}

std::vector<Include> includes() {
  std::vector<Include> all;
  for_each_line(R"re(^\s*#include "([^"]+)")re", [&](const fs::path& from, const std::string& to) {
    all.push_back({from, to});
  });
  return all;
}

std::string house_of(const fs::path& file) {
  return file.begin()->string();
}

std::string unit_of(const fs::path& file) {
  auto unit = file;
  unit.replace_extension();
  auto text = unit.string();
  if (text.ends_with("_impl")) text.resize(text.size() - 5);  // a class and its hidden half are one
  return text;
}

TEST(House, IncludesGoFromHouseToHouseInOneDirection) {
  const auto all = includes();
  ASSERT_GT(all.size(), 1000U);
  for (const auto& [from, to] : all) {
    const auto house = house_of(from), other = house_of(to);
    if (house == other || !kHouses.contains(other)) continue;
    const auto allowed = kHouseArrows.find(house);
    EXPECT_TRUE(allowed != kHouseArrows.end() && allowed->second.contains(other))
        << from << " includes " << to;
  }
}

TEST(House, ArrowsBetweenHousesGoInNoCircle) {
  auto left = kHouses;
  const auto stands_alone = [&](const std::string& house) {
    const auto below = kHouseArrows.find(house);
    return below == kHouseArrows.end() ||
           std::ranges::none_of(below->second, [&](const auto& other) { return left.contains(other); });
  };
  for (auto alone = left.begin(); (alone = std::ranges::find_if(left, stands_alone)) != left.end();)
    left.erase(alone);
  EXPECT_EQ(left, Names());
}

TEST(House, IncludesGoFromRoomToRoomInOneDirection) {
  const auto place = [](const fs::path& file) {
    return std::ranges::find(kRooms, file.parent_path().string()) - kRooms.begin();
  };
  for (const auto& [from, to] : includes()) {
    if (house_of(to) != house_of(from)) continue;
    ASSERT_LT(place(from), std::ssize(kRooms)) << from << " is in no known room";
    EXPECT_LE(place(to), place(from)) << from << " includes " << to;
  }
}

// A source that jobs record no checksum of could be changed, and its runs be taken for the same.
TEST(House, EveryRoomThatCanChangeANumberIsInTheWorkersTableOfSources) {
  const Names no_number = {"core/command_line", "core/keeper", "core/paths", "evaluators/metrics"};
  std::ifstream file(kTree / "worker/CMakeLists.txt");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto start = text.find("harness_source_table(");
  const auto listed = words_of(text.substr(start, text.find(')', start + 1) - start));
  Names rooms;
  for (const auto& code : code_files()) {
    const auto house = house_of(code);
    if (house != "results" && house != "harness") rooms.insert(code.parent_path().string());
  }
  for (const auto& room : rooms)
    EXPECT_NE(std::ranges::count(listed, room) > 0, no_number.contains(room)) << room;
}

TEST(House, NoRoomHoldsMoreThan35FilesOfCode) {
  std::map<std::string, int> files;
  for (const auto& file : code_files()) ++files[file.parent_path().string()];
  files.erase("trainers/methods");  // one file a method: who looks for one knows its name
  for (const auto& [room, count] : files) EXPECT_LE(count, 35) << room;
}

// All is in one namespace: of two types of a name in one program the linker keeps the functions of either.
TEST(House, NoTypeIsDefinedInTwoHeaders) {
  std::map<std::string, Names> headers;
  for_each_line(R"re(^(?:struct|class|enum class) (\w+)(?: final)?(?: :[^:].*)? \{)re",
                [&](const fs::path& file, const std::string& type) {
                  if (file.extension() == ".h") headers[type].insert(file.string());
                });
  EXPECT_GT(headers.size(), 300U);
  for (const auto& [type, files] : headers)
    EXPECT_EQ(files.size(), 1U) << type << " is in " << *files.begin() << " and " << *files.rbegin();
}

TEST(House, UnitsIncludeEachOtherInNoCircle) {
  std::map<std::string, Names> uses;
  for (const auto& [from, to] : includes()) {
    if (unit_of(from) != unit_of(to)) uses[unit_of(from)].insert(unit_of(to));
  }
  // A unit whose includes are all gone is in no circle; those that remain are, or include one.
  for (std::size_t before = 0; before != uses.size();) {
    before = uses.size();
    std::erase_if(uses, [&](const auto& unit) {
      return std::ranges::none_of(unit.second, [&](const auto& other) { return uses.contains(other); });
    });
  }
  for (const auto& [unit, others] : uses) ADD_FAILURE() << unit << " is in a circle, or includes one";
}

}  // namespace
}  // namespace harness
