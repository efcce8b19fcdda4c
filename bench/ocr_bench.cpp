// bench-ocr: how fast and how well harness-scorer reads drawings of the generated targets. Prints one JSON
// line.
//   bench-ocr [--images N] [--workers N] [--fade K] [--by font|palette] [--sheet FOLDER]

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>

#include "bench/renderings.h"
#include "core/files.h"
#include "core/json.h"
#include "datasets/prompt_set.h"
#include "evaluators/ocr.h"
#include "evaluators/scorer_client.h"

namespace harness {
namespace {

struct Options {
  int images = 1018, workers = 1;
  double fade = 1;
  std::string by, sheet;
};

struct Drawing {
  std::string target;
  int font, palette;
  Image image;
};

std::vector<Drawing> draw(const Options& options) {
  const PromptSet set = generated_prompt_set();
  std::vector<Drawing> drawings;
  for (int i = 0; i < options.images; ++i) {
    const auto& target = set.prompts[static_cast<std::size_t>(i) % set.prompts.size()].target;
    const int font = i % kFonts, palette = i / kFonts % kPalettes;
    drawings.push_back({target, font, palette, render_text(target, font, palette, options.fade)});
  }
  return drawings;
}

/// All drawings below each other in one PNG, and their targets, one a line: the data of the reading test.
void write_sheet(const std::vector<Drawing>& drawings, const std::filesystem::path& folder) {
  Image sheet{drawings.at(0).image.width, 0, {}};
  std::string targets;
  for (const Drawing& drawing : drawings) {
    sheet.height += drawing.image.height;
    sheet.rgb.insert(sheet.rgb.end(), drawing.image.rgb.begin(), drawing.image.rgb.end());
    targets += drawing.target + "\n";
  }
  write_file_atomically(folder / "clean.png", png_bytes(sheet));
  write_file_atomically(folder / "clean.txt", targets);
}

double children_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + time.tv_usec * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The mean of one metric over the drawings with each value of `key`.
template <class Key>
Json means_by(const std::vector<Drawing>& drawings, const std::vector<SampleScore>& scores, Key key) {
  std::map<int, std::pair<double, int>> sums;
  for (std::size_t i = 0; i < drawings.size(); ++i) {
    auto& [sum, count] = sums[key(drawings[i])];
    sum += scores[i].metrics.at("ocr_reward").value_or(0);
    ++count;
  }
  Json means = Json::object();
  for (const auto& [value, sum] : sums) means[std::to_string(value)] = sum.first / sum.second;
  return means;
}

void measure(const Options& options, const std::vector<Drawing>& drawings) {
  std::vector<SampleScore> scores;
  double wall = 0;
  {
    ScorerPool pool({sibling_program("harness-scorer").string()}, options.workers, 10000);
    pool.submit(drawings[0].image).get();  // starting the engine is not measured
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::future<ScorerAnswer>> answers;
    for (const Drawing& drawing : drawings) answers.push_back(pool.submit(drawing.image));
    for (std::size_t i = 0; i < answers.size(); ++i)
      scores.push_back(ocr_score(drawings[i].target, answers[i].get()));
    wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  const auto count = static_cast<double>(drawings.size());
  Json result{{"images", drawings.size()},
              {"workers", options.workers},
              {"ms_per_image", 1000 * wall / count},
              {"cpu_ms_per_image", 1000 * children_cpu_seconds() / count},
              {"images_per_second", count / wall}};
  for (const std::string& name : ocr_metric_names()) {
    double sum = 0;
    for (const SampleScore& score : scores) sum += score.metrics.at(name).value_or(0);
    result[name] = sum / count;
  }
  if (options.by == "font")
    result["by_font"] = means_by(drawings, scores, [](const Drawing& d) { return d.font; });
  if (options.by == "palette") {
    result["by_palette"] = means_by(drawings, scores, [](const Drawing& d) { return d.palette; });
  }
  fmt::print("{}\n", result.dump());
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  CLI::App app("Speed and accuracy of harness-scorer on drawings of the generated targets.", "bench-ocr");
  harness::Options options;
  app.add_option("--images", options.images)->check(CLI::Range(1, 1000000))->capture_default_str();
  app.add_option("--workers", options.workers)->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--fade", options.fade, "Opacity of the ink")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--by", options.by, "Mean reward by font or palette")
      ->check(CLI::IsMember({"font", "palette"}));
  app.add_option("--sheet", options.sheet, "Write the drawings to this folder instead of reading them");
  CLI11_PARSE(app, argc, argv);
  try {
    const auto drawings = harness::draw(options);
    if (options.sheet.empty()) {
      harness::measure(options, drawings);
    } else {
      harness::write_sheet(drawings, options.sheet);
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench-ocr: {}\n", error.what());
    return 1;
  }
}
