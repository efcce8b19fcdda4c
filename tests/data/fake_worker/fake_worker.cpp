// Stands in for harness-worker in tests: speaks event logs and the pipe of core/EVENTS.md, computes numbers
// from hashes instead of a model, and fails on demand.
//
//   HARNESS_FAKE_MODE   "die" (exit status 3), "crash" (SIGABRT), "fail" (a job_failed event), "refuse" (the
//   same for an input: exit status 2), "silent" (says nothing more); HARNESS_FAKE_KIND   only jobs of this
//   kind do so, or are slow ("train", "evaluate"); unset: all HARNESS_FAKE_DELAY_US   how long an update or
//   an image takes; HARNESS_FAKE_STALL  after so many of these it goes on no more until its input closes;
//   HARNESS_FAKE_LAW  "none": updates without the statistics of the law audit;
//   HARNESS_FAKE_HACK   "darken": trained methods draw what is read whole, at a fifth of the brightness;
//   "honest": they are read whole, and their images are as before; "none": they draw what the starting
//   weights draw
//   HARNESS_FAKE_BLIND  "STEP:SHARE": on the validation images of checkpoint STEP the scorers fail where less
//   than this share of the text would be read
//   HARNESS_FAKE_SPENT  set: checkpoints say what their training has spent
//   HARNESS_FAKE_GPU  what it says of the GPU; "by node": each node has a kind of its own
//   HARNESS_FAKE_SOURCES  the checksum of its sources; unset: it records none, as workers once did
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/image.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/source_sums/build_info.h"
#include "core/unicode/normal_form.h"
#include "datasets/prompt_set.h"
#include "evaluators/external_scorer.h"
#include "evaluators/image_statistics.h"
#include "evaluators/jpeg.h"
#include "evaluators/ocr.h"
#include "evaluators/scorers.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// A number in [0, 1) that depends on the text alone.
double hash_number(const std::string& text) {
  return static_cast<double>(std::stoull(sha256_hex(text).substr(0, 12), nullptr, 16)) /
         static_cast<double>(1ull << 48);
}

