#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/event_log.h"
#include "core/files.h"
#include "core/json.h"
#include "core/weights/safetensors.h"
#include "tests/programs.h"

namespace harness::test {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Not;

using Words = std::vector<std::string>;

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
  /// From here on three runs of sd35-ocr at scale smoke allow statements about the methods.
  void let_smoke_judge() {
    auto table = read_json(fs::path(HARNESS_SOURCE_DIR) / "harness/tables/sd35-ocr.json");
    table.at("scales").at("smoke").at("judges") = true;
    fs::create_directories(share() / "tables");
    write_file_atomically(share() / "tables/sd35-ocr.json", table.dump());
  }

  /// A model folder whose only tensor holds `value`.
  static void write_weights(const fs::path& folder, float value) {
    fs::create_directories(folder);
    const TensorView tensor{.dtype = Dtype::kF32, .shape = {1}, .bytes = std::as_bytes(std::span(&value, 1))};
    write_file_atomically(folder / "model.safetensors", safetensors_bytes({{"w", tensor}}));
  }

  /// Starts the program in this folder; its streams go to files.
  pid_t start(const Words& arguments) {
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

  Outcome run(const Words& arguments) { return wait(start(arguments)); }

  /// What the program that was started last has written by now to its stream "out" or "err".
  std::string written(const std::string& name) const { return read_file(stream(name)); }

  /// The program in the middle of a job.
  struct Busy {
    pid_t program, worker;
    fs::path folder;  ///< of the job
  };

  /// Starts the program and waits until a job of `kind` ("train" or "evaluate") is under way. It stays so,
  /// after two updates or images, until it is ended; or with a time for each of these it goes on.
  Busy start_busy(const Words& arguments, const std::string& kind, int microseconds = 0) {
    const auto usual = environment;
    if (microseconds > 0) {
      environment["HARNESS_FAKE_DELAY_US"] = std::to_string(microseconds);
    } else {
      environment["HARNESS_FAKE_STALL"] = "2";
    }
    environment["HARNESS_FAKE_KIND"] = kind;
    const pid_t program = start(arguments);
    environment = usual;
    std::optional<Busy> found;
    EXPECT_TRUE(wait_until([&] { return (found = busy(program, kind)).has_value(); }));
    return found.value();
  }

  Outcome end(const Busy& busy, int signal) {
    ::kill(busy.program, signal);
    return wait(busy.program);
  }

  /// Succeeds, and says each of `out` on standard output and of `err` on standard error.
  Outcome ok(const Words& arguments, const Words& out = {}, const Words& err = {}) {
    return expect(0, arguments, out, err);
  }
  /// Ends with `status`, likewise.
  Outcome fails(int status, const Words& arguments, const Words& err = {}, const Words& out = {}) {
    return expect(status, arguments, out, err);
  }

  Json json(const Words& arguments, int status = 0) {
    return parse_json(expect(status, arguments, {}, {}).out, "stdout");
  }
  std::string csv(const std::string& query) { return ok({"query", query, "--format", "csv"}).out; }
  Json rows(const std::string& query) { return json({"query", query, "--format", "json"}); }
  int count(const std::string& what) { return rows("SELECT count(*) AS n FROM " + what).at(0).at("n"); }

  /// Changes a DB behind the program's back; the number of rows of the last statement.
  int sql(const std::string& statements, const fs::path& db = "runs/results.sqlite") const {
    return SQLite::Database((folder_ / db).string(), SQLite::OPEN_READWRITE).exec(statements);
  }

  /// Writes a file below the folder, and the folders that it needs.
  void write_text(const fs::path& file, const std::string& text) const {
    fs::create_directories((folder_ / file).parent_path());
    write_file_atomically(folder_ / file, text);
  }
  void write(const fs::path& file, const Json& document) const { write_text(file, document.dump()); }
  /// A shell script that anybody may start, at work in `folder`.
  void write_command(const fs::path& file, const fs::path& folder, const std::string& script) const {
    write_text(file, fmt::format("#!/bin/sh\ncd {} || exit 1\n{}\n", folder.string(), script));
    fs::permissions(folder_ / file, fs::perms::owner_all);
  }

  /// Every metric value of the DB with what it belongs to, as CSV in a fixed order.
  std::string metric_rows(const std::string& db = "runs/results.sqlite") {
    const std::string query = R"sql(
      SELECT r.id AS run, r.method, c.step, e.split, e.id AS evaluation, p.position, m.sample, m.name, m.value, m.reason
      FROM metrics m JOIN evaluations e ON e.id = m.evaluation_id JOIN checkpoints c ON c.id = e.checkpoint_id
      JOIN runs r ON r.id = c.run_id JOIN prompts p ON p.id = m.prompt_id ORDER BY 1, 3, 4, 5, 6, 7, 8)sql";
    return ok({"query", query, "--format", "csv", "--db", db}).out;
  }

