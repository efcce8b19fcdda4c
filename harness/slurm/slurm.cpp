#include "harness/slurm/slurm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <string_view>
#include <thread>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "harness/batch/queue.h"

namespace harness::slurm {
namespace fs = std::filesystem;
namespace {

/// Which Slurm it is; all else with this beginning is about an allocation that we are in.
constexpr std::string_view kWhichSlurm = "SLURM_CONF=", kPrefix = "SLURM_";

constexpr int kNoLogOnNode = 53;  // the "signal" of a job whose output file its node cannot open

/// Whether what a command says on standard error is of those that pass: the controller does not answer, or is
/// busy. Whether it did what was asked is then not known.
bool may_pass(const std::string& message) {
  constexpr std::array<std::string_view, 6> kPassing = {"Unable to contact slurm controller",
                                                        "Socket timed out",
                                                        "Connection refused",
                                                        "Zero Bytes were transmitted",
                                                        "Resource temporarily unavail",
                                                        "in backup mode"};
  return std::ranges::any_of(kPassing,
                             [&](std::string_view part) { return message.find(part) != std::string::npos; });
}

[[noreturn]] void refuse(const std::string& why, const std::string& where) {
  throw Error(
      fmt::format("Slurm refuses the job: {}", why), where,
      is_submit_limit(why)
          ? "a limit on jobs in the queue is reached (MaxSubmitJobs, GrpSubmitJobs: `sacctmgr show "
            "assoc`, `sacctmgr show qos`): repeat the command once others have ended, or ask those who "
            "run the cluster"
          : "change what it asks for with --slurm (`sinfo` lists partitions and nodes)");
}

/// Out of what sbatch prints: "17", or "17;cluster".
std::string number_of_job(const std::string& printed, const fs::path& script) {
  const auto id = std::string(trim(split(printed, ';').front()));
  const bool is_number = !id.empty() && id.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) return id;
  throw Error(fmt::format("expected a job number from sbatch, got \"{}\"", trim(printed)), script.string(),
              "", Status::kFailed);
}

QueuedJob::Phase phase_of(const std::string& state) {
  constexpr std::array<std::string_view, 10> kOtherAlive = {
      "CONFIGURING",  "SUSPENDED", "REQUEUED",  "REQUEUE_FED", "REQUEUE_HOLD",
      "SPECIAL_EXIT", "STOPPED",   "SIGNALING", "RESIZING",    "RESV_DEL_HOLD"};
  using enum QueuedJob::Phase;
  if (state == "PENDING") return kWaiting;
  if (state == "RUNNING") return kRunning;
  if (std::ranges::find(kOtherAlive, state) != kOtherAlive.end()) return kHeld;
  if (state == "COMPLETING") return kEnding;
  return state == "COMPLETED" ? kCompleted : kEnded;
}

bool comes_never(const std::string& reason) {
  constexpr std::array<std::string_view, 9> kReasons = {
      "PartitionConfig", "PartitionNodeLimit", "PartitionTimeLimit",
      "BadConstraints",  "InvalidAccount",     "InvalidQOS",
      "JobHeldUser",     "JobHeldAdmin",       "DependencyNeverSatisfied"};
  return std::ranges::find(kReasons, reason) != kReasons.end();
}

constexpr double kTimeMargin = 2, kMemoryMargin = 1.25;  // over what earlier jobs took
constexpr int kShortestMinutes = 10;

/// Seconds before its end at which a job is signalled to save: more than it takes from one save to the next.
int lead_seconds(const JobRequest& request) {
  constexpr double kShortest = 60, kLongest = 600, kUnknown = 120;
  const auto wanted = request.unit_seconds ? 1.5 * *request.unit_seconds : kUnknown;
  return static_cast<int>(std::clamp(wanted, kShortest, kLongest));
}

std::optional<int> number_found(const std::string& text, const std::regex& pattern) {
  std::smatch found;
  if (!std::regex_search(text, found, pattern)) return std::nullopt;
  return std::stoi(found[1].str());
}

/// A path as a file name pattern of sbatch's.
std::string file_pattern(const std::filesystem::path& path) {
  std::string text;
  for (const char c : path.string()) text += c == '%' ? std::string("%%") : std::string(1, c);
  return text;
}

bool asks_for_gpus(const std::string& arguments) {
  return arguments.find("--gpu") != std::string::npos || arguments.find("--gres") != std::string::npos;
}

bool names_memory(const std::string& arguments) {
  return arguments.find("--mem") != std::string::npos;
}

class Slurm : public Batch {
 public:
  Slurm()
      : Batch({.executor = "slurm",
               .name = "Slurm",
               .submit = "sbatch",
               .list = "squeue",
               .cancel = "scancel",
               .directive = "#SBATCH",
               .examples = {"--partition=gpu", "--account=lab"}}) {}

