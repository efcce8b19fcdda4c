#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "core/weights/safetensors.h"
#include "tests/programs.h"

namespace harness::test {

namespace fs = std::filesystem;

using Arguments = std::vector<std::string>;

/// A new folder with a registry, tiny weights and the real program `harness`, whose worker is
/// tests/data/fake_worker. Goes away with this object.
class Workplace {
 public:
  Workplace() {
    std::string name = (fs::temp_directory_path() / "harness-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = name;
    fs::create_directories(share() / "backbones/glyph");
    fs::copy_file(fs::path(HARNESS_SOURCE_DIR) / "tests/data/fake_share/registry.json",
                  share() / "registry.json");
    write_weights(share() / "backbones/glyph", 1);
    const auto worker = (fs::path(HARNESS_BINARY_DIR) / "tests/harness-fake-worker").string();
    environment = {
        {"HARNESS_PATH", share().string()}, {"HARNESS_WORKER", worker}, {"HARNESS_SCORER", worker}};
  }
  ~Workplace() {
    started_.clear();
    fs::remove_all(folder_);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  const fs::path& folder() const { return folder_; }
  fs::path share() const { return folder_ / "share"; }

  /// A model folder whose only tensor holds `value`.
  static void write_weights(const fs::path& folder, float value) {
    fs::create_directories(folder);
    const TensorView tensor{.dtype = Dtype::kF32, .shape = {1}, .bytes = std::as_bytes(std::span(&value, 1))};
    write_file_atomically(folder / "model.safetensors", safetensors_bytes({{"w", tensor}}));
  }

  /// Starts the program in this folder; its streams go to files.
  pid_t start(const Arguments& arguments) {
    ++runs_;
    std::vector<std::string> words = {HARNESS_BINARY_DIR "/harness"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Descriptor out(::creat(stream("out").c_str(), 0600)), err(::creat(stream("err").c_str(), 0600));
    auto process = std::make_unique<Process>(
        words,
        ProcessOptions{.folder = folder_, .environment = environment, .out = out.get(), .err = err.get()});
    const pid_t pid = process->pid();
    started_[pid] = std::move(process);
    return pid;
  }

  Outcome wait(pid_t pid) {
    const int status = number_of(started_.at(pid)->wait());
    started_.erase(pid);
    return {status, read_file(stream("out")), read_file(stream("err"))};
  }

  Outcome run(const Arguments& arguments) { return wait(start(arguments)); }

  Json json(const Arguments& arguments) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return parse_json(outcome.out, "stdout");
  }

  std::string csv(const std::string& sql) { return run({"query", sql, "--format", "csv"}).out; }
  Json rows(const std::string& sql) { return json({"query", sql, "--format", "json"}); }

  void write(const std::string& file, const Json& document) const {
    write_file_atomically(folder_ / file, document.dump());
  }

  /// Every metric value of the DB with what it belongs to, as CSV in a fixed order.
  std::string metric_rows(const std::string& db = "runs/results.sqlite") {
    const auto outcome = run({"query", R"sql(
      SELECT r.id AS run, r.method, c.step, e.split, e.id AS evaluation, p.position, m.sample, m.name, m.value, m.reason
      FROM metrics m JOIN evaluations e ON e.id = m.evaluation_id JOIN checkpoints c ON c.id = e.checkpoint_id
      JOIN runs r ON r.id = c.run_id JOIN prompts p ON p.id = m.prompt_id ORDER BY 1, 3, 4, 5, 6, 7, 8)sql",
                              "--format", "csv", "--db", db});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }

  std::map<std::string, std::string> environment;

 private:
  fs::path stream(const std::string& name) const { return folder_ / (name + std::to_string(runs_)); }

  fs::path folder_;
  int runs_ = 0;
  std::map<pid_t, std::unique_ptr<Process>> started_;
};

/// `words` and `more` behind them.
inline Arguments with(Arguments words, const Arguments& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The command that reproduces a table at the scale smoke.
inline Arguments smoke_of(const std::string& table, const Arguments& more = {}) {
  return with({"reproduce", "--table", table, "--scale", "smoke"}, more);
}

/// The message of a command that must end with status 2.
inline std::string refusal_of(Workplace& place, const std::vector<std::string>& arguments) {
  const auto outcome = place.run(arguments);
  EXPECT_EQ(outcome.status, 2) << outcome.err << outcome.out;
  return outcome.err;
}

/// Ids of the jobs of one kind that a command plans.
inline std::vector<std::string> job_ids(Workplace& place, const Arguments& command, const std::string& kind) {
  std::vector<std::string> found;
  const auto plan = place.json(with(command, {"--dry-run", "--json"}));
  for (const auto& job : plan.at("jobs")) {
    if (job.at("kind") == kind) found.push_back(job.at("id"));
  }
  return found;
}

/// One finished smoke run for all tests, and copies of its workspace to change.
class FinishedRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(place().run(smoke_of("sd35-ocr")).status, 0); }
  static Workplace& place() {
    static Workplace finished;
    return finished;
  }
  static fs::path copy() {
    static int number = 0;
    const auto folder = place().folder() / ("copy" + std::to_string(++number));
    fs::copy(place().folder() / "runs", folder, fs::copy_options::recursive);
    return folder;
  }
};

}  // namespace harness::test
