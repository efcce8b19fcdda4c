#include "harness/slurm/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"
#include "core/host.h"
#include "core/text.h"

namespace harness {
namespace {

/// Which Slurm it is; all else with this beginning is about an allocation.
constexpr std::string_view kWhichSlurm = "SLURM_CONF=", kPrefix = "SLURM_";

}  // namespace

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

Finished run_slurm(std::vector<std::string> words, int in) {
  constexpr int kNoSuchProgram = 127;  // as env says it
  const auto program = words.front();
  auto finished = run_program(slurm_words(std::move(words)), {.in = in, .err = kPipe});
  if (finished.status.code != kNoSuchProgram) return finished;
  throw Error(fmt::format("the command {} cannot be started", program), "--executor slurm",
              "put Slurm's commands on PATH");
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

void require_slurm(const std::string& option) {
  if (!program_on_path("sbatch")) {
    throw Error("the command sbatch cannot be started", option,
                "put Slurm's commands on PATH, or use --executor local");
  }
  const auto answer = run_slurm({"squeue", "--me", "--noheader", "--states=PENDING"});
  if (answer.status.ok()) return;
  throw Error("Slurm does not answer: " + said_by_slurm(answer.err), option,
              "see whether `squeue` works here");
}

}  // namespace harness
