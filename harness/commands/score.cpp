#include <memory>

#include "harness/commands/command.h"
#include "harness/score/score_plan.h"
#include "harness/work/carry_out.h"

namespace harness {
namespace {

struct ScoreOptions {
  ScoreRequest request;
  WorkOptions work;
};

int run(ScoreOptions options) {
  auto& request = options.request;
  check_work(options.work);
  request.runs_elsewhere = options.work.dealing.batch != nullptr;
  options.work.device = request.device;
  return carry_out(options.work, [&](const Workspace& workspace, const std::string& gpu) {
    request.gpu = gpu;
    Plans plans;
    plans.all.push_back(make_score_plan(request, workspace));
    return plans;
  });
}

Command make_score() {
  auto o = std::make_shared<ScoreOptions>();
  auto& r = o->request;
  Command command{"score", "Score and compare images that any system drew", R"(
Each row is a folder of images or a manifest; the rows are compared prompt by prompt. Name a row again for
each further run of its method, and write {step} in a path for the checkpoints of a run. Files are named
INDEX.png or INDEX_SAMPLE.png, or listed in a manifest.csv (file, prompt or index); docs/images.md shows all
layouts. Repeat the command to go on where it stopped.
Examples:
  harness score before=out/base after=out/tuned --prompts prompts.txt
  harness score a=a.csv b=b.csv --prompts geneval/test_metadata.jsonl --scorers models/scorers
  harness score a=a/seed1 a=a/seed2 a=a/seed3 b=b/seed1 b=b/seed2 b=b/seed3 --prompts prompts.txt
  harness score mine=out/step-{step} before=out/base --prompts prompts.txt --split 100/300)"};
  command.add("rows", &r.rows, "a row and where its images are", {.required = true, .value = "NAME=DIR"});
  command.add("--prompts", &r.prompts,
              "the prompts that the images were drawn for: a file with one per line, or GenEval's records "
              "(.jsonl)",
              {.required = true, .is_path = true, .value = "FILE"});
  command.add("--baseline", &r.baseline, "the row that others are compared with (default: the first)");
  command.add("--metric", &r.metrics, "only these metrics (default: all that can be measured here)",
              {.by_comma = true, .offers = metric_names});
  command.add(
      "--scorers", &r.scorers,
      "one folder per scorer: a model folder by name (`harness list evaluators`), or your own program "
      "with its scorer.json",
      kFolder);
  command.add("--like", &r.like,
              "score as images of this backbone are scored (default: sd35-medium, or by their size)",
              {.offers = backbone_names, .value = "BACKBONE"});
  command.add("--set", &r.sets, "profile of a scorer: clip_score_profile=flow-grpo",
              {.one_each = true, .value = "NAME=VALUE"});
  command.add("--samples", &r.samples, "images per prompt (default: as many as every row has)");
  command.add("--index-from", &r.first_index, "number of the first prompt in file names (default: 0)");
  command.add("--split", &r.split,
              "with {step}: how many prompts choose the checkpoint, and how many test it (default: a quarter "
              "chooses)",
              {.value = "N/N"});
  command.add("--as", &r.name, "name of the table, for other commands", {.value = "NAME"});
  command.add("--title", &r.title, "its heading", {.value = "TITLE"});
  command.add("--device", &r.device, "for scorers with a model: auto, cpu, cuda or cuda:N",
              {.offers = choices({"auto", "cpu", "cuda", "cuda:0"})});
  add_work_options(command, o->work);
  command.add("--dry-run", &o->work.dry_run, "show what would be scored; write nothing");
  command.add("--fresh", &o->work.fresh, "score everything again; the old scores go to the trash");
  add_fresh_options(command, o->work);
  command.add("--verbose", &o->work.verbose, "print the whole table on a terminal too");
  add_json_option(command, o->work.json);
  command.run = [o] { return run(*o); };
  return command;
}

const bool kRegistered = register_command(CommandGroup::kRun, 15, make_score);

}  // namespace
}  // namespace harness
