#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/image.h"
#include "core/text.h"
#include "tests/programs.h"
#include "tests/recorded_cases.h"

// The whole chain through the real programs, with the embedded weights and a table made small.

namespace harness {

inline const std::filesystem::path kTree = HARNESS_SOURCE_DIR;
inline const std::string kProgram = std::string(HARNESS_BINARY_DIR) + "/harness";

/// That two answers of thousands of rows are equal; where they are not, the first lines that differ.
inline void expect_equal_rows(const std::string& a, const std::string& b) {
  if (a == b) return;
  const auto of_a = split(a, '\n'), of_b = split(b, '\n');
  const auto [at_a, at_b] = std::ranges::mismatch(of_a, of_b);
  ADD_FAILURE() << of_a.size() << " and " << of_b.size() << " rows; first different, line "
                << at_a - of_a.begin() + 1 << ":\n"
                << (at_a == of_a.end() ? "(none)" : *at_a) << "\n"
                << (at_b == of_b.end() ? "(none)" : *at_b);
}

class Chain : public testing::Test {
 protected:
  void SetUp() override {
    Json table = read_json(kTree / "harness/tables/sd35-ocr.json");
    table["id"] = "chain";
    table["methods"] = {"ratio-norm", "lambda-controlled"};
    table["scales"]["smoke"] = {{"checkpoints", {2, 4}},
                                {"limit", {{"validation", 5}, {"test", 7}}},
                                {"settings",
                                 {{"prompts_per_epoch", 4},
                                  {"group_size", 3},
                                  {"shard_prompts", 1},
                                  {"sampling_steps", 6},
                                  {"updates", 4}}}};
    write_file_atomically(root_ / "chain.json", table.dump(2));
  }

  std::string reproduce(const std::string& out, const std::string& more = {}) const {
    return fmt::format("{} reproduce --table {} --scale smoke --out {} {}", kProgram,
                       (root_ / "chain.json").string(), (root_ / out).string(), more);
  }

  void expect_reproduced(const std::string& out, const std::string& more = {}) const {
    const auto run = shell(reproduce(out, more) + " 2>&1 >/dev/null");
    EXPECT_EQ(run.status, 0) << run.out;
  }

  /// Changes the table that `reproduce` takes.
  void patch_table(const Json& patch) const {
    Json table = read_json(root_ / "chain.json");
    table.merge_patch(patch);
    write_file_atomically(root_ / "chain.json", table.dump());
  }

  std::string query(const std::string& out, const std::string& sql, const std::string& format = "csv") const {
    const auto answer = shell(fmt::format("{} query \"{}\" --db {} --format {} 2>&1", kProgram, sql,
                                          (root_ / out / "results.sqlite").string(), format));
    EXPECT_EQ(answer.status, 0) << answer.out;
    return answer.out;
  }
  /// How many events of a type the logs of a workspace hold, its journal among them.
  std::size_t events_of(const std::string& out, const std::string& type) const {
    namespace fs = std::filesystem;
    std::size_t count = 0;
    std::error_code gone;  // a folder may be made or leave meanwhile
    for (fs::recursive_directory_iterator entry(root_ / out, gone), end; !gone && entry != end;
         entry.increment(gone)) {
      const auto name = entry->path().filename();
      if (name != "events.log" && name != "journal.log") continue;
      std::ifstream log(entry->path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(log), {}};
      const auto wanted = "\"type\":\"" + type + "\"";
      for (auto at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) ++count;
    }
    return count;
  }

  /// Starts a command in `out`, waits until the logs have one more event of the type, and gives the command,
  /// which is at work then.
  std::unique_ptr<Process> started_until(const std::string& out, const std::string& line,
                                         const std::string& type) const;

  Json json_rows(const std::string& out, const std::string& sql) const {
    return parse_json(query(out, sql, "json"), "stdout");
  }

  /// What a command that works from the database alone prints; it must succeed.
  std::string on(const std::string& command, const std::string& out) const {
    const auto done = shell(
        fmt::format("{} {} --db {} 2>&1", kProgram, command, (root_ / out / "results.sqlite").string()));
    EXPECT_EQ(done.status, 0) << done.out;
    return done.out;
  }

  std::string at(const std::filesystem::path& path) const { return (root_ / path).string(); }

  /// The output of a line, or of `harness COMMAND`, which must end with this status.
  static std::string ended(const std::string& line, int status) {
    const auto done = shell(line + " 2>&1");
    EXPECT_EQ(done.status, status) << done.out;
    return done.out;
  }
  static std::string output_of(const std::string& command, int status = 0) {
    return ended(kProgram + " " + command, status);
  }

