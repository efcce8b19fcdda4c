#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "datasets/kept_images.h"
#include "evaluators/given/given_image.h"
#include "worker/commands.h"
#include "worker/image_scoring.h"
#include "worker/scoring.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kShard = 8;  // images
constexpr const char* kNoImage = "there is no image";

std::map<ImageKey, SummedImage> listed_files(const WorkerJob& job) {
  const auto file = job.path("checkpoint") / kImageListFile;
  if (const auto manifest = job.path("checkpoint") / "manifest.json";
      (!job.checkpoint_sha256.empty() && sha256_file(manifest) != job.checkpoint_sha256) ||
      read_json(manifest).at("files").at(file.filename().string()) != sha256_file(file)) {
    throw Error("is not the list of images that was planned with", file.string(),
                "repeat the command with --fresh", Status::kFailed);
  }
  std::map<ImageKey, SummedImage> files;
  for (auto& image : read_image_list(file)) files[{image.position, image.sample}] = std::move(image);
  if (!job.paths.contains(kNamesPath)) return files;
  // The same images were found under other names since.
  for (const auto& image : read_image_list(job.path(kNamesPath))) {
    const auto known = files.find({image.position, image.sample});
    if (known != files.end() && known->second.sha256 == image.sha256) known->second.name = image.name;
  }
  return files;
}

/// All metrics that the job's scorers give.
std::vector<MetricInfo> metrics_of(const WorkerJob& job) {
  std::vector<MetricInfo> metrics;
  for (const auto& [_, own] : metrics_of_scorers(job)) metrics.insert(metrics.end(), own.begin(), own.end());
  return metrics;
}

/// What the log holds of the images, counted for the table.
class GivenCounts {
 public:
  explicit GivenCounts(const fs::path& log) {
    std::map<ImageKey, std::string> last;  // texts take less room than JSON, of a million images
    for (const auto& event : Events(log)) {
      if (event.value("type", "") == "sample")
        last[{event.at("position"), event.at("sample")}] = event.value("given", Json::object()).dump();
    }
    for (const auto& [key, given] : last) count(key, Json::parse(given));
  }

  /// `{row}` becomes the row's name where a table shows it.
  Json notes(std::size_t images) const {
    std::vector<std::string> parts;
    for (const auto& [problem, prompts] : problems_) {
      const auto count = fmt::format("{} of {}", prompts.size(), images);
      parts.push_back(problem == kNoImage ? fmt::format("{} are missing ({})", count, prompts_text(prompts))
                                          : fmt::format("{} have no scores, as {} ({})", count, problem,
                                                        prompts_text(prompts)));
    }
    for (const auto& [remark, number] : remarks_) parts.push_back(fmt::format("{} {}", number, remark));
    if (sizes_.size() > 1) {
      std::vector<std::string> texts;
      for (const auto& [size, number] : sizes_) texts.push_back(fmt::format("{} of {}", number, size));
      parts.push_back("sizes differ (" + join(texts, ", ") + ")");
    }
    if (parts.empty()) return Json::array();
    return {fmt::format("Images of {{row}}: {}.", join(parts, "; "))};
  }

  std::string size() const { return sizes_.empty() ? "" : sizes_.begin()->first; }

 private:
  void count(const ImageKey& key, const Json& given) {
    if (given.contains("size")) ++sizes_[given.at("size").get<std::string>()];
    if (given.contains("remark")) ++remarks_[given.at("remark").get<std::string>()];
    if (given.contains("problem")) problems_[given.at("problem").get<std::string>()].insert(key.position);
  }

  /// "prompts 3, 17, 20 and 4 more"
  static std::string prompts_text(const std::multiset<int>& prompts) {
    constexpr std::size_t kShown = 5;
    const auto shown = prompts | std::views::take(kShown);
    const auto more = prompts.size() > kShown ? fmt::format(" and {} more", prompts.size() - kShown) : "";
    return fmt::format("prompt{} {}{}", prompts.size() == 1 ? "" : "s", fmt::join(shown, ", "), more);
  }

  std::map<std::string, std::multiset<int>> problems_;  ///< positions of the prompts
  std::map<std::string, std::int64_t> remarks_, sizes_;
};

/// Scores images that another system drew.
class GivenScoring {
 public:
  GivenScoring(const WorkerJob& job, const Ranks& ranks, Reporter& reporter)
      : job_(job),
        reporter_(reporter),
        folder_(job.path("images")),
        kept_(job.paths.contains("kept") ? job.path("kept") : fs::path()),
        samples_(job.get<int>("samples")),
        files_(listed_files(job)),
        metrics_(metrics_of(job)),
        scoring_(job, ranks, reporter, take_prompts(), kShard),
        pool_(job.shards_at_once(), use_one_thread) {
    make_folder(job.folder / "images");
  }