  std::vector<std::string> words(const std::vector<std::string>& command) const override {
    std::vector<std::string> all = {"env"};
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view variable = *entry;
      if (!variable.starts_with(kPrefix) || variable.starts_with(kWhichSlurm)) continue;
      all.insert(all.end(), {"-u", std::string(variable.substr(0, variable.find('=')))});
    }
    all.insert(all.end(), command.begin(), command.end());
    return all;
  }

  void require(std::chrono::seconds patience) const override {
    if (!program_on_path("sbatch")) {
      throw Error("the command sbatch cannot be started", choice(),
                  "put Slurm's commands on PATH, or use --executor local");
    }
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::seconds kPause{5};
    for (const auto until = Clock::now() + patience;;) {
      const auto answer = run({"squeue", "--me", "--noheader", "--states=PENDING"});
      if (answer.status.ok()) return;
      const auto why = error_text(answer.err);
      if (!may_pass(why) || Clock::now() + kPause > until) {
        throw Error("Slurm does not answer: " + why, choice(), "see whether `squeue` works here",
                    may_pass(why) ? Status::kFailed : Status::kUsage);
      }
      std::this_thread::sleep_for(kPause);
    }
  }

  const Launcher* launcher() const override { return &srun(); }

  JobArguments parse(const std::string& arguments) const override {
    const bool is_one_line = arguments.find_first_of("\n\r") == std::string::npos;
    const auto trimmed = trim(arguments);
    if (!is_one_line || (!trimmed.empty() && trimmed.front() != '-'))
      throw Error(fmt::format("{} are not options of sbatch", in_quotes(arguments)), option(),
                  "give them in one line, as in --slurm '--partition=gpu --account=lab'");
    static const std::regex kCpus(R"((?:^|\s)(?:--cpus-per-task[= ]|-c ?)([1-9][0-9]{0,4})(?:\s|$))"),
        kGpus(
            R"((?:^|\s)(?:--gpus-per-node[= ]|--gres[= ]gpu:)(?:[a-zA-Z][^\s:]*:)?([1-9][0-9]{0,2})(?:\s|$))");
    return {.threads = number_found(arguments, kCpus), .gpus_per_node = number_found(arguments, kGpus)};
  }

  std::vector<std::string> options(const JobRequest& request) const override {
    std::vector<std::string> all = {
        "--job-name=" + batch_job_name(request.id, request.folder),
        "--dependency=singleton",
        "--kill-on-invalid-dep=yes",
        "--requeue",
        "--open-mode=append",
        script_option("--output=" + file_pattern(request.folder / kWorkerLog)),
        fmt::format("--signal=TERM@{}", lead_seconds(request)),
        fmt::format("--ntasks={}", request.ranks),
        fmt::format("--cpus-per-task={}", request.threads),
    };
    // Ranks of one node see all of its GPUs of theirs, and choose by their local rank.
    if (request.on_gpus && !asks_for_gpus(request.arguments)) {
      all.emplace_back("--nodes=1");
      all.push_back(fmt::format("--gpus-per-node={}", request.ranks));
    }
    if (request.memory_mb && !names_memory(request.arguments)) {
      const double each = kMemoryMargin * *request.memory_mb / request.threads;
      all.push_back(fmt::format("--mem-per-cpu={:.0f}M", std::ceil(each)));
    }
    if (request.seconds) {
      constexpr double kStart = 60;
      const double wanted = kTimeMargin * *request.seconds + kStart + lead_seconds(request);
      const auto minutes = static_cast<int>(std::ceil(wanted / 60));
      all.push_back(fmt::format("--time={}", std::max(kShortestMinutes, minutes)));
    }
    if (!request.arguments.empty()) all.push_back(request.arguments);
    return all;
  }

