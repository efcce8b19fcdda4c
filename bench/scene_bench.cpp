// bench-ocr-scene: how fast and how well harness-scorer reads generated scenes: each reading of the profile
// ocr-scene alone, what the profile chooses from them, and the profile ocr-glyph for comparison. The
// profile's constants were chosen on the scenes of seeds 0 to 119; those from 120 on are held out.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "bench/scenes.h"
#include "core/command_line/command_line.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "evaluators/ocr.h"
#include "evaluators/scorer_client.h"

namespace harness {
namespace {

constexpr std::size_t kTuningSeeds = 120;

struct Options {
  int scenes = 240;
  std::string by, sheet;
  bool json = false;
};

/// A scorer's command line after the program, and what the table calls it.
struct Reading {
  std::string name;
  std::vector<std::string> arguments;
};

const std::vector<Reading> kReadings{{"ocr-glyph", {"--profile", "ocr-glyph"}},
                                     {"dark-letters", {"--profile", "ocr-scene", "--only", "dark-letters"}},
                                     {"light-letters", {"--profile", "ocr-scene", "--only", "light-letters"}},
                                     {"half-size", {"--profile", "ocr-scene", "--only", "half-size"}},
                                     {"ocr-scene", {"--profile", "ocr-scene"}}};

struct Answers {
  std::vector<SampleScore> scores;
  std::vector<double> wall_ms;
};

Answers read_all(const Reading& reading, const std::vector<TextScene>& scenes) {
  std::vector<std::string> command{sibling_program("harness-scorer").string()};
  command.insert(command.end(), reading.arguments.begin(), reading.arguments.end());
  ScorerPool pool(command, 1, 60000);
  Answers answers;
  for (const TextScene& scene : scenes) {
    const auto begin = std::chrono::steady_clock::now();
    answers.scores.push_back(ocr_score(scene.target, pool.submit(scene.image).get()));
    answers.wall_ms.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  return answers;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Means over the scenes that `chosen` holds for.
template <class Chosen>
Json summary(const Answers& answers, Chosen chosen) {
  const std::vector<std::string> names{"ocr_reward", "exact_match", "substring_match", "cer"};
  std::map<std::string, double> sums;
  std::vector<double> times;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < answers.scores.size(); ++i) {
    if (!chosen(i)) continue;
    const SampleScore& score = answers.scores[i];
    for (const std::string& name : names) sums[name] += score.metrics.at(name).value_or(0);
    failed += score.reasons.empty() ? 0 : 1;
    times.push_back(answers.wall_ms[i]);
  }
  if (times.empty()) return Json::object();
  Json result{{"scenes", times.size()}, {"failed", failed}, {"median_ms", median(times)}};
  for (const std::string& name : names) result[name] = sums[name] / static_cast<double>(times.size());
  return result;
}

std::string trait(const TextScene& scene, const std::string& name) {
  static const std::vector<std::string> backdrops{"plain", "clouds", "planks", "bricks", "discs"};
  static const std::vector<std::string> panels{"none", "plain", "framed", "translucent"};
  if (name == "backdrop") return backdrops.at(static_cast<std::size_t>(scene.backdrop));
  if (name == "panel") return panels.at(static_cast<std::size_t>(scene.panel));
  if (name == "ink") return scene.light_on_dark ? "light" : "dark";
  return scene.font;
}

Json measure(const Options& options, const std::vector<TextScene>& scenes) {
  Json result = Json::array();
  for (const Reading& reading : kReadings) {
    const Answers answers = read_all(reading, scenes);
    Json row{{"reading", reading.name},
             {"tuning", summary(answers, [](std::size_t i) { return i < kTuningSeeds; })},
             {"held_out", summary(answers, [](std::size_t i) { return i >= kTuningSeeds; })}};
    if (!options.by.empty()) {
      std::set<std::string> names;
      for (const auto& scene : scenes) names.insert(trait(scene, options.by));
      for (const auto& name : names) {
        row["by"][name] =
            summary(answers, [&](std::size_t i) { return trait(scenes[i], options.by) == name; });
      }
    }
    result.push_back(row);
  }
  return result;
}

void print_row(const std::string& name, const Json& figures) {
  if (figures.empty()) return;
  fmt::print("{:<28}{:>8}{:>8.3f}{:>8.3f}{:>11.3f}{:>8.3f}{:>8.0f}{:>8}\n", name,
             figures.at("scenes").get<int>(), figures.at("ocr_reward").get<double>(),
             figures.at("exact_match").get<double>(), figures.at("substring_match").get<double>(),
             figures.at("cer").get<double>(), figures.at("median_ms").get<double>(),
             figures.at("failed").get<int>());
}

void print_table(const Json& rows) {
  for (const char* half : {"tuning", "held_out"}) {
    fmt::print("{:<28}{:>8}{:>8}{:>8}{:>11}{:>8}{:>8}{:>8}\n",
               half == std::string("tuning") ? "tuning (seeds 0 to 119)" : "held out (from 120 on)", "scenes",
               "reward", "exact", "substring", "CER", "ms", "failed");
    for (const Json& row : rows) print_row(row.at("reading"), row.at(half));
    fmt::print("\n");
  }
  const Json& profile = rows.back();
  if (!profile.contains("by")) return;
  for (const auto& [name, figures] : profile.at("by").items()) print_row(name, figures);
}

void write_sheet(const std::vector<TextScene>& scenes, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  Json list = Json::array();
  for (std::size_t i = 0; i < scenes.size(); ++i) {
    const TextScene& scene = scenes[i];
    const std::string file = fmt::format("{:04}.png", i);
    write_file_atomically(folder / file, png_bytes(scene.image));
    list.push_back({{"file", file},
                    {"target", scene.target},
                    {"backdrop", trait(scene, "backdrop")},
                    {"panel", trait(scene, "panel")},
                    {"font", scene.font},
                    {"ink", trait(scene, "ink")},
                    {"letter_height", scene.letter_height},
                    {"angle", scene.angle}});
  }
  write_file_atomically(folder / "scenes.json", list.dump(1) + "\n");
}

const std::vector<std::string> kTraits = {"backdrop", "panel", "font", "ink"};

int run(const Options& options) {
  require_range(options.scenes, 1, 1000000, "--scenes");
  if (!options.by.empty() && std::ranges::find(kTraits, options.by) == kTraits.end())
    throw Error("must be one of " + join(kTraits, ", "), "--by");
  std::vector<TextScene> scenes;
  for (int i = 0; i < options.scenes; ++i) scenes.push_back(generated_scene(static_cast<std::uint64_t>(i)));
  if (!options.sheet.empty()) {
    write_sheet(scenes, options.sheet);
    return 0;
  }
  const Json rows = measure(options, scenes);
  if (options.json) {
    fmt::print("{}\n", rows.dump());
  } else {
    print_table(rows);
  }
  return 0;
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  harness::Options o;
  harness::Command program{"bench-ocr-scene",
                           "Speed and accuracy of harness-scorer on generated scenes with text."};
  program.add("--scenes", &o.scenes, "Seeds 0 to N - 1");
  program.add("--by", &o.by,
              "backdrop, panel, font or ink: the profile's figures by this trait, both halves together");
  program.add("--sheet", &o.sheet, "Write the scenes to this folder instead of reading them");
  program.add("--json", &o.json, "All figures as JSON");
  program.run = [&] { return harness::run(o); };
  return harness::run_program(program, argc, argv);
}