  bool run() {
    const auto text = [this](const ImageKey& key) { return text_of(key); };
    if (!scoring_.run(pool_, text, [this](std::size_t begin) { return read(begin); })) return false;
    const GivenCounts counts(job_.folder / kEventLog);
    auto notes = counts.notes(scoring_.images().size());
    const auto scorers = scoring_.scorers_report();
    for (const auto& note : scorers.notes) notes.push_back(note);
    reporter_.completed({{"images", scoring_.images().size()},
                         {"scorers_replaced", scorers.replaced},
                         {"image_size", counts.size()},
                         {"table_notes", std::move(notes)}});
    return true;
  }

 private:
  std::vector<ImageKey> take_prompts() {
    std::vector<ImageKey> keys;
    for (auto& prompt : evaluated_prompts(job_)) {
      for (int sample = 0; sample < samples_; ++sample) keys.push_back({prompt.position, sample});
      prompts_.emplace(prompt.position, std::move(prompt));
    }
    return keys;
  }

  std::vector<WaitingImage> read(std::size_t begin) {
    std::vector<WaitingImage> waiting;
    const auto& images = scoring_.images();
    for (auto i = begin; i < std::min(begin + kShard, images.size()); ++i) {
      if (scoring_.needs_work(images[i])) waiting.push_back(read(images[i]));
    }
    return waiting;
  }

  WaitingImage read(const ImageKey& key) {
    const auto listed = files_.find(key);
    if (listed == files_.end()) return without(key, "", kNoImage);
    const auto& [name, sha256] = std::tie(listed->second.name, listed->second.sha256);
    auto file = folder_ / name;
    auto bytes = fs::exists(file) ? read_file(file) : std::string();
    const bool is_gone = sha256_hex(bytes) != sha256;
    if (is_gone && kept_.empty())
      throw Error("was changed since the job was planned", file.string(), "repeat the command",
                  Status::kFailed);
    if (is_gone) file = kept_ / path_of(key);
    if (is_gone && !fs::exists(file)) return without(key, sha256, "the image was not kept");
    if (is_gone) bytes = read_file(file);
    std::optional<GivenImage> image;
    try {
      image = read_given_image(std::move(bytes), file.string());
    } catch (const Error& error) {
      if (error.status() != Status::kUsage) throw;
      return without(key, sha256, "the image " + error.problem());
    }
    return scored(key, std::move(*image));
  }

  /// Of the kept file, in an evaluation's folder.
  std::string path_of(const ImageKey& key) const {
    return samples_ == 1 ? fmt::format("images/{:04}.png", key.position)
                         : fmt::format("images/{:04}-{}.png", key.position, key.sample);
  }

  WaitingImage scored(const ImageKey& key, GivenImage&& given) {
    const auto path = path_of(key);
    write_file(job_.folder / path, given.png);
    Json facts = {{"size", fmt::format("{} x {} pixels", given.image.width, given.image.height)}};
    if (!given.remark.empty()) facts["remark"] = given.remark;
    return {.key = key,
            .path = path,
            .sha256 = ready(sha256_hex(given.png)),
            .score = scoring_.score(key, text_of(key), given.image),
            .given = std::move(facts)};
  }

  ScorerText text_of(const ImageKey& key) const {
    const auto& prompt = prompts_.at(key.position);
    return {prompt.text, prompt.target};
  }

  /// An image without values, for this reason.
  WaitingImage without(const ImageKey& key, const std::string& sha256, const std::string& problem) const {
    return {.key = key,
            .path = "",
            .sha256 = ready(sha256),
            .score = ready(without_values(metrics_, problem)),
            .given = {{"problem", problem}}};
  }

  const WorkerJob& job_;
  Reporter& reporter_;
  fs::path folder_;
  fs::path kept_;  ///< an evaluation that kept the images, for those that are gone; or empty
  int samples_;
  std::map<ImageKey, SummedImage> files_;
  std::vector<MetricInfo> metrics_;
  std::map<int, Prompt> prompts_;
  ImageScoring scoring_;
  WorkerPool pool_;
};

}  // namespace

bool run_scoring(const WorkerJob& job, const Ranks& ranks, Reporter& reporter) {
  return GivenScoring(job, ranks, reporter).run();
}

}  // namespace harness
