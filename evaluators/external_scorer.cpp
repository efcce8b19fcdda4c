#include "evaluators/external_scorer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "evaluators/scorer_client.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kImagesFor = "images-for-";
constexpr const char* kMendHint = "mend it, or take its folder away";
constexpr const char* kOtherImageHint =
    "mend it, name an image that it can score with \"test\" in scorer.json (evaluators/PROTOCOL.md), or take its "
    "folder away";

/// How reasons begin, here and in scorer_client.cpp, that may pass.
constexpr std::string_view kReported = "the scorer reports: ";
constexpr std::array kPassing = {kReported,
                                 std::string_view("no answer within "),
                                 std::string_view("unreadable answer"),
                                 std::string_view("the scorer ended "),
                                 std::string_view("the scorer closed its output"),
                                 std::string_view("the scorer was closed before it answered"),
                                 std::string_view("the answer holds no ")};

/// `the answer's "level" is "NaN", which is no number`; one that is beyond the limit is a number.
bool is_invalid_number_reason(std::string_view reason) {
  return reason.starts_with("the answer's ") && reason.ends_with(", which is no number");
}

/// "scorer NAME was given up after 5 restarts; ..."
bool is_given_up_reason(std::string_view reason) {
  constexpr std::string_view kScorer = "scorer ", kGivenUp = " was given up";
  if (!reason.starts_with(kScorer)) return false;
  const auto name_end = reason.find(' ', kScorer.size());
  return name_end != reason.npos && reason.substr(name_end).starts_with(kGivenUp);
}