bool input_is_closed() {
  if (!environment("HARNESS_DETACHED").empty()) return false;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (::poll(&input, 1, 0) <= 0) return false;
  char byte = 0;
  return ::read(STDIN_FILENO, &byte, 1) == 0;
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

class Job {
 public:
  explicit Job(const fs::path& folder)
      : folder_(folder),
        job_(read_json(folder / "job.json")),
        identity_(job_.at("identity")),
        log_(folder / "events.log") {}

  int run() {
    const auto kind = identity_.at("kind").get<std::string>();
    misbehave(kind);
    expect_scorers();
    const int done = kind == "train" ? resume_point() : 0;
    Json started = {{"type", "job_started"},
                    {"id", job_.at("id")},
                    {"kind", kind},
                    {"pid", ::getpid()},
                    {"host", "test"},
                    {"build", sha256_file(executable_folder() / "harness-fake-worker")},
                    {"cpu", build_info().cpu_features},
                    {"threads", job_.at("options").at("threads")},
                    {"resumed_from", done}};
    if (const auto sources = environment("HARNESS_FAKE_SOURCES"); !sources.empty())
      started["sources"] = sources;
    log_.append(started);
    const bool whole = kind == "train" ? train(done) : evaluate();
    if (!whole) return 0;
    std::vector<std::string> notes{"The fake worker draws no text."};
    for (auto& note : external_.notes()) notes.push_back(std::move(note));
    log_.append({{"type", "job_completed"},
                 {"wall_seconds", 0.5},
                 {"start_seconds", 0.25},
                 {"peak_rss_mb", 10.0},
                 {"summary", {{"table_notes", std::move(notes)}}}});
    log_.sync();
    say("wake");
    return 0;
  }

 private:
  fs::path path_of(const std::string& name) const { return job_.at("paths").at(name).get<std::string>(); }

  /// Waits as long as one unit of work takes; false if the worker shall end.
  bool step(std::size_t done, std::size_t total, const char* unit) {
    const auto delay = environment("HARNESS_FAKE_DELAY_US"), stall = environment("HARNESS_FAKE_STALL");
    const auto only = environment("HARNESS_FAKE_KIND");
    const bool is_meant = only.empty() || only == identity_.at("kind");
    if (!delay.empty() && is_meant) std::this_thread::sleep_for(std::chrono::microseconds(std::stol(delay)));
    if (done % 16 == 0) {
      say("wake");
      say("progress " +
          Json{{"done", done}, {"total", total}, {"unit", unit}, {"images", done * 8}, {"text", ""}}.dump());
    }
    while (!stall.empty() && is_meant && steps_ == std::stoi(stall) && !input_is_closed())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++steps_;
    return !input_is_closed();
  }

  void misbehave(const std::string& kind) {
    const auto mode = environment("HARNESS_FAKE_MODE"), only = environment("HARNESS_FAKE_KIND");
    if (mode.empty() || (!only.empty() && only != kind)) return;
    std::fprintf(stderr, "fake worker: asked to %s\n", mode.c_str());
    if (mode == "die") std::exit(3);
    if (mode == "crash") std::abort();
    if (mode == "silent") std::this_thread::sleep_for(std::chrono::minutes(10));
    if (mode != "refuse" && mode != "fail") return;
    const bool is_refused = mode == "refuse";
    log_.append({{"type", "job_failed"},
                 {"what", is_refused ? "has a tensor of another shape" : "the disk is full"},
                 {"where", is_refused ? "vae/model.safetensors" : "checkpoints/2"},
                 {"hint", is_refused ? "give other weights" : "free some space"}});
    std::exit(is_refused ? 2 : 1);
  }

  /// Every scorer with files lies where the job says, with the bytes that it was planned with.
  void expect_scorers() const {
    const auto scorers = identity_.value("scorers", Json::object());
    for (const auto& [name, scorer] : scorers.items()) {
      if (!scorer.contains("files")) continue;
      const auto folder = path_of("scorer:" + name);
      for (const auto& [file, sum] : scorer.at("files").items()) {
        if (sha256_file(folder / file) != sum) throw Error("was changed", (folder / file).string());
      }
    }
  }

  /// The last checkpoint written, from the log.
  int resume_point() {
    int last = 0;
    for (const auto& event : read_events(folder_ / "events.log", 0).events) {
      if (event.at("type") == "checkpoint") last = event.at("step");
    }
    return last;
  }

  bool train(int done) {
    const auto& settings = identity_.at("settings");
    const int updates = settings.at("updates");
    const auto checkpoints = settings.at("checkpoints").get<std::vector<int>>();
    say_effective_settings();
    for (int update = done + 1; update <= updates; ++update) {
      if (!step(static_cast<std::size_t>(update), static_cast<std::size_t>(updates), "updates")) return false;
      const bool on_policy = update % 2 == 1;
      const double lambda = on_policy ? 0 : hash_number(seed_text(update));
      Json per_step = per_step_of(on_policy, lambda);
      if (environment("HARNESS_FAKE_LAW") != "none") add_law(per_step);
      Json stats = {{"reward_mean", hash_number("reward" + seed_text(update))},
                    {"clip_fraction", lambda / 2},
                    {"images", 32 * update},
                    {"nfe_forward", 320 * update},
                    {"nfe_backward", (identity_.at("method") == "dual" ? 80 : 320) * update}};
      if (identity_.at("method") == "lambda-controlled") {
        stats["damped_share"] = on_policy ? 0 : 0.375;
        if (!on_policy) stats["damping_undone"] = update % 4 == 0 ? 1 : 0;
      }
      const bool is_checkpoint = std::ranges::count(checkpoints, update) > 0;
      if (is_checkpoint) {
        stats["ema_lag"] = update / 2.0;
        stats["ema_start_share"] = 0.125;
      }
      log_.append({{"type", "update"},
                   {"update_index", update},
                   {"epoch", (update + 1) / 2},
                   {"fresh", true},
                   {"on_policy", on_policy},
                   {"stats", stats},
                   {"per_step", per_step}});
      if (is_checkpoint) save(update);
    }
    return true;
  }

  /// A method with a budget reports what it came to: that of q = 0.99 over five late steps.
  void say_effective_settings() {
    Json settings = identity_.at("method_settings");
    if (identity_.at("method") == "lambda-controlled") settings["tau"] = 0.0020100671707;
    log_.append({{"type", "effective_settings"}, {"method_settings", settings}});
  }

  Json per_step_of(bool on_policy, double lambda) const {
    Json center = Json::array(), weight = Json::array();
    const int steps = identity_.at("settings").at("sampling_steps");
    for (int k = 0; k < steps; ++k) {
      center.push_back(lambda / (k + 1));
      weight.push_back(on_policy || k == 0 ? 1.0 : 0.5);
    }
    return {{"lambda_center", center}, {"lambda_weight", weight}};
  }

  /// Measured log-ratios that keep the law exactly.
  static void add_law(Json& per_step) {
    for (const double lambda : per_step.at("lambda_center").get<std::vector<double>>()) {
      per_step["log_ratio_mean"].push_back(-lambda / 2);
      per_step["lambda_var"].push_back(lambda / 1000);
      per_step["log_ratio_var"].push_back(lambda / 1000);
    }
  }

  void save(int step) {
    const auto folder = fs::path("checkpoints") / std::to_string(step);
    const auto weights = "weights of " + seed_text(step);
    const auto manifest =
        Json{{"step", step}, {"files", {{"model.safetensors", sha256_hex(weights)}}}}.dump();
    make_folder(folder_ / folder);
    write_file_atomically(folder_ / folder / "model.safetensors", weights);
    write_file_atomically(folder_ / folder / "manifest.json", manifest);
    const double lambda = hash_number(seed_text(step)) / 1000;
    Json event = {{"type", "checkpoint"},           {"step", step},          {"path", folder.string()},
                  {"sha256", sha256_hex(manifest)}, {"lambda_late", lambda}, {"lambda_late_last", lambda / 2},
                  {"clip_fraction", 0.25}};
    // Logs of early versions have none.
    if (!environment("HARNESS_FAKE_SPENT").empty())
      event["spent"] = {{"seconds", step / 4.0},
                        {"scorer_seconds", step / 32.0},
                        {"core_seconds", step / 2.0},
                        {"peak_bytes", std::int64_t{3} << 28},
                        {"weight_copies", 1}};
    log_.append(std::move(event));
    say("wake");
  }

  std::string seed_text(int update) const {
    return identity_.at("method").get<std::string>() + identity_.at("seed").dump() + std::to_string(update);
  }

  /// The external scorers of the job, which are the real ones.
  void start_external_scorers() {
    const auto path = [this](const std::string& name) { return path_of(name); };
    for (const auto& [name, identity] : identity_.at("scorers").items()) {
      if (identity.value("profile", "") != kExternalProfile) continue;
      external_.add(
          name, open_external_scorer({.name = name, .identity = identity, .path = path, .scratch = folder_}));
    }
  }

  bool evaluate() {
    start_external_scorers();
    const auto positions = read_json(path_of("positions")).get<std::vector<int>>();
    prompts_ = load_prompt_set(path_of("prompts"), task_of_file(path_of("prompts")));
    if (identity_.value(kTargetForm, "") == kNormalFormC) {
      for (auto& prompt : prompts_.prompts) prompt.target = Target(to_nfc(prompt.target.words()));
    }
    make_folder(folder_ / "images");
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (!step(i, positions.size(), "images")) return false;
      sample(positions[i]);
    }
    return true;
  }

  /// The target's first part, as long as `share` of it.
  static std::string misread(const std::string& target, double share) {
    return target.substr(0, static_cast<std::size_t>(share * 1.2 * static_cast<double>(target.size())));
  }

  /// Text metrics of what was read, nothing without a target; any other metric a number near 0.8. A failed
  /// scorer costs all of them.
  void add_metrics(const ScorerAnswer& read, const std::string& target, const std::string& key, Json& metrics,
                   Json& reasons) const {
    const auto text = ocr_score(target, read);
    for (const std::string name : identity_.at("metrics")) {
      const auto found = text.metrics.find(name);
      auto value = found != text.metrics.end() ? found->second : 0.8 + 0.1 * hash_number(name + key);
      if (read.error) value.reset();
      metrics[name] = value ? Json(*value) : Json();
      if (!value) reasons[name] = read.error.value_or(kNoTargetReason);
    }
  }

  /// HARNESS_FAKE_BLIND
  bool is_blind_to(double reward) const {
    const auto blind = environment("HARNESS_FAKE_BLIND");
    const auto colon = blind.find(':');
    if (colon == std::string::npos || identity_.at("split") != "validation") return false;
    return identity_.at("step") == std::stoi(blind) && reward < std::stod(blind.substr(colon + 1));
  }

  void sample(int position) {
    const auto& prompt = prompts_.prompts.at(static_cast<std::size_t>(position));
    const auto key =
        identity_.at("run").get<std::string>() + identity_.at("step").dump() + std::to_string(position);
    const auto hack = environment("HARNESS_FAKE_HACK");
    const bool is_trained = identity_.at("step") != 0;
    // Of a seed the images are those of the base model with this seed.
    const double drawn =
        hash_number(hack.empty() ? key : "base" + identity_.at("seed").dump() + std::to_string(position));
    const double reward = is_trained && (hack == "darken" || hack == "honest") ? 1 : drawn;
    const auto path = fs::path("images") / (std::to_string(position) + ".png");
    const auto level = static_cast<std::uint8_t>(drawn * (is_trained && hack == "darken" ? 51 : 255));
    const Image image{.width = 8, .height = 4, .rgb = std::vector<std::uint8_t>(8 * 4 * 3, level)};
    const auto bytes = png_bytes(image);
    write_file(folder_ / path, bytes);
    ScorerAnswer read;
    read.transcript_raw = misread(prompt.target.text(), reward);
    if (position == 5) read.error = "the fake scorer fails at position 5";
    if (is_blind_to(reward)) read.error = "the fake scorer sees nothing";
    const Json transcript = read.error ? Json() : Json(*read.transcript_raw);
    Json metrics = Json::object(), reasons = Json::object();
    add_metrics(read, prompt.target.text(), key, metrics, reasons);
    for (const auto& score : {image_statistics_score(image), jpeg_score(image),
                              external_.score(prompt.text, prompt.target, image).get()}) {
      for (const auto& [name, value] : score.metrics) metrics[name] = value ? Json(*value) : Json();
      reasons.update(score.reasons);
    }
    log_.append({{"type", "sample"},
                 {"position", position},
                 {"sample", 0},
                 {"seed", identity_.at("seed")},
                 {"path", path.string()},
                 {"sha256", sha256_hex(bytes)},
                 {"transcript", transcript},
                 {"transcript_raw", transcript},
                 {"metrics", metrics},
                 {"reasons", reasons}});
  }

  fs::path folder_;
  Json job_;
  const Json& identity_;
  EventLogWriter log_;
  PromptSet prompts_ = {};
  Scorers external_ = {};
  int steps_ = 0;  ///< updates or images begun
};

