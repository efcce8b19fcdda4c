// harness-source-sums ROOT SAME_NUMBERS.json OUTPUT.cpp FOLDER... [--plug-ins FOLDER...]: writes the table of
// core/source_sums/source_sums.h for the sources in these folders of ROOT (without their subfolders). The sum
// over all leaves out plug-ins, whose own sums are in the identity of the jobs that use them. A step of the
// build.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/source_sums/source_code.h"

namespace harness {
namespace {
namespace fs = std::filesystem;

struct Source {
  std::string sha256;  ///< of its code
  std::vector<std::string> includes;
};
using Sources = std::map<std::string, Source>;  ///< by path in the tree

Sources read_sources(const fs::path& root, const std::vector<std::string>& folders) {
  static const std::set<std::string> kEndings = {".cpp", ".h", ".cu"};
  Sources sources;
  for (const auto& folder : folders) {
    for (const auto& entry : fs::directory_iterator(root / folder)) {
      if (!kEndings.contains(entry.path().extension().string())) continue;
      const auto text = read_file(entry.path());
      sources[(fs::path(folder) / entry.path().filename()).string()] = {sha256_hex(code_of(text)),
                                                                        quoted_includes(text)};
    }
  }
  return sources;
}

/// Adds `file` and what it includes from its own folder, headers with the .cpp file of their name.
void add_with_includes(const Sources& sources, const std::string& file, std::set<std::string>& found) {
  const auto source = sources.find(file);
  if (source == sources.end() || !found.insert(file).second) return;
  for (const auto& include : source->second.includes) {
    const fs::path path = include;
    if (path.parent_path() != fs::path(file).parent_path()) continue;
    add_with_includes(sources, include, found);
    add_with_includes(sources, fs::path(path).replace_extension(".cpp").string(), found);
  }
}

template <class Files>
std::string sum_of(const Sources& sources, const Files& files) {
  std::string listing;
  for (const std::string& file : files) listing += fmt::format("{} {}\n", sources.at(file).sha256, file);
  return sha256_hex(listing);
}

/// What an identity holds for a file with this sum: the first of the list that the sum is in, else itself.
std::string identity_of(const Json& same_numbers, const std::string& file, const std::string& sum) {
  if (!same_numbers.contains(file)) return sum;
  const auto sums = same_numbers.at(file).get<std::vector<std::string>>();
  return std::ranges::find(sums, sum) == sums.end() ? sum : sums.front();
}

std::string table_of(const Sources& sources, const std::vector<std::string>& plug_ins,
                     const Json& same_numbers) {
  std::vector<std::string> all;
  std::string rows;
  for (const auto& [file, source] : sources) {
    const auto folder = fs::path(file).parent_path().string();
    if (std::ranges::find(plug_ins, folder) == plug_ins.end()) all.push_back(file);
    if (!file.ends_with(".cpp")) continue;
    std::set<std::string> files;
    add_with_includes(sources, file, files);
    const auto sum = sum_of(sources, files);
    rows += fmt::format("    {{\"{}\",\n     \"{}\",\n     \"{}\"}},\n", file, sum,
                        identity_of(same_numbers, file, sum));
  }
  return fmt::format(R"(#include "core/source_sums/source_sums.h"

namespace harness {{
namespace {{

constexpr SourceSum kSums[] = {{
{}}};

const bool kRegistered = register_source_table({{"{}", kSums}});

}}  // namespace
}}  // namespace harness
)",
                     rows, all.empty() ? std::string() : sum_of(sources, all));
}

int make_table(const std::vector<std::string>& words) {
  if (words.size() < 4)
    throw Error("needs ROOT SAME_NUMBERS.json OUTPUT.cpp FOLDER...", "harness-source-sums");
  const auto mark = std::find(words.begin() + 3, words.end(), "--plug-ins");
  const std::vector<std::string> plug_ins(mark == words.end() ? mark : mark + 1, words.end());
  std::vector<std::string> folders(words.begin() + 3, mark);
  folders.insert(folders.end(), plug_ins.begin(), plug_ins.end());
  const auto table = table_of(read_sources(words[0], folders), plug_ins, read_json(words[1]));
  // An output that did not change is not compiled again.
  if (!fs::exists(words[2]) || read_file(words[2]) != table) write_file_atomically(words[2], table);
  return 0;
}

}  // namespace
}  // namespace harness

int main(int count, char** words) {
  try {
    return harness::make_table({words + 1, words + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
