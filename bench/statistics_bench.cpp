// bench-statistics FOLDER...: the image statistics of every PNG in each folder, their means and spread, and
// what an image costs. Two folders with the same file names are also compared pair by pair.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <vector>

#include "core/command_line/command_line.h"
#include "evaluators/image_statistics.h"
#include "evaluators/jpeg.h"
#include "results/statistics/numeric.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using Values = std::map<std::string, std::vector<double>>;  // by metric, in the order of the file names
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::vector<fs::path> pngs_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".png") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

void add(const SampleScore& score, Values& values) {
  for (const auto& [name, value] : score.metrics) values[name].push_back(value.value());
}

Values measure(const fs::path& folder) {
  Values values;
  double statistics_ms = 0, jpeg_ms = 0;
  const auto files = pngs_in(folder);
  for (const auto& file : files) {
    const auto image = read_png(file);
    auto begin = Clock::now();
    add(image_statistics_score(image), values);
    statistics_ms += milliseconds_since(begin);
    begin = Clock::now();
    add(jpeg_score(image), values);
    jpeg_ms += milliseconds_since(begin);
  }
  const auto n = static_cast<double>(std::max<std::size_t>(files.size(), 1));
  fmt::print("{}: {} images, {:.3f} ms an image for the statistics and {:.3f} ms for jpeg_kb\n",
             folder.string(), files.size(), statistics_ms / n, jpeg_ms / n);
  return values;
}

double deviation(const std::vector<double>& values) {
  return std::sqrt(squares_about(mean(values), values) / static_cast<double>(values.size() - 1));
}

void print_values(const Values& values) {
  for (const auto& [name, list] : values) {
    if (list.size() > 1) fmt::print("  {:<16} {:9.4f}  std {:.4f}\n", name, mean(list), deviation(list));
  }
}

void print_difference(const Values& before, const Values& after) {
  for (const auto& [name, list] : after) {
    const auto& base = before.at(name);
    if (base.size() != list.size() || list.size() < 2) continue;
    std::vector<double> differences;
    for (std::size_t i = 0; i < list.size(); ++i) differences.push_back(list[i] - base[i]);
    fmt::print("  {:<16} {:+9.4f}  std of a pair {:.4f}, {:+.1f} % of the first folder's mean\n", name,
               mean(differences), deviation(differences), 100 * mean(differences) / mean(base));
  }
}

int run(const std::vector<std::string>& folders) {
  Values first;
  for (const auto& folder : folders) {
    const auto values = measure(folder);
    print_values(values);
    if (!first.empty()) print_difference(first, values);
    if (first.empty()) first = values;
  }
  return 0;
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  std::vector<std::string> folders;
  harness::Command program{"bench-statistics", "Image statistics of every PNG of each folder"};
  program.add("FOLDER", &folders, "", {.required = true});
  program.run = [&] { return harness::run(folders); };
  return harness::run_program(program, argc, argv);
}