/// A folder that is empty at first and gone in the end.
class ScratchFolder {
 public:
  /// Removes what a killed worker of the same job has left.
  explicit ScratchFolder(const fs::path& path) : path_(fs::absolute(path)) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    make_folder(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

ScorerPoolSettings pool_settings(const ExternalScorerSpec& spec, const fs::path& scratch) {
  return {.command = spec.command,
          .workers = spec.processes,
          .deadline_ms = spec.deadline_ms,
          .start_deadline_ms = spec.start_deadline_ms,
          .folder = spec.folder,
          .environment = spec.environment,
          .confined = true,
          .name = fmt::format("scorer {}", spec.name),
          .stated = ScorerHello{spec.name, spec.version, Json::object(), {}},
          .image_folder = spec.by_path ? scratch : fs::path()};
}

/// Why an answer has no value for a metric.
std::string reason_for(const ScorerAnswer& answer, const std::string& metric) {
  const auto found = answer.unusable.find(metric);
  if (found == answer.unusable.end()) return fmt::format("the answer holds no \"{}\"", metric);
  return fmt::format("the answer's \"{}\" is {}", metric, found->second);
}

/// In words that is_passing_reason knows.
SampleScore score_of(const ExternalScorerSpec& spec, const ScorerAnswer& answer) {
  if (answer.error) {
    const bool is_reported = !answer.cost_a_process && !answer.error->ends_with(kLastingMark);
    return without_values(spec.metrics, (is_reported ? std::string(kReported) : "") + *answer.error);
  }
  SampleScore score;
  for (const auto& name : spec.metric_names()) {
    const auto value = answer.values.find(name);
    if (value != answer.values.end()) {
      score.metrics[name] = value->second;
    } else {
      score.metrics[name] = std::nullopt;
      score.reasons[name] = reason_for(answer, name);
    }
  }
  return score;
}

Image test_image() {
  Image image{96, 48, {}};
  for (int i = 0; i < image.width * image.height; ++i) {
    const auto grey = static_cast<std::uint8_t>(255 * (i % image.width) / image.width);
    image.rgb.insert(image.rgb.end(), {grey, grey, static_cast<std::uint8_t>(255 - grey)});
  }
  return image;
}

struct Trial {
  Image image;
  ScorerText text;
};

/// What scorer.json's "test" names; else a grey ramp.
Trial trial_of(const ExternalScorerSpec& spec) {
  Trial trial{{}, {"a sign reading \"TEST\"", "TEST"}};
  const Json document = read_json(spec.file());
  Fields fields(document, spec.file());
  std::string image;
  if (fields.has("test")) {
    Fields test = fields.object("test");
    image = test.optional<std::string>("image", "");
    trial.text.prompt = test.optional<std::string>("prompt", trial.text.prompt);
    trial.text.target = test.optional<std::string>("target", "");
    test.finish();
  }
  trial.image = image.empty() ? test_image() : read_png(spec.folder / image);
  return trial;
}

class ExternalScorer : public Scorer {
 public:
  ExternalScorer(const ExternalScorerSpec& spec, const fs::path& scratch)
      : spec_(spec), scratch_(scratch), pool_(pool_settings(spec_, scratch_.path())) {}

  std::future<SampleScore> score(const ScorerText& text, const Image& image) override {
    std::future<ScorerAnswer> answer;
    if (!given_up()) answer = pool_.submit(image, text);
    return std::async(std::launch::deferred,
                      [this, answer = std::move(answer)]() mutable { return settled(std::move(answer)); });
  }

  bool reads_records() const override { return false; }

  std::size_t replaced() const override { return pool_.replaced() + replaced_before_; }

  Json state() const override {
    const auto reason = given_up();
    if (restarts_ == 0 && !reason) return nullptr;
    return {{"restarts", restarts_}, {"given_up", reason ? Json(*reason) : Json()}};
  }

  void restore(const Json& state, const std::string& where) override {
    Fields fields(state, where);
    restarts_ = fields.required<int>("restarts");
    replaced_before_ = static_cast<std::size_t>(std::max(0, restarts_));
    if (!fields.get("given_up").is_null()) give_up(fields.required<std::string>("given_up"));
    fields.finish();
  }

  std::optional<std::string> given_up() const override {
    const std::lock_guard lock(mutex_);
    return given_up_;
  }

 private:
  SampleScore settled(std::future<ScorerAnswer> answer) {
    if (const auto reason = given_up()) return without_values(spec_.metrics, *reason);
    try {
      const auto got = answer.get();
      auto score = score_of(spec_, got);
      count(got);
      return score;
    } catch (const Error& error) {
      give_up(fmt::format("scorer {} was given up: {}", spec_.name, error.problem()));
      return without_values(spec_.metrics, *given_up());
    }
  }

  void count(const ScorerAnswer& answer) {
    if (!answer.cost_a_process) return;
    if (++restarts_ <= spec_.restarts) return;
    give_up(fmt::format("scorer {} was given up after {} restart{}; the last failure: {}", spec_.name,
                        spec_.restarts, spec_.restarts == 1 ? "" : "s", answer.error.value_or("")));
  }

  void give_up(const std::string& reason) {
    {
      const std::lock_guard lock(mutex_);
      if (!given_up_) given_up_ = reason;
    }
    pool_.stop();
  }

  const ExternalScorerSpec spec_;
  const ScratchFolder scratch_;
  ScorerPool pool_;
  int restarts_ = 0;  ///< of images that were waited for
  std::size_t replaced_before_ = 0;
  mutable std::mutex mutex_;
  std::optional<std::string> given_up_;
};

}  // namespace

bool is_passing_reason(std::string_view reason) {
  if (reason.ends_with(kLastingMark)) return false;
  return is_given_up_reason(reason) || is_invalid_number_reason(reason) ||
         std::ranges::any_of(kPassing, [&](std::string_view start) { return reason.starts_with(start); });
}

std::map<std::string, std::string> try_external_scorer(const ExternalScorerSpec& spec) {
  const ScratchFolder scratch(fs::temp_directory_path() / fmt::format("harness-scorer-trial-{}", ::getpid()));
  auto settings = pool_settings(spec, scratch.path());
  settings.workers = 1;
  settings.forwarded = 0;
  const auto trial = trial_of(spec);
  try {
    ScorerPool pool(settings);
    const auto answer = pool.submit(trial.image, trial.text).get();
    if (answer.error && answer.cost_a_process) throw Error(*answer.error, settings.name);
    return score_of(spec, answer).reasons;
  } catch (const Error& error) {
    const auto who = error.where() == settings.name ? "" : error.where() + ": ";
    throw Error(fmt::format("fails on a test image: {}{}", who, error.problem()), spec.file(), kMendHint);
  }
}

Error without_trial_value(const ExternalScorerSpec& spec, const std::string& metric,
                          const std::string& reason) {
  return Error(fmt::format("gives no {} of a test image: {}", metric, reason), spec.file(), kOtherImageHint);
}

std::unique_ptr<Scorer> open_external_scorer(const ScorerSetup& setup) {
  const auto folder = setup.path("scorer:" + setup.name);
  const auto spec = read_external_scorer(folder);
  const auto found = external_scorer_identity(spec, sha256_file);
  if (found != setup.identity) {
    throw Error("was changed since the run was planned", folder.string(),
                "repeat the command: it plans with the scorer that is there now");
  }
  return std::make_unique<ExternalScorer>(
      spec, setup.scratch / fmt::format("{}{}.{}", kImagesFor, spec.name, setup.rank));
}

void remove_left_images(const fs::path& scratch) {
  std::vector<fs::path> left;
  std::error_code ignored;
  for (fs::directory_iterator entry(scratch, ignored), end; entry != end; entry.increment(ignored)) {
    if (entry->path().filename().string().starts_with(kImagesFor)) left.push_back(entry->path());
  }
  for (const auto& folder : left) fs::remove_all(folder, ignored);
}

}  // namespace harness
