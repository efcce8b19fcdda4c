#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "core/error.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/terminal/seeds.h"
#include "harness/work/carry_out.h"

namespace harness {
namespace {

struct ReproduceOptions {
  NamedTable table;
  PlanRequest request;
  WorkOptions work;
  std::vector<std::string> seeds, looks;  ///< as typed
  std::string until;                      ///< "resolved", or nothing
};

Plans make_plans(PlanRequest request, const Workspace& workspace) {
  Plans plans{.collection = find_collection(request.table), .all = {}};
  const auto names = plans.collection ? plans.collection->names : std::vector{request.table};
  request.inputs.is_of_collection = plans.collection.has_value();
  for (const auto& name : names) {
    request.table = name;
    plans.all.push_back(make_plan(request, workspace));
  }
  return plans;
}

/// How many primary questions of the tables' plans are neither resolved nor shown to be equal. A metric that
/// restates another one is one question with it.
std::int64_t undecided(const std::vector<TableModel>& models) {
  std::map<std::tuple<const TableModel*, std::string, std::string, std::string>, bool> decided;
  for (const auto& model : models) {
    for (const auto& question : model.families.methods.questions()) {
      const auto found = std::ranges::find_if(
          model.comparisons, [&](const Comparison& c) { return is_same_question(c, question); });
      if (question.role != QuestionRole::kPrimary || found == model.comparisons.end()) continue;
      decided[{&model, question.baseline, question.method, question.hypothesis()}] |=
          found->judgement.resolved() || found->judgement.is_equal;
    }
  }
  return std::ranges::count_if(decided, [](const auto& of) { return !of.second; });
}

/// Looks of a plan, one after another, until every primary question is decided.
class Looks {
 public:
  /// seeds: the first of the plan. Throws Error where the plan has no further look.
  Looks(const std::vector<std::int64_t>& seeds, const PlanDesign& design) {
    if (seeds.empty() || design.looks.empty())
      throw Error("it stops at a look of a plan", "--until", "name the first seeds, --plan-runs and --looks");
    seeds_ = planned_seeds(seeds, design);
    looks_ = checked_looks(design.looks, std::ssize(seeds_));
    std::erase_if(looks_, [&](auto look) { return look < std::ssize(seeds); });
  }

  std::vector<std::int64_t> seeds() const { return {seeds_.begin(), seeds_.begin() + looks_.front()}; }

  /// Whether there is another look to take.
  bool go_on(const std::vector<TableModel>& models, Progress& progress) {
    const auto left = undecided(models);
    const auto here = fmt::format("look at {} of {} runs", looks_.front(), seeds_.size());
    const auto is_claimed = [](const TableModel& model) { return model.families.plan.claims(); };
    if (!std::ranges::all_of(models, is_claimed)) {
      progress.say(fmt::format("note: {}: exploratory, so that further runs resolve nothing", here));
      return false;
    }
    if (left > 0 && looks_.size() > 1) {
      looks_.erase(looks_.begin());
      progress.say(fmt::format("note: {}: {} not decided; {} runs per row are next", here,
                               counted(left, "primary question"), looks_.front()));
      return true;
    }
    const auto saved = std::ssize(seeds_) - looks_.front();
    progress.say(left > 0 ? fmt::format("note: {}: {} not decided, and no further run is planned", here,
                                        counted(left, "primary question"))
                          : fmt::format("note: {}: every primary question is decided; {} per row saved", here,
                                        counted(saved, "run")));
    return false;
  }

