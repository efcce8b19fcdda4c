#include "harness/slurm/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <string_view>
#include <thread>

#include "core/error.h"
#include "core/host.h"
#include "core/text.h"

namespace harness {
namespace {

/// Which Slurm it is; all else with this beginning is about an allocation.
constexpr std::string_view kWhichSlurm = "SLURM_CONF=", kPrefix = "SLURM_";

}  // namespace

bool is_continuation() {
  return is_set(kContinues);
}

std::vector<std::string> slurm_words(std::vector<std::string> words) {
  std::vector<std::string> all = {"env"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (!variable.starts_with(kPrefix) || variable.starts_with(kWhichSlurm)) continue;
    all.insert(all.end(), {"-u", std::string(variable.substr(0, variable.find('=')))});
  }
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Finished run_slurm(std::vector<std::string> words, int in, const std::vector<std::string>& without) {
  constexpr int kNoSuchProgram = 127;  // as env says it
  const auto program = words.front();
  words = slurm_words(std::move(words));
  for (const auto& variable : without) words.insert(words.begin() + 1, {"-u", variable});
  auto finished = run_program(words, {.in = in, .err = kPipe, .own_group = true});
  if (finished.status.code != kNoSuchProgram) return finished;
  throw Error(fmt::format("the command {} cannot be started", program), "--executor slurm",
              "put Slurm's commands on PATH");
}

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

std::string said_by_slurm(const std::string& text) {
  std::vector<std::string> parts;
  for (const auto& line : split(text, '\n')) {
    const auto at = line.find("error: ");
    const auto part = trim(std::string_view(line).substr(at == std::string::npos ? 0 : at + 7));
    if (!part.empty()) parts.emplace_back(part);
  }
  return join(parts, "; ");
}

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

bool is_submit_limit(const std::string& message) {
  const auto has = [&](const char* part) { return message.find(part) != std::string::npos; };
  // A sentence for several limits, before which newer versions name the one that it is.
  return has("SubmitJob") || (has("job submit limit") && !has("Limit"));
}

std::string not_now(const std::string& why) {
  return (is_submit_limit(why) ? "Slurm takes no more jobs for now: " : "Slurm does not answer: ") + why;
}

void require_slurm(const std::string& option, std::chrono::seconds patience) {
  if (!program_on_path("sbatch")) {
    throw Error("the command sbatch cannot be started", option,
                "put Slurm's commands on PATH, or use --executor local");
  }
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPause{5};
  for (const auto until = Clock::now() + patience;;) {
    const auto answer = run_slurm({"squeue", "--me", "--noheader", "--states=PENDING"});
    if (answer.status.ok()) return;
    const auto why = said_by_slurm(answer.err);
    if (!may_pass(why) || Clock::now() + kPause > until) {
      throw Error("Slurm does not answer: " + why, option, "see whether `squeue` works here",
                  may_pass(why) ? Status::kFailed : Status::kUsage);
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace harness
