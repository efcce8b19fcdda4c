#include "harness/reproduce.h"

#include <memory>

#include "core/error.h"
#include "harness/comma_list.h"
#include "harness/commands/commands.h"
#include "harness/commands/db_options.h"
#include "harness/seeds.h"

namespace harness {

void add_reproduce_command(CLI::App& app, Actions& actions) {
  auto* command =
      app.add_subcommand("reproduce", "Train, select, test and compare: from nothing to the table");
  command->footer(R"(
Repeating the command goes on where it stopped, or prints the table at once when all is done.
Examples:
  harness reproduce --table sd35-ocr --scale smoke
  harness reproduce --table sd35-ocr --dry-run
  harness reproduce --table sd35-ocr --methods ratio-norm,lambda-controlled --seeds 42,43
  harness reproduce --table sd35-ocr --set lr=1e-4 --set lambda-controlled.kappa=0.1
  harness reproduce --table sd35-pickscore --backbone sd35-medium --weights DIR --scorers models/scorers --prompts flow_factory/dataset --train-prompts my-prompts
  harness reproduce --table my-table.json --json > result.json)");
  auto o = std::make_shared<ReproduceOptions>();
  auto& r = o->request;
  command->add_option("--table", r.table, "table id (`harness list tables`) or a table spec FILE.json")
      ->required();
  command->add_option("--backbone", r.backbone, "backbone; unset: the table's");
  command->add_option("--weights", r.inputs.weights, "model folder; unset: the backbone's own");
  command->add_option(
      "--prompts", r.inputs.prompts,
      "folder with ocr/test.txt or pickscore/test.txt, by task; unset: the generated prompts");
  command->add_option(
      "--train-prompts", r.inputs.train_prompts,
      "folder with train.txt, one prompt a line, for training; for OCR each with its target in "
      "double quotes; unset: the generated training prompts");
  command->add_option(
      "--scorers", r.inputs.scorers,
      "folder with one folder a scorer: a model folder by name (`harness list evaluators`), or a program of "
      "yours with its scorer.json (evaluators/PROTOCOL.md)");
  command->add_option("--scale", r.scale, "smoke, default, paper, or another that the table has")
      ->capture_default_str();
  command->add_option("--methods", r.methods, "only these methods, comma-separated")->delimiter(',');
  command->add_option("--set", r.sets, "NAME=VALUE or METHOD.NAME=VALUE (`harness list settings`)");
  auto seeds = std::make_shared<std::vector<std::string>>();
  command->add_option("--seeds", *seeds, "seeds, comma-separated, or a range (42..44); default: the table's")
      ->delimiter(',');
  command->add_option("--device", r.device, "auto, cpu or cuda:N (cuda: the first)")->capture_default_str();
  add_workspace_options(*command, o->place);
  command->add_option("--jobs", o->jobs,
                      "workers at a time, among whom the cores are divided; unset: what suits the backbone");
  command->add_flag("--dry-run", o->dry_run, "show the jobs and what they will take; write nothing");
  command->add_flag("--fresh", o->fresh,
                    "train these runs anew; what they were goes into the trash (`harness runs restore`)");
  command->add_flag("--json", o->json, "one JSON document on standard output");
  actions[command] = [o, seeds, command] {
    o->request.seeds = parse_seeds(*seeds);
    o->request.methods = comma_list(o->request.methods, "--methods");
    if (command->count("--jobs") == 0) return reproduce(*o);
    if (o->jobs < 1 || o->jobs > 1024) throw Error("must be 1 to 1024", "--jobs");
    return reproduce(*o);
  };
}

}  // namespace harness