 private:
  std::vector<std::int64_t> seeds_, looks_;  ///< of the plan; looks from this one on
};

int run(ReproduceOptions options) {
  auto& request = options.request;
  auto& work = options.work;
  request.table = checked_table(options.table, "harness reproduce");
  request.seeds = parse_seeds(options.seeds);
  request.methods = comma_list(request.methods, "--methods");
  work.design.looks = parse_looks(options.looks);
  check_work(work);
  request.runs_elsewhere = work.dealing.batch != nullptr;
  work.device = request.device;
  if (!options.until.empty()) {
    if (options.until != "resolved")
      throw Error(fmt::format("unknown value \"{}\"", options.until), "--until", "write --until resolved");
    const auto looks = std::make_shared<Looks>(request.seeds, work.design);
    request.seeds = looks->seeds();
    work.goes_on = [looks, &request](const std::vector<TableModel>& models, Progress& progress) {
      const bool goes_on = looks->go_on(models, progress);
      request.seeds = looks->seeds();
      return goes_on;
    };
  }
  return carry_out(work, [&](const Workspace& workspace, const std::string& gpu) {
    request.gpu = gpu;
    return make_plans(request, workspace);
  });
}

void add_inputs(Command& command, InputOptions& inputs) {
  command.add("--weights", &inputs.weights, "model folder (default: the backbone's own)", kFolder);
  command.add(
      "--prompts", &inputs.prompts,
      "evaluation prompts: a .txt file with one per line, for GenEval a .jsonl file with one record "
      "per line; or a folder with ocr/test.txt, pickscore/test.txt or geneval/test_metadata.jsonl, by "
      "task (default: the generated prompts)",
      kFolderOrFile);
  command.add(
      "--split", &inputs.split,
      "how many prompts are for validation and for test (default: the table's; of fewer prompts its share)",
      {.value = "N/N"});
  command.add(
      "--train-prompts", &inputs.train_prompts,
      "training prompts: a .txt file with one per line, for OCR each with its target in double quotes, for "
      "GenEval a .jsonl file; or a folder with train.txt (train.jsonl) or TASK/train.txt (default: the "
      "generated prompts)",
      kFolderOrFile);
  command.add(
      "--scorers", &inputs.scorers,
      "one folder per scorer: a model folder by name (`harness list evaluators`), or your own program with "
      "its scorer.json (evaluators/PROTOCOL.md)",
      kFolder);
}

/// Rows of the table that was typed before, or the methods of this build.
std::vector<std::string> row_names(const std::string& table) {
  if (table.empty()) return method_names();
  const auto collection = find_collection(table);
  return (collection ? collection->tables.front() : load_table_spec(table)).methods;
}

/// "lr=", "dual.beta_max="
std::vector<std::string> setting_names() {
  const auto registry = load_registry();
  std::vector<std::string> names;
  for (const auto& setting : registry.settings) names.push_back(setting.name + "=");
  for (const auto& method : registry.methods) {
    for (const auto& setting : method.settings)
      names.push_back(fmt::format("{}.{}=", method.name, setting.name));
  }
  return names;
}

Command make_reproduce() {
  auto o = std::make_shared<ReproduceOptions>();
  auto& r = o->request;
  const auto rows = [&table = o->table] {
    return row_names(table.option.empty() ? table.argument : table.option);
  };
  Command command{"reproduce", "Train, select, test and compare: from nothing to a table", R"(
Repeat the command to go on where it stopped, or to print the table again once all is done.
Examples:
  harness reproduce sd35-ocr --scale smoke
  harness reproduce sd35-ocr --dry-run
  harness reproduce sd35-ocr --methods ratio-norm,lambda-controlled --seeds 42,43
  harness reproduce sd35-ocr --methods flow-grpo,dual --baseline flow-grpo --seeds 42..44
  harness reproduce sd35-ocr --seeds 42..44 --plan-runs 8 --looks 3,5,8
  harness reproduce sd35-ocr --set lr=1e-4 --set lambda-controlled.kappa=0.1
  harness reproduce sd35-pickscore --backbone sd35-medium --weights DIR \
      --scorers models/scorers --prompts flow_factory/dataset --train-prompts my-prompts
  harness reproduce my-table.json --json > result.json)"};
  add_table_option(command, o->table, "table (`harness list tables`) or your own FILE.json", "ID|FILE");
  command.add("--backbone", &r.backbone, "backbone (default: the table's)", {.offers = backbone_names});
  add_inputs(command, r.inputs);
  command.add("--scale", &r.scale, "smoke, default, paper, or another of the table", {.offers = scale_names});
  command.add("--methods", &r.methods, "only these methods: dual,ratio-norm",
              {.by_comma = true, .offers = rows});
  command.add("--baseline", &r.baseline,
              "the row that others are compared with (default: the table's, or the first of --methods)",
              {.offers = rows});
  command.add(
      "--adapter", &r.adapters,
      "a row with checkpoints trained elsewhere: a folder or file in the format of peft, diffusers, kohya or "
      "this project, {step} in its path for all checkpoints of a run; once for each run",
      {.one_each = true, .value = "NAME=DIR"});
  command.add(
      "--images", &r.images,
      "a row of images that another system generated from the table's test prompts: a folder or a manifest "
      "(docs/images.md); once for each run",
      {.one_each = true, .value = "NAME=DIR"});
  command.add("--set", &r.sets, "one setting; repeat for more (`harness list settings`)",
              {.one_each = true, .offers = setting_names, .value = "[METHOD.]NAME=VALUE"});
  command.add("--seeds", &o->seeds, "42,43 or 42..46 (default: the table's)", {.by_comma = true});
  command.add(
      "--plan-runs", &o->work.design.runs,
      "training runs that are planned per row, of which the seeds are the first (default: as many as seeds)");
  command.add(
      "--looks", &o->looks,
      "numbers of runs at which the table is looked at, each with its part of the level: 3,5,8 (default: once, "
      "at all runs)",
      {.by_comma = true});
  command.add(
      "--until", &o->until,
      "resolved: train up to the next look, and so on, until every method is better or worse than the "
      "baseline or equal to it in the metric that selects checkpoints",
      {.offers = choices({"resolved"})});
  command.add("--device", &r.device, "auto, cpu, cuda (every visible GPU, a job on each) or cuda:N",
              {.offers = choices({"auto", "cpu", "cuda", "cuda:0"})});
  add_work_options(command, o->work);
  command.add("--dry-run", &o->work.dry_run, "show the jobs with time, memory and disk; write nothing");
  command.add("--fresh", &o->work.fresh,
              "train these runs again; the old ones go to the trash (`harness runs prune`)");
  add_fresh_options(command, o->work);
  command.add("--verbose", &o->work.verbose, "print the whole table on a terminal too");
  add_json_option(command, o->work.json);
  command.run = [o] { return run(*o); };
  return command;
}

const bool kRegistered = register_command(CommandGroup::kRun, 10, make_reproduce);

}  // namespace
}  // namespace harness