  /// Event logs of the jobs of a kind that are under runs/.
  std::vector<fs::path> logs_of(const std::string& kind) const {
    std::vector<fs::path> logs;
    if (!fs::exists(folder_ / "runs")) return logs;
    for (const auto& entry :
         fs::recursive_directory_iterator(folder_ / "runs", fs::directory_options::skip_permission_denied)) {
      const bool is_evaluation = entry.path().parent_path().filename().string().starts_with("eval-");
      if (entry.path().filename() == "events.log" && is_evaluation == (kind == "evaluate"))
        logs.push_back(entry.path());
    }
    return logs;
  }

  std::map<std::string, std::string> environment;

 private:
  std::optional<Busy> busy(pid_t program, const std::string& kind) const {
    for (const auto& log : logs_of(kind)) {
      const auto events = read_events(log, 0).events;
      if (events.size() < 3 || events.back().at("type") == "job_completed") continue;
      for (const auto& event : events) {
        if (event.at("type") == "job_started") return Busy{program, event.at("pid"), log.parent_path()};
      }
    }
    return std::nullopt;
  }

  Outcome expect(int status, const Words& arguments, const Words& out, const Words& err) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    auto outcome = run(arguments);
    EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
    for (const auto& part : out) EXPECT_THAT(outcome.out, HasSubstr(part));
    for (const auto& part : err) EXPECT_THAT(outcome.err, HasSubstr(part));
    return outcome;
  }

  fs::path stream(const std::string& name) const { return folder_ / (name + std::to_string(runs_)); }

  fs::path folder_;
  int runs_ = 0;
  std::map<pid_t, std::unique_ptr<Process>> started_;
};

/// `words` and `more` behind them.
inline Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The command that reproduces a table at the scale smoke.
inline Words smoke_of(const std::string& table, const Words& more = {}) {
  return with({"reproduce", "--table", table, "--scale", "smoke"}, more);
}

inline const Words kSmoke = smoke_of("sd35-ocr");

inline Words smoke(const Words& more) {
  return with(kSmoke, more);
}

/// The first entry of an array that has these values.
inline Json entry(const Json& array, const Json& values) {
  for (const auto& each : array) {
    auto changed = each;
    changed.update(values);
    if (changed == each) return each;
  }
  ADD_FAILURE() << "no entry with " << values;
  return Json::object();
}

/// Ids of the jobs of one kind that a command plans.
inline Words job_ids(Workplace& place, const Words& command, const std::string& kind = "train") {
  Words found;
  const auto plan = place.json(with(command, {"--dry-run", "--json"}));
  for (const auto& job : plan.at("jobs")) {
    if (job.at("kind") == kind) found.push_back(job.at("id"));
  }
  return found;
}

/// One finished smoke run for all tests, and copies of its workspace to change.
class FinishedRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { place().ok(kSmoke); }
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

/// A workplace of its own for each test.
class SmokeTest : public testing::Test {
 protected:
  /// Begins anew with a copy of another workplace's workspace.
  void copy_runs(const Workplace& made) {
    begin_anew();
    fs::copy(made.folder() / "runs", runs, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }

  /// Begins anew with what kSmoke leaves, which is run once for all tests of a process.
  void make() {
    static Workplace made;
    if (!fs::exists(made.folder() / "runs")) made.ok(kSmoke);
    copy_runs(made);
  }

  Outcome ok(const Words& arguments, const Words& out = {}, const Words& err = {}) {
    return place.ok(arguments, out, err);
  }
  Outcome fails(int status, const Words& arguments, const Words& err = {}, const Words& out = {}) {
    return place.fails(status, arguments, err, out);
  }
  std::string query(const std::string& query) { return place.csv(query); }

  Outcome expect_sound(const Words& where = {}) { return ok(with({"db", "check"}, where)); }

  /// As if nothing had been done here.
  void begin_anew() {
    fs::remove_all(runs);
    place.environment = usual_;
  }

  /// Changes a byte in the middle.
  static void damage(const fs::path& file) {
    auto bytes = read_file(file);
    bytes[bytes.size() / 2] ^= 1;
    write_file_atomically(file, bytes);
  }

  Workplace place;
  const fs::path runs = place.folder() / "runs", db = runs / "results.sqlite", journal = runs / "journal.log";

 private:
  const std::map<std::string, std::string> usual_ = place.environment;
};

/// One with what kSmoke leaves.
class MadeTest : public SmokeTest {
 protected:
  MadeTest() { make(); }
};

}  // namespace harness::test
