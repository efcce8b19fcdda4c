#include <fmt/format.h>

#include "core/error.h"
#include "core/event_log.h"
#include "core/text.h"
#include "harness/batch/batch.h"

// A batch system whose commands are scripts of a test (tests/harness/batch_test.cpp): a job is a shell in the
// background.

namespace harness {
namespace {

namespace fs = std::filesystem;

class Toy : public Batch {
 public:
  Toy()
      : Batch({.executor = "toy",
               .name = "Toy",
               .submit = "toy-submit",
               .list = "toy-list",
               .cancel = "toy-cancel",
               .directive = "#TOY",
               .examples = {"--fast"}}) {}

  void require(std::chrono::seconds) const override { run({names.list}); }

  JobArguments parse(const std::string&) const override { return {}; }

  std::vector<std::string> options(const JobRequest& request) const override {
    return {"--name=" + batch_job_name(request.id, request.folder), request.arguments};
  }
  std::string script(const JobRequest& request, const fs::path& worker,
                     std::uint64_t log_begin) const override {
    return script_head(options(request)) + fmt::format("{}\n{} run {}\n", worker_environment(log_begin),
                                                       shell_word(worker.string()),
                                                       shell_word(request.folder.string()));
  }
  std::vector<std::string> continuation_options(const std::string& name, const fs::path&,
                                                const std::string&) const override {
    return {"--name=" + name};
  }
  std::string start_option(const std::vector<std::string>& jobs) const override {
    return "--after=" + join(jobs, " ");
  }
  TrialScript trial_script(const std::string& command, const fs::path& log, bool,
                           const std::string&) const override {
    return {.text = fmt::format("{} && echo on toy >{}\n", command, shell_word(log.string())),
            .options = {"--name=trial"}};
  }

  Submitted submit(const fs::path& script, const std::vector<std::string>& options) const override {
    std::vector<std::string> command = {names.submit};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(script.string());
    const auto sent = run(command);
    if (!sent.status.ok()) throw Error("Toy refuses the job: " + sent.err, script.string());
    return {.job = std::string(trim(sent.out))};
  }
  void require_acceptable(const std::vector<std::string>&) const override {}

  std::vector<std::string> queue_command() const override { return {names.list}; }
  std::vector<QueuedJob> parse_queue(const std::string& printed) const override {
    std::vector<QueuedJob> jobs;
    for (const auto& line : split(printed, '\n')) {
      const auto fields = split(line, ' ');
      if (fields.size() < 2) continue;
      jobs.push_back({.id = fields[0],
                      .name = fields[1],
                      .state = "here",
                      .nodes = "toy",
                      .reason = "None",
                      .phase = QueuedJob::Phase::kRunning});
    }
    return jobs;
  }
  std::string error_text(const std::string& written) const override { return std::string(trim(written)); }

  JobEnd end_of(const std::string&, const QueuedJob*) const override {
    return {.status = {.code = 1}, .text = "ended"};
  }
  std::string ask_to_stop(const std::string& id) const override {
    cancel(id);
    return "";
  }
};

const bool kRegistered = register_batch(std::make_unique<Toy>());

}  // namespace
}  // namespace harness