  std::string script(const JobRequest& request, const fs::path& worker,
                     std::uint64_t log_begin) const override {
    const auto folder = shell_word(request.folder.string()), program = shell_word(worker.string());
    return script_head(options(request)) + fmt::format(R"sh(# Written by harness. By hand: sbatch {0}/job.sh
{2} CUBLAS_WORKSPACE_CONFIG=:4096:8
# What is written there is the number of a job that is not to go on.
is_cancelled() {{ [ -s {0}/{3} ] && [ "$(cat {0}/{3})" = "$SLURM_JOB_ID" ]; }}
is_cancelled && exit 130
srun --kill-on-bad-exit=1 ${{SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}} {1} run {0}
status=$?
# Told to save before the end of its time, or because the node is wanted: once more, if it came further.
if [ $status = 130 ] && ! is_cancelled && {1} advanced {0}; then
  scontrol requeue "$SLURM_JOB_ID" && sleep 60
fi
exit $status
)sh",
                                                       folder, program, worker_environment(log_begin),
                                                       kStopMarker);
  }

  std::vector<std::string> continuation_options(const std::string& name, const fs::path& log,
                                                const std::string& arguments) const override {
    std::vector<std::string> all = {
        "--job-name=" + name, "--open-mode=append", "--output=" + file_pattern(log),
        "--ntasks=1",         "--cpus-per-task=1",  "--time=30"};
    if (!names_memory(arguments)) all.emplace_back("--mem-per-cpu=2G");
    return all;
  }
  std::string start_option(const std::vector<std::string>& jobs) const override {
    return jobs.empty() ? "--begin=now+300" : "--dependency=afterany:" + join(jobs, "?afterany:");
  }

  TrialScript trial_script(const std::string& command, const fs::path& log, bool on_gpu,
                           const std::string& arguments) const override {
    TrialScript trial{
        .text =
            script_head({arguments}) + "srun --ntasks=1 " + command + " && echo \"on $SLURMD_NODENAME\"\n",
        .options = {"--job-name=harness-trial", "--ntasks=1", "--time=1", "--output=" + log.string()}};
    if (on_gpu && !asks_for_gpus(arguments)) trial.options.emplace_back("--gpus-per-node=1");
    return trial;
  }

  Submitted submit(const fs::path& script, const std::vector<std::string>& options) const override {
    std::vector<std::string> command = {"sbatch", "--parsable"};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(script.string());
    const auto overruling = overruling_variables(read_file(script));
    std::string why;
    // Once more where a limit was reached: those that filled it may have ended by now.
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto sent = run(command, kInherited, overruling);
      if (sent.status.ok()) return {.job = number_of_job(sent.out, script)};
      why = error_text(sent.err);
      if (sent.status.signal != 0)
        return {.why = "Slurm does not answer: sbatch ended by " + sent.status.text()};
      const bool is_full = is_submit_limit(why);
      if (is_full && has_room_to_come())
        return {.is_full = true, .why = "Slurm takes no more jobs for now: " + why};
      if (may_pass(why)) return {.why = "Slurm does not answer: " + why};
      if (!is_full) break;
    }
    refuse(why, script.string());
  }

  void require_acceptable(const std::vector<std::string>& options) const override {
    const auto script = script_head(options);
    const auto answer =
        run({"sbatch", "--test-only"}, memory_file(script + "true\n").get(), overruling_variables(script));
    const auto why = error_text(answer.err);
    if (!answer.status.ok() && !may_pass(why)) refuse(why, option());
  }

  /// Ended jobs are listed until Slurm forgets them (MinJobAge).
  std::vector<std::string> queue_command() const override {
    return {"squeue", "--me", "--noheader", "--states=all", "--format=%i|%j|%T|%N|%r"};
  }

  std::vector<QueuedJob> parse_queue(const std::string& printed) const override {
    std::vector<QueuedJob> jobs;
    for (const auto& line : split(printed, '\n')) {
      const auto fields = split(line, '|');
      if (fields.size() < 5) continue;
      const auto phase = phase_of(fields[2]);
      jobs.push_back({.id = fields[0],
                      .name = fields[1],
                      .state = fields[2],
                      .nodes = fields[3],
                      .reason = fields[4],
                      .phase = phase,
                      .can_never_start = phase == QueuedJob::Phase::kWaiting && comes_never(fields[4])});
    }
    return jobs;
  }

  std::string error_text(const std::string& written) const override {
    std::vector<std::string> parts;
    for (const auto& line : split(written, '\n')) {
      const auto at = line.find("error: ");
      const auto part = trim(std::string_view(line).substr(at == std::string::npos ? 0 : at + 7));
      if (!part.empty()) parts.emplace_back(part);
    }
    return join(parts, "; ");
  }

  JobEnd end_of(const std::string& id, const QueuedJob* job) const override {
    JobEnd end{.status = {.code = 1}, .text = "left Slurm's queue without a trace"};
    const auto told = run({"scontrol", "show", "job", "--oneliner", id}).out;
    static const std::regex kExitCode(R"(\bExitCode=(\d+):(\d+))");
    std::smatch found;
    if (std::regex_search(told, found, kExitCode))
      end.status = {.code = std::stoi(found[1].str()), .signal = std::stoi(found[2].str())};
    if (job != nullptr) end.text = "ended as " + job->state + (job->nodes.empty() ? "" : " on " + job->nodes);
    if (!end.status.ok()) end.text += " with " + end.status.text();
    if (end.status.code == static_cast<int>(Status::kInterrupted)) {
      end.status = {.code = 1};
      end.text =
          "was stopped at the end of its time, or for another job, before it had come further than where it began: "
          "it needs a longer --time (with --slurm)";
    }
    if (end.status.signal == kNoLogOnNode) {
      end.text = fmt::format(
          "could not write its log{}: put the workspace (--out), the program and LibTorch (HARNESS_DEPS) "
          "on a file system that all nodes see",
          job == nullptr || job->nodes.empty() ? "" : " on " + job->nodes);
    }
    if (job != nullptr && job->state == "TIMEOUT")
      end.text +=
          ": it was told to save, and its time ended before it had; it needs a longer --time, or a longer "
          "warning (--signal=TERM@SECONDS), with --slurm";
    if (end.status.ok()) end.status.code = 1;
    return end;
  }

  std::string ask_to_stop(const std::string& id) const override {
    const auto waiting = run({"scancel", "--state=PENDING", id}),
               running = run({"scancel", "--signal=TERM", id});
    const auto why = error_text(running.err);
    const bool has_ended = why.find("Invalid job id") != std::string::npos ||
                           why.find("already completing or completed") != std::string::npos;
    return waiting.status.ok() || running.status.ok() || has_ended ? "" : why;
  }

 private:
  /// Whether a job of ours is in the queue, whose end makes room for another one. True where Slurm does not
  /// answer.
  bool has_room_to_come() const {
    BatchQueue queue(*this);
    try {
      queue.read();
    } catch (const Error&) {
      return true;
    }
    return queue.has_ours();
  }
};