  /// Each image is stored with the `metric` that `value_of` finds in it; mean rewards are between 0 and 1.
  void expect_scored(const std::string& out, const std::string& metric,
                     const std::function<double(const Image&)>& value_of) const {
    const auto images = json_rows(
        out,
        fmt::format("SELECT e.folder, s.path, m.value FROM metrics m JOIN samples s USING "
                    "(evaluation_id, prompt_id, sample) JOIN evaluations e ON e.id = evaluation_id WHERE "
                    "m.name = '{}'",
                    metric));
    ASSERT_EQ(images.size(), 5U + 7 + 2 * 5 + 7) << metric;
    for (const auto& row : images) {
      const auto image = read_png(std::filesystem::path(row.at("folder").get<std::string>()) /
                                  row.at("path").get<std::string>());
      EXPECT_NEAR(row.at("value").get<double>(), value_of(image), 1e-12) << metric;
    }
    const auto rewards = json_rows(out, "SELECT value FROM train_stats WHERE name = 'reward_mean'");
    ASSERT_EQ(rewards.size(), 4U);
    for (const auto& reward : rewards) {
      EXPECT_GT(reward.at("value").get<double>(), 0);
      EXPECT_LT(reward.at("value").get<double>(), 1);
    }
  }

  /// Everything that must not depend on when, where or how often the run was interrupted.
  std::string rows(const std::string& out) const {
    return query(
               out,
               "SELECT r.method, c.step, e.split, p.position, m.name, m.value, s.sha256, s.transcript FROM "
               "metrics m JOIN evaluations e ON e.id = "
               "m.evaluation_id JOIN checkpoints c ON c.id = e.checkpoint_id JOIN runs r ON r.id = c.run_id "
               "JOIN prompts p ON p.id = m.prompt_id JOIN samples s "
               "ON s.evaluation_id = e.id AND s.prompt_id = m.prompt_id ORDER BY 1, 2, 3, 4, 5") +
           query(out,
                 "SELECT r.method, t.update_index, t.timestep, t.name, t.value, t.fresh, t.on_policy FROM "
                 "train_stats t "
                 "JOIN runs r ON r.id = t.run_id ORDER BY 1, 2, 3, 4") +
           query(out,
                 "SELECT r.method, c.step, c.sha256, c.lambda_late FROM checkpoints c JOIN runs r ON r.id = "
                 "c.run_id ORDER BY 1, 2") +
           query(out,
                 "SELECT r.method, s.split, s.metric, s.rule, s.value, c.step FROM selections s JOIN "
                 "checkpoints c ON c.id = s.checkpoint_id JOIN runs r ON r.id = "
                 "s.run_id ORDER BY 1, 2, 3, 6");
  }

  /// What a table leaves.
  struct Made {
    std::string rows;
    Json table;
  };
  /// What this one leaves, made once by this machine alone for all tests of the program; nothing interrupts
  /// it.
  const Made& undisturbed(const std::string& more = {}) const {
    auto& made = undisturbed_[more + read_file(root_ / "chain.json")];
    if (made.rows.empty()) {
      expect_reproduced("undisturbed", more);
      made = {rows("undisturbed"), table("undisturbed")};
      std::filesystem::remove_all(root_ / "undisturbed");
    }
    return made;
  }

  /// A table without what may differ: times, paths and the checkout's revision.
  static Json lasting(Json table) {
    table.erase("wall_seconds");
    table.erase("artifacts");
    return table;
  }
  Json table(const std::string& out) const { return lasting(read_json(root_ / out / "chain/table.json")); }

  const TemporaryFolder folder_;
  const std::filesystem::path root_ = folder_.path();

 private:
  inline static std::map<std::string, Made> undisturbed_;
};

/// Starts a shell line in its own process group.
inline Process start(const std::string& line) {
  const Descriptor null(::open("/dev/null", O_RDWR));
  return Process({"bash", "-c", "exec " + line},
                 {.in = null.get(), .out = null.get(), .err = null.get(), .own_group = true});
}

inline std::unique_ptr<Process> Chain::started_until(const std::string& out, const std::string& line,
                                                     const std::string& type) const {
  const auto before = events_of(out, type);
  std::unique_ptr<Process> command(new Process(start(line)));
  EXPECT_TRUE(wait_until([&] { return command->has_ended() || events_of(out, type) > before; }, 300)) << type;
  EXPECT_FALSE(command->has_ended()) << "before an event of type " << type;
  return command;
}

enum class Work { kAny, kTraining, kEvaluation };

/// The harness-worker processes with such a job that `parent` runs (not the one that checks settings before).
inline std::vector<pid_t> workers_of(pid_t parent, Work work = Work::kAny) {
  std::vector<pid_t> workers;
  std::ifstream list(fmt::format("/proc/{0}/task/{0}/children", parent));
  for (pid_t child; list >> child;) {
    std::ifstream words(fmt::format("/proc/{}/cmdline", child));
    const std::string line{std::istreambuf_iterator<char>(words), {}};
    if (line.find(std::string("harness-worker\0run\0", 19)) == std::string::npos) continue;
    const auto found = line.find("/eval-") == std::string::npos ? Work::kTraining : Work::kEvaluation;
    if (work == Work::kAny || work == found) workers.push_back(child);
  }
  return workers;
}

/// Waits until the process has a worker, or has ended (then false).
inline bool wait_for_worker(const Process& harness) {
  while (workers_of(harness.pid()).empty()) {
    if (harness.has_ended()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace harness
