#include "harness/slurm/batch_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "core/error.h"
#include "core/event_log.h"
#include "core/sha256.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr double kTimeMargin = 2, kMemoryMargin = 1.25;  // over what earlier jobs took
constexpr int kShortestMinutes = 10;

/// Seconds before its end at which a job is told to save: more than it takes from one save to the next.
int lead_seconds(const SlurmRequest& request) {
  constexpr double kShortest = 60, kLongest = 600, kUnknown = 120;
  const auto wanted = request.unit_seconds ? 1.5 * *request.unit_seconds : kUnknown;
  return static_cast<int>(std::clamp(wanted, kShortest, kLongest));
}

std::optional<int> number_found(const std::string& text, const std::regex& pattern) {
  std::smatch found;
  if (!std::regex_search(text, found, pattern)) return std::nullopt;
  return std::stoi(found[1].str());
}

bool says(const SlurmRequest& request, const char* beginning) {
  return request.arguments.find(beginning) != std::string::npos;
}

}  // namespace

std::string slurm_pattern(const std::filesystem::path& path) {
  std::string text;
  for (const char c : path.string()) text += c == '%' ? std::string("%%") : std::string(1, c);
  return text;
}

std::string script_option(const std::string& option) {
  const auto at = option.find('=');
  return at == std::string::npos ? option : option.substr(0, at + 1) + shell_word(option.substr(at + 1));
}

std::string slurm_job_name(const std::string& id, const std::filesystem::path& folder) {
  constexpr std::size_t kDigits = 8;
  const auto place = std::filesystem::weakly_canonical(folder).string();  // by whatever name it was called
  return fmt::format("{}{}-{}", kJobNames, id, sha256_hex(place).substr(0, kDigits));
}

std::vector<std::string> batch_options(const SlurmRequest& request) {
  std::vector<std::string> options = {
      "--job-name=" + slurm_job_name(request.id, request.folder),
      "--dependency=singleton",
      "--kill-on-invalid-dep=yes",
      "--requeue",
      "--open-mode=append",
      script_option("--output=" + slurm_pattern(request.folder / kWorkerLog)),
      fmt::format("--signal=TERM@{}", lead_seconds(request)),
      fmt::format("--ntasks={}", request.ranks),
      fmt::format("--cpus-per-task={}", request.threads),
  };
  // Ranks of one node see all of its GPUs of theirs, and choose by their local rank.
  if (request.on_gpus && !asks_for_gpus(request.arguments)) {
    options.emplace_back("--nodes=1");
    options.push_back(fmt::format("--gpus-per-node={}", request.ranks));
  }
  if (request.memory_mb && !says(request, "--mem")) {
    const double each = kMemoryMargin * *request.memory_mb / request.threads;
    options.push_back(fmt::format("--mem-per-cpu={:.0f}M", std::ceil(each)));
  }
  if (request.seconds) {
    constexpr double kStart = 60;
    const double wanted = kTimeMargin * *request.seconds + kStart + lead_seconds(request);
    const auto minutes = static_cast<int>(std::ceil(wanted / 60));
    options.push_back(fmt::format("--time={}", std::max(kShortestMinutes, minutes)));
  }
  if (!request.arguments.empty()) options.push_back(request.arguments);
  return options;
}

std::string batch_script(const SlurmRequest& request, const std::filesystem::path& worker,
                         std::uint64_t log_begin) {
  std::string script = "#!/bin/bash\n";
  for (const auto& option : batch_options(request)) script += "#SBATCH " + option + "\n";
  const auto folder = shell_word(request.folder.string()), program = shell_word(worker.string());
  script += fmt::format(R"sh(# Written by harness. By hand: sbatch {0}/job.sh
export HARNESS_DETACHED=1 HARNESS_TAKE_OVER=1 HARNESS_LOG_BEGIN={2} CUBLAS_WORKSPACE_CONFIG=:4096:8
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
                        folder, program, log_begin, kStopMarker);
  return script;
}

void require_slurm_arguments(const std::string& arguments) {
  const bool is_one_line = arguments.find_first_of("\n\r") == std::string::npos;
  const auto words = trim(arguments);
  if (is_one_line && (words.empty() || words.front() == '-')) return;
  throw Error(fmt::format("{} are not options of sbatch", in_quotes(arguments)), "--slurm",
              "give them in one line, as in --slurm '--partition=gpu --account=lab'");
}

std::optional<int> cpus_per_task(const std::string& arguments) {
  static const std::regex kCpus(R"((?:^|\s)(?:--cpus-per-task[= ]|-c ?)([1-9][0-9]{0,4})(?:\s|$))");
  return number_found(arguments, kCpus);
}

bool asks_for_gpus(const std::string& arguments) {
  return arguments.find("--gpu") != std::string::npos || arguments.find("--gres") != std::string::npos;
}

std::optional<int> gpus_per_node(const std::string& arguments) {
  static const std::regex kGpus(
      R"((?:^|\s)(?:--gpus-per-node[= ]|--gres[= ]gpu:)(?:[a-zA-Z][^\s:]*:)?([1-9][0-9]{0,2})(?:\s|$))");
  return number_found(arguments, kGpus);
}

}  // namespace harness
