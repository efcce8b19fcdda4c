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
  const auto folder = job.path("checkpoint");
  const auto file = folder / kImageListFile;
  if (!job.has_planned_manifest() ||
      read_json(folder / "manifest.json").at("files").at(file.filename().string()) != sha256_file(file)) {
    throw Error("is not the list of images that was planned with", file.string(),
                "repeat the command with --fresh", Status::kFailed);
  }
  std::map<ImageKey, SummedImage> files;
  for (auto& image : read_image_list(file)) files[{image.position, image.sample}] = std::move(image);
  if (!job.paths.contains(kNamesPath)) return files;
  // The same images may have other names since.
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

/// Counts of the logged images for the table's notes.
class GivenCounts {
 public:
  explicit GivenCounts(const fs::path& log) {
    std::map<ImageKey, std::string> last;  // texts take less memory than JSON
    for (const auto& event : Events(log)) {
      if (event.value("type", "") == "sample")
        last[{event.at("position"), event.at("sample")}] = event.value("given", Json::object()).dump();
    }
    for (const auto& [key, given] : last) count(key, Json::parse(given));
  }

  /// `{row}` becomes the row's name where a table shows it.
  std::vector<std::string> notes(std::size_t images) const {
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
    if (parts.empty()) return {};
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

/// Scores images that another system generated.
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
        scoring_(job, ranks, reporter, evaluated_prompts(job), samples_, kShard) {}

  bool run() {
    if (!scoring_.run([this](std::size_t begin) { return read(begin); })) return false;
    const GivenCounts counts(job_.folder / kEventLog);
    auto summary = scoring_.summary(counts.notes(scoring_.images().size()));
    summary["image_size"] = counts.size();
    reporter_.completed(std::move(summary));
    return true;
  }

 private:
  std::vector<PendingImage> read(std::size_t begin) {
    std::vector<PendingImage> pending;
    const auto& images = scoring_.images();
    for (auto i = begin; i < std::min(begin + kShard, images.size()); ++i) {
      if (scoring_.needs_work(images[i])) pending.push_back(read(images[i]));
    }
    return pending;
  }

  PendingImage read(const ImageKey& key) {
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

  PendingImage scored(const ImageKey& key, GivenImage&& given) {
    const auto path = path_of(key);
    write_file(job_.folder / path, given.png);
    Json facts = {{"size", fmt::format("{} x {} pixels", given.image.width, given.image.height)}};
    if (!given.remark.empty()) facts["remark"] = given.remark;
    return {.key = key,
            .path = path,
            .sha256 = ready(sha256_hex(given.png)),
            .score = scoring_.score(key, given.image),
            .given = std::move(facts)};
  }

  /// An image without values, for this reason.
  PendingImage without(const ImageKey& key, const std::string& sha256, const std::string& problem) const {
    return {.key = key,
            .path = "",
            .sha256 = ready(sha256),
            .score = ready(without_values(metrics_, problem)),
            .given = {{"problem", problem}}};
  }

  const WorkerJob& job_;
  Reporter& reporter_;
  fs::path folder_;
  fs::path kept_;  ///< an evaluation that kept the images, in place of missing files; or empty
  int samples_;
  std::map<ImageKey, SummedImage> files_;
  std::vector<MetricInfo> metrics_;
  ImageScoring scoring_;
};

}  // namespace

bool run_scoring(const WorkerJob& job, const Ranks& ranks, Reporter& reporter) {
  return GivenScoring(job, ranks, reporter).run();
}

}  // namespace harness