/// Passes every model case; a kind that starts with "unknown" is unknown.
int parity(const fs::path& request_file) {
  Json cases = Json::array();
  const Json folders = read_json(request_file).at("cases");
  for (const auto& folder : folders) {
    const auto description = read_json(fs::path(folder.get<std::string>()) / "case.json");
    const auto kind = description.at("kind").get<std::string>();
    const bool known = kind.rfind("unknown", 0) != 0;
    cases.push_back({{"name", description.at("name")},
                     {"kind", kind},
                     {"passed", known},
                     {"max_abs", 0.0},
                     {"max_rel", 0.0},
                     {"message", known ? "" : "unknown kind"}});
  }
  say(Json{{"cases", cases}}.dump());
  return 0;
}

/// Refuses a scorer whose configuration says {"is": "broken"}; else nothing is wrong and nothing is
/// estimated.
int check(const fs::path& request_file) {
  const auto scorers = read_json(request_file).value("scorers", Json::object());
  for (const auto& [name, scorer] : scorers.items()) {
    const auto config = fs::path(scorer.at("folder").get<std::string>()) / "config.json";
    if (!fs::exists(config)) continue;
    const auto document = read_json(config);
    const auto refused = document.value("refuses", "none");
    if (document.value("is", "") != "broken" && scorer.value("profile", "") != refused) continue;
    say(Json{{"error", {{"what", "is broken"}, {"where", config.string()}, {"hint", "mend it"}}}}.dump());
    return 0;
  }
  say(R"({"ok": true})");
  return 0;
}