const bool kRegistered = register_batch(std::make_unique<Slurm>());

}  // namespace

std::vector<std::string> overruling_variables(const std::string& script) {
  static const std::map<std::string, std::string> kShort = {
      {"A", "account"},   {"C", "constraint"}, {"G", "gpus"}, {"J", "job-name"},
      {"p", "partition"}, {"q", "qos"},        {"t", "time"}};
  static const std::map<std::string, std::vector<std::string>> kOtherNames = {
      {"time", {"TIMELIMIT"}},
      {"requeue", {"NO_REQUEUE"}},
      {"output", {"OUTPUT", "ERROR", "INPUT"}},
      {"job-name", {"JOB_NAME", "ARRAY_INX", "WAIT"}},  // what a job of ours never is
      {"mem", {"MEM_PER_NODE", "MEM_PER_CPU", "MEM_PER_GPU"}},
      {"mem-per-cpu", {"MEM_PER_NODE", "MEM_PER_CPU", "MEM_PER_GPU"}}};
  static const std::regex kOption(R"((?:^|\s)-(?:-([a-z][a-z-]*)|([A-Za-z])))");
  std::set<std::string> found;
  for (const auto& line : split(script, '\n')) {
    if (!line.starts_with("#SBATCH ")) continue;
    for (std::sregex_iterator option(line.begin(), line.end(), kOption), end; option != end; ++option) {
      auto name = (*option)[1].str();
      if (const auto letter = kShort.find((*option)[2].str()); letter != kShort.end()) name = letter->second;
      if (const auto others = kOtherNames.find(name); others != kOtherNames.end()) {
        for (const auto& other : others->second) found.insert("SBATCH_" + other);
      } else if (!name.empty()) {
        std::ranges::transform(name, name.begin(), [](unsigned char letter) {
          return letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
        });
        found.insert("SBATCH_" + name);
      }
    }
  }
  return {found.begin(), found.end()};
}

bool is_submit_limit(const std::string& message) {
  const auto has = [&](const char* part) { return message.find(part) != std::string::npos; };
  // A sentence for several limits, before which newer versions name the one that it is.
  return has("SubmitJob") || (has("job submit limit") && !has("Limit"));
}

}  // namespace harness::slurm
