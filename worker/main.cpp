#include <fmt/format.h>

#include <filesystem>

#include "core/error.h"
#include "core/json.h"
#include "core/streams.h"
#include "worker/commands.h"

namespace harness {
namespace {

/// On a full disk the log cannot take the reason either; standard error then still does.
void report_failure(Reporter& reporter, const Error& error) {
  try {
    reporter.failed(error.problem(), error.where(), error.hint());
  } catch (const Error&) {
  }
}

int run_job(const std::filesystem::path& folder) {
  const auto job = read_job(folder);
  Reporter reporter(job);
  try {
    use_one_thread();
    const auto kind = job.get<std::string>("kind");
    if (kind != "train" && kind != "evaluate")
      throw Error(fmt::format("unknown kind of job \"{}\"", kind), job.file());
    const bool done = kind == "train" ? run_training(job, reporter) : run_evaluation(job, reporter);
    return done ? 0 : static_cast<int>(Status::kInterrupted);
  } catch (const Error& error) {
    report_failure(reporter, error);
    throw;
  } catch (const std::exception& error) {
    report_failure(reporter, Error(error.what(), "harness-worker",
                                   "this is a defect of the program; please report it with worker.log"));
    throw;
  }
}

/// A command that harness became: under --json an error is a document on standard output.
int run_request(const std::string& command, const Json& request) {
  try {
    if (command == "sample") return sample_command(request);
    if (command == "pretrain") return pretrain_command(request);
    if (command == "parity") return parity_command(request);
    if (command == "check") return check_command(request);
  } catch (const Error& error) {
    if (!request.value("json", false)) throw;
    put("{}\n", Json{{"error", {{"what", error.problem()}, {"where", error.where()}, {"hint", error.hint()}}}}
                    .dump());
    return static_cast<int>(error.status());
  }
  throw Error(fmt::format("unknown command \"{}\"", command), "harness-worker");
}

int run_command(int count, char** words) {
  const std::string command = count > 1 ? words[1] : "";
  if (command == "run" && count == 3) return run_job(words[2]);
  if (command == "describe" && count == 2) {
    put("{}\n", describe_build().dump(1));
    return 0;
  }
  if (count == 4 && std::string(words[2]) == "--request") return run_request(command, read_json(words[3]));
  throw Error("is started by harness, not by hand", "harness-worker",
              "usage: harness-worker run FOLDER | describe | sample|pretrain|parity --request FILE");
}

}  // namespace
}  // namespace harness

int main(int count, char** words) {
  harness::prepare_streams();
  try {
    return harness::finished_status(harness::run_command(count, words));
  } catch (const harness::Error& error) {
    harness::tell("error: {}\n", error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    harness::tell("error: {}\n", error.what());
    return 1;
  }
}
