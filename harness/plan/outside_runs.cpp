#include "harness/plan/outside_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "core/weights/outside_checkpoint.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kStep = kStepInPlace, kSeed = "{seed}";
constexpr std::string_view kDigits = "0123456789";

std::string option_of(const ArmSpec& arm) {
  return (arm.traits().draws ? "--adapter " : "images of ") + arm.name;
}

std::string with_seed(std::string place, std::int64_t seed) {
  for (auto at = place.find(kSeed); at != std::string::npos; at = place.find(kSeed, at))
    place.replace(at, kSeed.size(), std::to_string(seed));
  return place;
}

class RunReader {
 public:
  RunReader(const ArmSpec& arm, const fs::path& folder) : arm_(arm), folder_(folder) {}

  OutsideRun read(const std::string& places) {
    run_.clear();
    const auto parts = places_in(places, folder_);
    std::vector<std::pair<std::string, std::optional<int>>> plain;  // with the steps that their names state
    for (const auto& named : parts) {
      const auto place = (folder_ / named).string();
      if (named.empty()) throw Error("names no folder", option_of(arm_), "give NAME=DIR");
      if (place.find(kStep) != std::string::npos) {
        add_steps(place);
      } else {
        plain.emplace_back(place, step_in_name(place));
      }
    }
    // A folder of images is rarely named by its step.
    if (!arm_.traits().draws && parts.size() == 1 && !plain.empty()) plain.front().second = 1;
    add_plain(plain);
    return run_;
  }

 private:
  /// Where no name states a step, they are counted in the order given.
  void add_plain(const std::vector<std::pair<std::string, std::optional<int>>>& places) {
    const auto has_step = [](const auto& place) { return place.second.has_value(); };
    const auto named = std::ranges::find_if(places, has_step);
    const auto unnamed = std::ranges::find_if_not(places, has_step);
    if (unnamed != places.end() && (named != places.end() || !run_.empty())) {
      throw Error(fmt::format("the name of {} states no step, and {}", unnamed->first,
                              named != places.end()
                                  ? fmt::format("the name of {} states {}", named->first, *named->second)
                                  : std::string("{step} stands for the steps of others")),
                  option_of(arm_), "name it checkpoint-N, or none of them");
    }
    int count = 0;
    for (const auto& [place, step] : places) add(step.value_or(++count), place);
  }

  void add(int step, const fs::path& place) {
    if (step < 1)
      throw Error(fmt::format("{} is step {}: steps are counted from 1, and 0 is the base model",
                              place.string(), step),
                  option_of(arm_));
    const auto [known, is_new] = run_.emplace(step, place);
    if (is_new) return;
    throw Error(fmt::format("duplicate step {}: {} and {}", step, known->second.string(), place.string()),
                option_of(arm_), "name one of them");
  }

  /// Every entry of the folder above whose name is the pattern with a number in it.
  void add_steps(const std::string& place) {
    const auto at = place.find(kStep);
    const auto slash = place.rfind('/', at);
    const auto begin = slash == std::string::npos ? 0 : slash + 1;
    const auto name_end = std::min(place.find('/', at), place.size());
    const auto prefix = place.substr(begin, at - begin);
    const auto suffix = place.substr(at + kStep.size(), name_end - at - kStep.size());
    const auto rest = place.substr(name_end);
    if ((prefix + suffix + rest).find(kStep) != std::string::npos ||
        place.find(kStep, at + 1) != std::string::npos)
      throw Error(fmt::format("{} has {{step}} twice", place), option_of(arm_), "write it once");
    const fs::path above = place.substr(0, begin);
    std::error_code absent;
    bool found = false;
    for (fs::directory_iterator entry(above, absent), end; !absent && entry != end; entry.increment(absent)) {
      const auto name = entry->path().filename().string();
      if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) ||
          !name.ends_with(suffix))
        continue;
      const auto digits =
          std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - suffix.size());
      const auto step = digits.find_first_not_of(kDigits) == std::string_view::npos
                            ? parse_number<int>(digits)
                            : std::nullopt;
      if (!step) continue;
      add(*step, above / (name + rest));
      found = true;
    }
    if (!found)
      throw Error(fmt::format("no file or folder matches {{step}}: {}", place), option_of(arm_),
                  "check the folder above it");
  }

  const ArmSpec& arm_;
  const fs::path& folder_;
  OutsideRun run_;
};

/// Whether steps of several checkpoints are the order in which they were given.
bool counts_in_order(const ArmSpec& arm, const OutsideRun& run) {
  return run.size() > 1 && std::ranges::none_of(arm.places, has_steps) &&
         std::ranges::none_of(run, [](const auto& one) { return step_in_name(one.second).has_value(); });
}

}  // namespace

std::optional<std::string> steps_note(const ArmSpec& arm, const std::vector<OutsideRun>& runs) {
  const auto run = std::ranges::find_if(runs, [&](const auto& one) { return counts_in_order(arm, one); });
  if (run == runs.end()) return std::nullopt;
  std::vector<std::string> steps;
  for (const auto& [step, place] : *run)
    steps.push_back(fmt::format("{} is {}", step, place.filename().string()));
  return fmt::format("Steps of {} are counted in the order given, as no name states one (checkpoint-N): {}.",
                     arm.name, join(steps, ", "));
}

std::vector<OutsideRun> outside_runs(const ArmSpec& arm, const std::vector<std::int64_t>& seeds,
                                     const fs::path& folder) {
  const bool by_seed = arm.places.size() == 1 && arm.places.front().find(kSeed) != std::string::npos;
  if (!by_seed && arm.places.size() != seeds.size()) {
    throw Error(
        fmt::format("{} for {}", counted(std::ssize(arm.places), "run"), counted(std::ssize(seeds), "seed")),
        option_of(arm),
        "give one run per seed (repeat the option, or write {seed} in the path), or choose --seeds: a "
        "run from outside is compared with the run of that seed");
  }
  std::vector<OutsideRun> runs;
  RunReader reader(arm, folder);
  for (std::size_t i = 0; i < seeds.size(); ++i)
    runs.push_back(reader.read(with_seed(arm.places[by_seed ? 0 : i], seeds[i])));
  return runs;
}

}  // namespace harness