int main_program(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "run" && argc == 3) return Job(argv[2]).run();
  if (command == "--describe") {  // as HARNESS_SCORER
    say(R"({"protocol": 1, "name": "ocr-fake", "version": "1", "settings": {}, "data": []})");
    return 0;
  }
  if (command == "--characters") {
    say(R"json({"characters": "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]_abcdefghijklmnopqrstuvwxyz{|}~\u00e9\u2019"})json");
    return 0;
  }
  if (command == "gpu") {
    say(R"({"kernels": true, "missing": "libcufile.so.0: no such file", "hint": "run scripts/setup"})");
    return 0;
  }
  if (command == "describe") {
    say("{}");
    return 0;
  }
  if (command == "device" && argc == 3) {
    const auto gpu = environment("HARNESS_FAKE_GPU");
    say(gpu == "by node" ? "GPU of " + environment("SLURMD_NODENAME") : gpu);
    return 0;
  }
  if (command == "parity" && argc == 4) return parity(argv[3]);
  if (command == "check" && argc == 4) return check(argv[3]);
  if (command == "check-texts") {
    say(R"({"longest": "", "shortest": "", "cut": [], "partly": [], "targets_cut": 0, "scorers": {}})");
    return 0;
  }
  if (argc == 4) {  // sample, pretrain: shows the request
    say(read_json(argv[3]).dump());
    return 0;
  }
  std::fprintf(stderr, "fake worker: unknown command\n");
  return 2;
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  try {
    return harness::main_program(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake worker: %s\n", error.what());
    return 1;
  }
}
