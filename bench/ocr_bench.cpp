// bench-ocr: how fast and how well harness-scorer reads drawings of the generated targets, in one JSON line.

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <fstream>

#include "bench/renderings.h"
#include "core/command_line/command_line.h"
#include "core/error.h"
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
Json means_by(const std::vector<Drawing>& drawings, const std::vector<SampleScore>& scores,
              int Drawing::*key) {
  std::map<int, std::pair<double, int>> sums;
  for (std::size_t i = 0; i < drawings.size(); ++i) {
    auto& [sum, count] = sums[drawings[i].*key];
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
  if (options.by == "font") result["by_font"] = means_by(drawings, scores, &Drawing::font);
  if (options.by == "palette") result["by_palette"] = means_by(drawings, scores, &Drawing::palette);
  fmt::print("{}\n", result.dump());
}

int run(const Options& options) {
  require_range(options.images, 1, 1000000, "--images");
  require_range(options.workers, 1, 1024, "--workers");
  if (!(options.fade >= 0 && options.fade <= 1)) throw Error("must be 0 to 1", "--fade");
  if (!options.by.empty() && options.by != "font" && options.by != "palette")
    throw Error("must be font or palette", "--by");
  const auto drawings = draw(options);
  if (options.sheet.empty()) {
    measure(options, drawings);
  } else {
    write_sheet(drawings, options.sheet);
  }
  return 0;
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  harness::Options o;
  harness::Command program{"bench-ocr",
                           "Speed and accuracy of harness-scorer on drawings of the generated targets."};
  program.add("--images", &o.images, "");
  program.add("--workers", &o.workers, "");
  program.add("--fade", &o.fade, "Opacity of the ink");
  program.add("--by", &o.by, "font or palette: the mean reward by it");
  program.add("--sheet", &o.sheet, "Write the drawings to this folder instead of reading them");
  program.run = [&] { return harness::run(o); };
  return harness::run_program(program, argc, argv);
}
