#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "core/safetensors.h"

namespace harness::test {

namespace fs = std::filesystem;

struct Outcome {
  int status = 0;  ///< exit status, or 1000 + signal
  std::string out, err;
};

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
  ~Workplace() { fs::remove_all(folder_); }
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
  pid_t start(const std::vector<std::string>& arguments) {
    ++runs_;
    const auto out = stream("out"), err = stream("err");
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    if (::chdir(folder_.c_str()) != 0 || ::freopen(out.c_str(), "w", stdout) == nullptr ||
        ::freopen(err.c_str(), "w", stderr) == nullptr) {
      ::_exit(99);
    }
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    const auto program = (fs::path(HARNESS_BINARY_DIR) / "harness").string();
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    ::_exit(99);
  }

  Outcome wait(pid_t pid) {
    int raw = 0;
    ::waitpid(pid, &raw, 0);
    const int status = WIFSIGNALED(raw) ? 1000 + WTERMSIG(raw) : WEXITSTATUS(raw);
    return {status, read_file(stream("out")), read_file(stream("err"))};
  }

  Outcome run(const std::vector<std::string>& arguments) { return wait(start(arguments)); }

  Json json(const std::vector<std::string>& arguments) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return parse_json(outcome.out, "stdout");
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
};

/// Waits until `holds`, at most 60 s.
inline bool wait_until(const std::function<bool()>& holds) {
  for (int i = 0; i < 6000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace harness::test
