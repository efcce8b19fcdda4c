#include "harness/runs/reproduce.h"

#include <memory>

#include "harness/commands/command.h"
#include "harness/terminal/seeds.h"

namespace harness {
namespace {

struct Options {
  ReproduceOptions reproduce;
  std::vector<std::string> seeds;  ///< as typed
  std::optional<int> jobs;
};

int run(const Options& typed) {
  auto options = typed.reproduce;
  options.request.seeds = parse_seeds(typed.seeds);
  options.request.methods = comma_list(options.request.methods, "--methods");
  if (typed.jobs) require_range(*typed.jobs, 1, 1024, "--jobs");
  options.jobs = typed.jobs.value_or(0);
  return reproduce(options);
}

void add_inputs(Command& command, InputOptions& inputs) {
  command.add("--weights", &inputs.weights, "model folder; unset: the backbone's own", {.is_path = true});
  command.add("--prompts", &inputs.prompts,
              "folder with ocr/test.txt or pickscore/test.txt, by task; unset: the generated prompts",
              {.is_path = true});
  command.add("--train-prompts", &inputs.train_prompts,
              "folder with train.txt, one prompt a line, for training; for OCR each with its target in "
              "double quotes; unset: the generated training prompts",
              {.is_path = true});
  command.add(
      "--scorers", &inputs.scorers,
      "folder with one folder a scorer: a model folder by name (`harness list evaluators`), or a program of "
      "yours with its scorer.json (evaluators/PROTOCOL.md)",
      {.is_path = true});
}

/// Rows of the table that was typed before, or the methods of this build.
std::vector<std::string> row_names(const std::string& table) {
  return table.empty() ? method_names() : load_table_spec(table).methods;
}

Command make_reproduce() {
  auto o = std::make_shared<Options>();
  auto& r = o->reproduce.request;
  Command command{"reproduce", "Train, select, test and compare: from nothing to the table", R"(
Repeating the command goes on where it stopped, or prints the table at once when all is done.
Examples:
  harness reproduce --table sd35-ocr --scale smoke
  harness reproduce --table sd35-ocr --dry-run
  harness reproduce --table sd35-ocr --methods ratio-norm,lambda-controlled --seeds 42,43
  harness reproduce --table sd35-ocr --set lr=1e-4 --set lambda-controlled.kappa=0.1
  harness reproduce --table sd35-pickscore --backbone sd35-medium --weights DIR --scorers models/scorers --prompts flow_factory/dataset --train-prompts my-prompts
  harness reproduce --table my-table.json --json > result.json)"};
  command.add("--table", &r.table, "table id (`harness list tables`) or a table spec FILE.json",
              {.required = true, .is_path = true, .offers = known_tables});
  command.add("--backbone", &r.backbone, "backbone; unset: the table's", {.offers = backbone_names});
  add_inputs(command, r.inputs);
  command.add("--scale", &r.scale, "smoke, default, paper, or another that the table has",
              {.offers = scale_names});
  command.add("--methods", &r.methods, "only these methods, comma-separated",
              {.by_comma = true, .offers = [&r] { return row_names(r.table); }});
  command.add("--set", &r.sets, "NAME=VALUE or METHOD.NAME=VALUE (`harness list settings`)",
              {.offers = setting_names});
  command.add("--seeds", &o->seeds, "seeds, comma-separated, or a range (42..44); default: the table's",
              {.by_comma = true});
  command.add("--device", &r.device, "auto, cpu or cuda:N (cuda: the first)",
              {.offers = choices({"auto", "cpu", "cuda:0"})});
  add_workspace_options(command, o->reproduce.place);
  command.add("--jobs", &o->jobs,
              "workers at a time, among whom the cores are divided; unset: what suits the backbone");
  command.add("--dry-run", &o->reproduce.dry_run, "show the jobs and what they will take; write nothing");
  command.add("--fresh", &o->reproduce.fresh,
              "train these runs anew; what they were goes into the trash (`harness runs restore`)");
  add_json_option(command, o->reproduce.json);
  command.run = [o] { return run(*o); };
  return command;
}

const bool kRegistered = register_command(10, make_reproduce);

}  // namespace
}  // namespace harness
