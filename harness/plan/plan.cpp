#include "harness/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string_view>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/unicode/normal_form.h"
#include "core/weights/outside_checkpoint.h"
#include "evaluators/ocr.h"
#include "harness/images/common_folder.h"
#include "harness/images/same_images.h"
#include "harness/plan/model_folder.h"
#include "harness/plan/outside_runs.h"
#include "harness/plan/scorers.h"
#include "harness/plan/worker_request.h"
#include "harness/prompts/prompt_notes.h"
#include "results/table/table.h"
#include "results/verdict/guardrails.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kIdDigits = 16;

std::vector<std::string> choose_methods(const TableSpec& spec, const Registry& registry,
                                        const std::vector<std::string>& chosen, bool has_outside_rows) {
  if (chosen.empty()) return spec.methods;
  std::vector<std::string> methods;
  for (const auto& name : chosen) {
    if (name == kBaseMethod && !spec.is_training()) continue;  // it is in every such table by itself
    if (!spec.arms.contains(name)) registry.method(name, "--methods");
    methods.push_back(name);
  }
  if (std::set<std::string>(chosen.begin(), chosen.end()).size() != chosen.size()) {
    throw Error("a method is named twice", "--methods " + join(chosen, ","));
  }
  refuse_unless(!methods.empty() || has_outside_rows, "base alone is nothing to compare", "--methods base",
                "name a method with it");
  return methods;
}

/// The row that others are compared with.
std::string choose_baseline(const Plan& plan, const std::string& asked) {
  if (asked.empty()) return usual_baseline(plan.spec, plan.methods);
  refuse_unless(asked != kBaseMethod, "every row is compared with base in any case", "--baseline base",
                "leave it out, or name another row");
  refuse_unless(std::ranges::count(plan.methods, asked) > 0,
                fmt::format("{} is not among the rows: {}", in_quotes(asked), join(plan.methods, ", ")),
                "--baseline", suggestion(asked, plan.methods) + "; --methods chooses the rows");
  return asked;
}

/// What a reader of the table would take for granted of its baseline, and is not so. `own`: the table's rows,
/// without those that the command line gave it.
void note_baseline(Plan& plan, const std::string& asked, const std::vector<std::string>& own) {
  const auto usual = usual_baseline(plan.spec, plan.methods);
  const auto is_own = [&](const std::string& name) { return std::ranges::count(own, name) > 0; };
  if (plan.baseline != usual) {
    plan.inputs.notes.push_back(fmt::format(
        "Baseline: {}, asked for with --baseline; without it the baseline is {}. Its comparisons are a "
        "family of their own: Holm's correction does not count those with another baseline.",
        plan.baseline, usual));
  } else if (asked.empty() && usual != plan.spec.baseline && plan.methods.size() > 1 &&
             std::ranges::any_of(plan.methods, is_own)) {
    plan.inputs.notes.push_back(fmt::format("Row {}, the table's baseline, is left out: {} is in its place.",
                                            plan.spec.baseline, usual));
  }
}

/// Updates of a training run must reach the last checkpoint, and `updates` may not be set to less.
void fit_updates(ResolvedSettings& settings, const std::vector<int>& checkpoints) {
  const auto found = settings.loop.find("updates");
  if (found == settings.loop.end()) return;
  auto& updates = found->second;
  if (updates.origin == "default") {
    updates.effective = checkpoints.back();
    updates.origin = "the last checkpoint";
  } else if (updates.effective.get<int>() < checkpoints.back()) {
    throw Error(fmt::format("checkpoint {} comes after the last update {}", checkpoints.back(),
                            updates.effective.get<int>()),
                "setting updates (from " + updates.origin + ")",
                "raise it, or choose a scale with earlier checkpoints");
  }
}

/// The side of a metric that is not its good one; either side of one without a good direction may be harmful.
void require_harmful_side(const GuardrailMetric& metric, const MetricCatalogue& metrics,
                          const std::string& where) {
  const auto* info = metrics.find(metric.name);
  if (info == nullptr || info->better == "none" || better_from_name(info->better) == metric.better) return;
  const char* harmful = metric.better == Better::kUp ? "lower" : "higher";
  throw Error(fmt::format("\"{}\" cannot be the harmful side of {}: {} ({})", harmful, metric.name,
                          direction_text(info->better), info->source),
              where + ": harmful", fmt::format("give \"{}\"", info->better == "lower" ? "higher" : "lower"));
}

/// rules/guardrails.json of $HARNESS_PATH, the share folder or the source tree, as it is. Throws Error with
/// the place of what is wrong in it, also for a harmful side that is the metric's good one.
Json load_guardrail_rule(const MetricCatalogue& metrics) {
  const auto file = find_data_file("rules/guardrails.json");
  auto document = read_json(file);
  const auto rule = read_guardrail_rule(document, file.string());
  for (std::size_t i = 0; i < rule.metrics.size(); ++i)
    require_harmful_side(rule.metrics[i], metrics, fmt::format("{}: metrics[{}]", file.string(), i));
  return document;
}

/// What to do where a required metric cannot run: give its folder, or take another backbone.
std::string hint_for(const Plan& plan, const std::string& metric) {
  if (const auto* evaluator = plan.registry.evaluator_of(metric, plan.backbone.name)) {
    return fmt::format(
        "DIR/{} holds the model of that scorer; `harness list evaluators` shows which files it takes and from where",
        evaluator->name);
  }
  return "choose another --backbone, or another table";
}

/// Optional metrics that cannot run are left out, with the reason that the table prints.
void choose_metrics(Plan& plan, const ScorerFolders& folders) {
  plan.metrics = plan.spec.required_metrics;
  for (const auto& metric : plan.metrics) {
    if (const auto reason = reason_not_to_run(plan.registry, folders, metric, plan.backbone.name)) {
      throw Error(fmt::format("table {} needs the metric {} with backbone {}, and {}", plan.spec.id, metric,
                              plan.backbone.name, *reason),
                  plan.registry.evaluator_of(metric, plan.backbone.name) ? "--scorers" : "--backbone",
                  hint_for(plan, metric));
    }
  }
  for (const auto& metric : plan.spec.optional_metrics) {
    if (const auto reason = reason_not_to_run(plan.registry, folders, metric, plan.backbone.name)) {
      plan.metrics_not_run.emplace_back(metric, *reason);
    } else {
      plan.metrics.push_back(metric);
    }
  }
  if (plan.spec.is_training()) return;
  plan.guardrails = load_guardrail_rule(plan.spec.metric_catalogue);
  for (const auto& evaluator : plan.registry.evaluators) {
    if (!evaluator.guardrail) continue;
    for (const auto& metric : names_of(evaluator.metrics)) {
      if (std::ranges::find(plan.metrics, metric) == plan.metrics.end()) plan.metrics.push_back(metric);
    }
  }
}

Json common_identity(const char* kind, const Plan& plan, std::int64_t seed) {
  Json identity = {{"kind", kind},
                   {"backbone", plan.backbone.name},
                   {"weights_sha256", plan.inputs.weights_sha256},
                   {"task", plan.spec.task},
                   {"seed", seed},
                   {"precision", plan.precision()},
                   {"device", plan.device_identity},
                   {"numerics_version", plan.numerics_version}};
  const auto& of_cpu = plan.backbone.cpu_numerics;
  if (const auto own = of_cpu.find(plan.precision()); own != of_cpu.end() && plan.device_kind == "cpu")
    identity["cpu_numerics"] = own->second;
  return identity;
}

/// The evaluator among `scorers` that reads quoted texts, or nothing.
const EvaluatorInfo* text_reader(const Plan& plan, const Json& scorers) {
  const auto reads = [&](const EvaluatorInfo& evaluator) {
    return scorers.contains(evaluator.name) &&
           std::ranges::count(names_of(evaluator.metrics), ocr_metric_names().front()) > 0;
  };
  const auto found = std::ranges::find_if(plan.registry.evaluators, reads);
  return found == plan.registry.evaluators.end() ? nullptr : &*found;
}

/// What is compared with transcripts (kTargetForm).
void add_target_form(Json& identity, const Plan& plan, const Json& scorers, const PromptSet& set) {
  const auto is_in_other_form = [](const Prompt& prompt) { return to_nfc(prompt.target) != prompt.target; };
  if (text_reader(plan, scorers) != nullptr && std::ranges::any_of(set.prompts, is_in_other_form))
    identity[kTargetForm] = kNormalFormC;
}

RunPlan base_run(const Plan& plan, std::int64_t seed) {
  RunPlan run{.job = {}, .name = kBaseMethod, .method = kBaseMethod, .seed = seed, .checkpoints = {0}};
  run.job.identity = common_identity("base", plan, seed);
  run.job.identity["method"] = kBaseMethod;
  run.job.paths = {{"weights", plan.inputs.weights_path()}};
  run.job.label = fmt::format("base (seed {})", seed);
  return run;
}

/// Adds the folders of the scorers that a job uses to what it reads.
void add_scorer_paths(Json& paths, const Json& scorers, const Plan& plan) {
  for (const auto& [name, folder] : plan.scorer_folders) {
    if (scorers.contains(name)) paths["scorer:" + name] = folder;
  }
  for (const auto& external : plan.external_scorers) {
    if (scorers.contains(external.name)) paths["scorer:" + external.name] = external.folder.string();
  }
}

RunPlan training_run(const Plan& plan, const std::string& name, std::int64_t seed) {
  RunPlan run{.job = {},
              .name = name,
              .method = plan.spec.arm(name).method,
              .seed = seed,
              .checkpoints = plan.checkpoints};
  Json& identity = run.job.identity = common_identity("train", plan, seed);
  identity["method"] = run.method;
  if (const auto& source = plan.registry.method(run.method, name).source; !source.identity.empty())
    identity["method_source"] = source.identity;
  identity["train_prompts_sha256"] = plan.inputs.training.sha256;
  identity["settings"] = plan.settings.effective_loop(plan.registry, "train", name);
  identity["settings"]["checkpoints"] = plan.checkpoints;
  identity["method_settings"] = plan.settings.effective_method(name);
  identity["scorers"] = plan.reward_scorers;
  add_target_form(identity, plan, plan.reward_scorers, plan.inputs.training);
  run.job.paths = {{"weights", plan.inputs.weights_path()},
                   {"text_cache", plan.workspace.text_cache_folder()},
                   {"train_prompts", fs::absolute(plan.inputs.training_file).string()}};
  add_scorer_paths(run.job.paths, plan.reward_scorers, plan);
  run.job.label = fmt::format("train {} (seed {})", name, seed);
  return run;
}

/// Images that are there already. The run's id says which, whoever drew them and wherever they lie.
RunPlan images_run(const Plan& plan, const std::string& name, std::int64_t seed, const OutsideRun& places,
                   std::optional<int> first_index) {
  RunPlan run{.job = {}, .name = name, .method = kImagesMethod, .seed = seed};
  Json& identity = run.job.identity;
  identity = {{"kind", "images"},
              {"method", run.method},
              {"backbone", plan.backbone.name},
              {"task", plan.spec.task},
              {"seed", seed},
              {"weights_sha256", plan.inputs.weights_sha256},
              {"prompts_sha256", plan.inputs.evaluation.sha256},
              {"numerics_version", plan.numerics_version}};
  std::vector<int> steps;
  for (const auto& [step, place] : places) {
    auto found = in_common_folder(
        find_images({.path = place, .where = fmt::format("images of {}", name), .first_index = first_index},
                    plan.inputs.evaluation));
    auto& given = run.images[step];
    given = {.folder = found.folder, .list = summed(found), .layout = found.layout, .notes = found.notes};
    steps.push_back(step);
    identity["images"][std::to_string(step)] = checksum_of(given.list);
    run.job.paths[fmt::format("images:{}", step)] = given.folder.string();
  }
  identity["settings"] = {{"checkpoints", steps}};
  if (steps.size() > 1) run.checkpoints = steps;  // else there is nothing to choose
  run.job.label = fmt::format("images of {} (seed {})", name, seed);
  return run;
}

/// Checkpoints that are there already: its job takes them in.
RunPlan outside_run(const Plan& plan, const std::string& name, std::int64_t seed, const OutsideRun& places) {
  RunPlan run{.job = {}, .name = name, .method = kOutsideMethod, .seed = seed};
  Json& identity = run.job.identity = common_identity("import", plan, seed);
  run.job.paths = {{"weights", plan.inputs.weights_path()},
                   {"text_cache", plan.workspace.text_cache_folder()}};
  identity["method"] = run.method;
  for (const auto& [step, place] : places) {
    run.checkpoints.push_back(step);
    identity["imported"][std::to_string(step)] = find_outside_checkpoint(place).checksum();
    run.job.paths[fmt::format("checkpoint:{}", step)] = fs::absolute(place).string();
  }
  identity["settings"] = {{"checkpoints", run.checkpoints}};
  run.job.label = fmt::format("take in {} (seed {})", name, seed);
  return run;
}

/// One training is not several, by whatever seeds its images are drawn. Whether tensors are those of one
/// training only a worker can say (plan_check.h).
void require_different_checkpoints(const Plan& plan) {
  std::map<std::pair<std::string, std::string>, std::pair<const RunPlan*, std::string>> known;
  for (const auto& run : plan.runs) {
    if (run.method != kOutsideMethod) continue;
    for (const auto& [step, sum] : run.job.identity.at("imported").items()) {
      const auto& [other, other_step] =
          known.try_emplace({run.name, sum.get<std::string>()}, std::pair(&run, step)).first->second;
      if (other->seed == run.seed) continue;
      const auto place_of = [](const RunPlan& of, const std::string& number) {
        return of.job.paths.at("checkpoint:" + number).get<std::string>();
      };
      throw Error(
          fmt::format("the runs of seeds {} and {} are the same checkpoints: one training, not two ({} "
                      "and {})",
                      other->seed, run.seed, place_of(*other, other_step), place_of(run, step)),
          "--adapter " + run.name,
          "give each seed the run that was trained with it, or choose one of the --seeds");
    }
  }
}

/// Links and folders of the environment lead anywhere: what jobs are told of them is text.
void require_recordable(const Plan& plan) {
  const auto whole = [](const fs::path& file) { return file.empty() ? "" : fs::absolute(file).string(); };
  const auto& inputs = plan.inputs;
  // The name of the folder that it leads to is noted.
  const auto weights = inputs.weights.empty() ? fs::path() : fs::weakly_canonical(inputs.weights);
  Json recorded = {{"--weights", weights.string()},
                   {"--prompts", whole(inputs.evaluation_file)},
                   {"--train-prompts", whole(inputs.training_file)},
                   {"--scorers", plan.scorer_folders},
                   {"scorers", plan.scorers},
                   {"reward", plan.reward_scorers},
                   {"the program", scorer_path().string()}};
  for (const auto& run : plan.runs) recorded["runs"][run.name] = run.job.paths;
  canonical_json(recorded);
}

/// One set of images is not several, however its files were saved.
void require_images_of_their_own(Plan& plan) {
  std::vector<ImagesOfRun> runs;
  for (const auto& run : plan.runs) {
    if (!run.is_images()) continue;
    auto& own = runs.emplace_back(ImagesOfRun{.row = run.name, .checkpoints = {}});
    for (const auto& [_, given] : run.images) own.checkpoints.push_back({given.folder, &given.list});
  }
  auto notes = require_different_images(runs);
  plan.inputs.notes.insert(plan.inputs.notes.end(), notes.begin(), notes.end());
}

/// What a reader must know of rows whose checkpoints are given.
void note_outside_rows(Plan& plan, const std::map<std::string, std::vector<OutsideRun>>& outside) {
  auto& notes = plan.inputs.notes;
  std::vector<std::string> rows;
  for (const auto& [name, runs] : outside) {
    const auto arm = plan.spec.arm(name);
    if (const auto note = steps_note(arm, runs)) notes.push_back(*note);
    const bool may_be_trained = plan.backbone.name != kImagesBackbone;
    if (may_be_trained && std::ranges::count(plan.registry.methods, name, &RegisteredMethod::name) > 0)
      notes.push_back(
          fmt::format("Row {} is what {} gives, not the method of that name that this program trains.", name,
                      arm.is_images() ? "--images" : "--adapter"));
    if (arm.is_outside()) rows.push_back(name);
  }
  if (rows.empty() || plan.seeds.size() < 2) return;
  notes.push_back(fmt::format(
      "Runs of {} are paired with those of other rows by the seed that they are given for: a pair has the same "
      "noise in evaluation. With which seeds they were trained is the claim of who gave them.",
      join(rows, ", ")));
}

}  // namespace

void add_runs(Plan& plan, std::optional<int> first_index) {
  const auto scorer = scorer_path();
  const auto folder = fs::absolute(plan.spec.file).parent_path();
  std::map<std::string, std::vector<OutsideRun>> outside;
  for (const auto& name : plan.methods) {
    if (const auto arm = plan.spec.arm(name); !arm.is_trained())
      outside[name] = outside_runs(arm, plan.seeds, folder);
  }
  note_outside_rows(plan, outside);
  const auto run_of = [&](const std::string& name, std::size_t i) {
    const auto arm = plan.spec.arm(name);
    const auto seed = plan.seeds[i];
    if (arm.is_images()) return images_run(plan, name, seed, outside.at(name)[i], first_index);
    return arm.is_outside() ? outside_run(plan, name, seed, outside.at(name)[i])
                            : training_run(plan, name, seed);
  };
  for (std::size_t i = 0; i < plan.seeds.size(); ++i) {
    if (!plan.spec.is_training() && plan.spec.has_base) plan.runs.push_back(base_run(plan, plan.seeds[i]));
    for (const auto& name : plan.methods) plan.runs.push_back(run_of(name, i));
  }
  require_recordable(plan);
  require_different_checkpoints(plan);
  require_images_of_their_own(plan);
  // Whether checkpoints from outside fit the backbone is known before anything is trained.
  std::ranges::stable_partition(plan.runs, [](const RunPlan& run) { return !run.is_trained(); });
  for (auto& run : plan.runs) {
    if (run.is_trained()) run.job.paths["scorer"] = scorer.string();
    run.job.id = job_id(run.job.identity);
    run.job.folder = plan.workspace.run_folder(run.job.id);
  }
}

namespace {

/// A folder of --scorers whose metric the table replaces is one that people expect to see at work.
void note_unused_scorers(Plan& plan, const ScorerFolders& folders) {
  const auto changes = plan.spec.backbones.find(plan.backbone.name);
  if (changes == plan.spec.backbones.end()) return;
  for (const auto& [metric, other] : changes->second.stands_in) {
    const auto* evaluator = plan.registry.evaluator_of(metric);
    if (evaluator == nullptr || !folders.find(evaluator->name)) continue;
    plan.scorers_unused.push_back(fmt::format(
        "Scorer {} is present but not used: on backbone {}, table {} is rewarded and judged by {}, which "
        "replaces {}.",
        evaluator->name, plan.backbone.name, plan.spec.id, other, metric));
  }
}

constexpr std::string_view kProfile = "_profile";

/// --set NAME_profile=... of a scorer that this plan does not use would change nothing.
void require_profiles_used(const Plan& plan) {
  std::vector<std::string> used;
  for (const auto& [scorer, _] : plan.scorers.items()) used.push_back(scorer);
  for (const auto& [name, value] : plan.settings.loop) {
    if (value.origin != "--set" || !name.ends_with(kProfile)) continue;
    const auto scorer = name.substr(0, name.size() - kProfile.size());
    if (plan.scorers.contains(scorer) || plan.reward_scorers.contains(scorer)) continue;
    throw Error(fmt::format("setting {} is not used: {} scores nothing here", name, scorer), "--set " + name,
                fmt::format("leave it out; on backbone {} table {} is scored by {}", plan.backbone.name,
                            plan.spec.id, join(used, ", ")));
  }
}

}  // namespace

void choose_scorers(Plan& plan, const ScorerFolders& folders) {
  // A scorer with several profiles takes the one that its setting NAME_profile names.
  for (auto& evaluator : plan.registry.evaluators) {
    const auto setting = plan.settings.loop.find(evaluator.name + std::string(kProfile));
    if (setting != plan.settings.loop.end()) evaluator.identity["profile"] = setting->second.effective;
  }
  note_unused_scorers(plan, folders);
  choose_metrics(plan, folders);
  plan.scorers = scorer_identities(plan.registry, folders, plan.metrics, plan.backbone.name);
  plan.reward_scorers = plan.spec.has_base
                            ? reward_identities(plan.registry, folders, plan.spec.task, plan.backbone.name)
                            : Json::object();
  require_profiles_used(plan);
  plan.scorer_folders = folders_of(plan.scorers, folders);
  plan.scorer_folders.merge(folders_of(plan.reward_scorers, folders));
}

namespace {

/// How much of the prompts text encoders read, those of the backbone and of scorers; null where there are
/// none.
Json text_lengths(const Plan& plan, const UsedPrompts& used, const Json& scorers) {
  const bool encodes = !plan.inputs.weights.empty() && fs::is_directory(plan.inputs.weights / "tokenizer");
  Json folders = Json::object(), prompts = Json::array(), settings = Json::object();
  for (const auto& [name, folder] : plan.scorer_folders) {
    if (scorers.contains(name) && fs::exists(fs::path(folder) / "merges.txt")) folders[name] = folder;
  }
  if (!encodes && folders.empty()) return {};
  for (const int position : used.positions) {
    const auto& prompt = used.set.prompts.at(static_cast<std::size_t>(position));
    prompts.push_back({prompt.text, prompt.target});
  }
  for (const auto& [name, value] : plan.settings.loop) settings[name] = value.effective;
  return ask_worker("check-texts", {{"backbone", plan.backbone.name},
                                    {"weights", encodes ? plan.inputs.weights_path() : ""},
                                    {"settings", std::move(settings)},
                                    {"scorers", std::move(folders)},
                                    {"prompts", std::move(prompts)},
                                    {"json", true}});
}

void add_notes_on(const UsedPrompts& used, const Plan& plan, const Json& scorers,
                  std::vector<std::string>& notes) {
  const auto add = [&](std::vector<std::string> more) { std::ranges::move(more, std::back_inserter(notes)); };
  add(used.set.notes);
  const auto* reader = text_reader(plan, scorers);
  if (task_of_set(used.set.name) != kGenevalPrompts) {
    if (reader != nullptr || plan.backbone.needs_target) add(quote_notes(used));
    if (reader != nullptr) add(reader_notes(used, reader->name, readable_characters(reader->name)));
  }
  if (const auto lengths = text_lengths(plan, used, scorers); !lengths.is_null())
    add(length_notes(used, lengths));
}

/// The backbone asked for, else that of the weights given, else the table's.
std::string backbone_of(const TableSpec& spec, const PlanRequest& request) {
  if (!request.backbone.empty()) return request.backbone;
  const auto index = fs::path(request.inputs.weights) / "model_index.json";
  if (!request.inputs.weights.empty() && fs::exists(index)) return backbone_of_folder(request.inputs.weights);
  return spec.backbone;
}

/// With what the settings say of inputs.
InputOptions input_options(const Plan& plan, const PlanRequest& request) {
  auto options = request.inputs;
  options.leaves_out_validation_prompts = plan.settings.loop_value(kLeaveOutValidationPrompts).get<bool>();
  return options;
}

/// Steps of a trajectory that an update trains on.
std::int64_t trained_steps(const ResolvedSettings& settings) {
  const auto all = settings.loop_value("sampling_steps").get<std::int64_t>();
  const auto trained = settings.loop_value("trained_steps").get<std::int64_t>();
  return trained > 0 ? std::min(trained, all) : all;
}

/// An epoch takes no prompt twice.
void expect_prompts_for_an_epoch(const Plan& plan) {
  for (const auto& name : plan.trained_rows()) {
    const auto loop = plan.settings.effective_loop(plan.registry, "train", name);
    const auto wanted = loop.value("prompts_per_epoch", std::size_t{0});
    const auto& training = plan.inputs.training;
    if (wanted <= training.prompts.size()) continue;
    throw Error(
        fmt::format("an epoch of {} takes {} prompts (prompts_per_epoch), and this training set has {}", name,
                    wanted, training.prompts.size()),
        plan.inputs.training_file.string(), "give more prompts, or lower prompts_per_epoch");
  }
}

/// What misses every prompt was drawn for others.
void expect_images_of_test(const Plan& plan) {
  const std::set<int> test(plan.inputs.test.begin(), plan.inputs.test.end());
  for (const auto& run : plan.runs) {
    for (const auto& [step, given] : run.images) {
      const auto is_of_test = [&](const SummedImage& image) { return test.contains(image.position); };
      if (std::ranges::any_of(given.list, is_of_test)) continue;
      throw Error(fmt::format("holds images of {}, and none of the {} test prompts",
                              counted(std::ssize(given.list), "prompt"), test.size()),
                  fmt::format("images of {}: {}", run.name, given.folder.string()),
                  "give images of the prompts that the table tests, numbered as in its whole set");
    }
  }
}

std::vector<std::string> rows_that(const Plan& plan, bool (ArmSpec::*is)() const) {
  std::vector<std::string> rows;
  std::ranges::copy_if(plan.methods, std::back_inserter(rows),
                       [&](const auto& name) { return (plan.spec.arm(name).*is)(); });
  return rows;
}

}  // namespace

std::string test_key(const RunPlan& run) {
  return "test of " + run.job.id;
}

std::string second_test_key(const RunPlan& run, int number) {
  return fmt::format("second test {} of {}", number, run.job.id);
}

std::string device_name(const std::string& device) {
  if (device == "auto" || device == "cpu") return "cpu";
  if (device == "cuda") return "cuda:0";
  constexpr std::string_view kCuda = "cuda:";
  const bool is_cuda = device.starts_with(kCuda) && device.size() > kCuda.size() &&
                       device.find_first_not_of("0123456789", kCuda.size()) == std::string::npos;
  if (is_cuda) return device;
  const std::vector<std::string> known = {"auto", "cpu", "cuda:0"};
  const auto plain = utf32_to_utf8(to_lower(utf8_to_utf32(device)));
  constexpr std::array<std::string_view, 4> kGpu = {"gpu", "gpus", "nvidia", "cuda"};
  const bool means_gpu = std::ranges::count(kGpu, std::string_view(plain).substr(0, plain.find(':'))) > 0;
  throw Error(fmt::format("unknown device {}", in_quotes(device)), "--device",
              means_gpu ? "did you mean \"cuda\"? cuda:N is one GPU" : suggestion(device, known));
}

bool shows_nvidia_gpu() {
  constexpr std::string_view kPrefix = "nvidia";
  std::error_code unreadable;
  for (fs::directory_iterator at("/dev", unreadable), end; !unreadable && at != end;
       at.increment(unreadable)) {
    const auto name = at->path().filename().string();
    const bool is_gpu = name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
                        name.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos;
    if (is_gpu) return true;
  }
  return false;
}

std::string choose_device(const std::string& device) {
  auto name = device_name(device);
  if (name != "cpu" && !shows_nvidia_gpu())
    throw Error("this machine shows no NVIDIA GPU: there is no /dev/nvidia0, nor one of another number",
                "--device " + device,
                "install the driver, start a container with --gpus all, or leave --device out for the CPU");
  return name;
}

std::string job_id(const Json& identity) {
  return sha256_hex(canonical_json(identity)).substr(0, kIdDigits);
}

Json job_document(const Job& job, const Shares& shares, const std::string& device) {
  Json options = {{"threads", shares.threads}, {"ranks", shares.ranks}, {"device", device}};
  if (!job.checkpoint_sha256.empty()) options["checkpoint_sha256"] = job.checkpoint_sha256;
  if (!job.required.empty()) options["required"] = job.required;
  if (job.asks_all) options["asks_all"] = true;
  return {{"id", job.id}, {"identity", job.identity}, {"paths", job.paths}, {"options", std::move(options)}};
}

const std::vector<int>& Plan::positions(const std::string& split) const {
  return split == "test" ? inputs.test : inputs.validation;
}

std::int64_t Plan::images_on(const std::string& split) const {
  return std::ssize(positions(split)) * spec.samples;
}

std::vector<std::string> Plan::trained_rows() const {
  return rows_that(*this, &ArmSpec::is_trained);
}

std::vector<std::string> Plan::outside_rows() const {
  return rows_that(*this, &ArmSpec::is_outside);
}

std::vector<std::string> Plan::image_rows() const {
  return rows_that(*this, &ArmSpec::is_images);
}

std::optional<int> RunPlan::only_checkpoint() const {
  if (is_base()) return 0;
  return images.size() == 1 ? std::optional(images.begin()->first) : std::nullopt;
}

std::string Plan::precision() const {
  const auto chosen = settings.loop.find("precision");
  const bool is_chosen = chosen != settings.loop.end() && !chosen->second.is_silent;
  return is_chosen ? chosen->second.effective.get<std::string>() : backbone.precision(device_kind);
}

Job Plan::evaluation(const RunPlan& run, int step, const std::string& split) const {
  Job job;
  job.step = step;
  job.split = split;
  job.required = spec.required_metrics;
  job.identity = common_identity(run.is_images() ? kScoreJob : kEvaluateJob, *this, run.seed);
  job.identity.erase("task");
  job.identity["run"] = run.job.id;
  job.identity["step"] = step;
  job.identity["split"] = split;
  job.identity["prompts_sha256"] = inputs.evaluation.sha256;
  // A rule without a seed takes the first prompts.
  if (spec.split.seed) job.identity["split_seed"] = *spec.split.seed;
  job.identity["split_sizes"] = {inputs.validation_size, inputs.test_size};
  job.identity["positions_sha256"] = positions_checksum(positions(split));
  // Where images are given, no sampler draws them.
  job.identity["settings"] = run.is_images() ? Json::object() : settings.effective_loop(registry, "evaluate");
  if (run.is_images()) job.identity["samples"] = spec.samples;
  job.identity["scorers"] = scorers;
  job.identity["metrics"] = metrics;
  add_target_form(job.identity, *this, scorers, inputs.evaluation);
  job.id = job_id(job.identity);
  job.folder = run.job.folder / fmt::format("eval-{}-{}-{}", split, step, job.id);
  job.paths = {{"weights", inputs.weights_path()},
               {"text_cache", workspace.text_cache_folder()},
               {"prompts", fs::absolute(inputs.evaluation_file).string()},
               {"positions", fs::absolute(job.folder / kPositionsFile).string()},
               {"scorer", scorer_path().string()}};
  add_scorer_paths(job.paths, scorers, *this);
  if (step > 0)
    job.paths["checkpoint"] = fs::absolute(run.job.folder / "checkpoints" / std::to_string(step)).string();
  if (run.is_images()) job.paths["images"] = run.images.at(step).folder.string();
  job.label = fmt::format("{} {}{} on {} (seed {})", run.is_images() ? "score" : "evaluate", run.name,
                          run.only_checkpoint() ? "" : fmt::format(" at {}", step), split, run.seed);
  return job;
}

void add_prompt_notes(Plan& plan) {
  auto& inputs = plan.inputs;
  const bool trains = !plan.trained_rows().empty();
  if (inputs.has_evaluation()) {
    UsedPrompts used{inputs.evaluation, inputs.validation, "evaluation"};
    used.positions.insert(used.positions.end(), inputs.test.begin(), inputs.test.end());
    std::ranges::sort(used.positions);
    add_notes_on(used, plan, plan.scorers, inputs.notes);
    if (trains)
      std::ranges::move(overlap_notes(inputs.evaluation, inputs.training), std::back_inserter(inputs.notes));
    if (plan.spec.tests())
      std::ranges::move(repeat_notes(inputs.evaluation, inputs.validation, inputs.test, inputs.left_out,
                                     kLeaveOutValidationPrompts),
                        std::back_inserter(inputs.notes));
  }
  if (!trains) return;
  UsedPrompts used{inputs.training, std::vector<int>(inputs.training.prompts.size()), "training"};
  std::iota(used.positions.begin(), used.positions.end(), 0);
  add_notes_on(used, plan, plan.reward_scorers, inputs.notes);
}

Plan make_plan(const PlanRequest& request, const Workspace& workspace) {
  Plan plan;
  plan.workspace = workspace;
  const auto whole = load_table_spec(request.table);
  const auto own_rows = whole.methods;
  const auto table = with_outside_rows(with_outside_rows(whole, request.adapters, "--adapter", "adapters"),
                                       request.images, "--images", "images");
  plan.spec = table;
  plan.scale = plan.spec.scale(request.scale);
  plan.registry = load_registry();
  const ScorerFolders scorer_folders(plan.registry, request.inputs.scorers);
  plan.external_scorers = find_external_scorers(request.inputs.scorers);
  add_to_registry(plan.external_scorers, plan.registry);
  const auto backbone = backbone_of(plan.spec, request);
  const auto in_effect = [&](const TableSpec& spec) {
    return for_backbone(with_external_metrics(spec, plan.external_scorers, plan.registry), backbone);
  };
  plan.spec = in_effect(table);
  check_against_registry(plan.spec, plan.registry);
  plan.numerics_version = plan.registry.numerics_version;
  plan.backbone = plan.registry.backbone(backbone, "--backbone");
  auto given = given_evaluation(plan.spec, plan.backbone, request.inputs);
  const auto split = own_split(plan.spec, plan.scale, given, request.inputs);
  if (split) plan.spec = in_effect(with_split(table, split->validation, split->test));
  plan.methods = choose_methods(plan.spec, plan.registry, request.methods,
                                !request.adapters.empty() || !request.images.empty());
  // Who names further rows wants them, whichever others are chosen.
  for (const auto* rows : {&request.adapters, &request.images}) {
    for (const auto& text : request.methods.empty() ? std::vector<std::string>() : *rows) {
      const auto name = text.substr(0, text.find('='));
      if (std::ranges::count(plan.methods, name) == 0) plan.methods.push_back(name);
    }
  }
  plan.baseline = choose_baseline(plan, request.baseline);
  plan.seeds = request.seeds.empty() ? plan.spec.seeds : request.seeds;
  plan.checkpoints = plan.scale.checkpoints.value_or(plan.spec.checkpoints);
  plan.device = device_name(request.device);
  if (request.device == kAllGpus) plan.device = kAllGpus;
  plan.runs_elsewhere = request.runs_elsewhere;
  plan.device_kind = plan.device.substr(0, plan.device.find(':'));
  plan.device_identity = plan.device_kind == "cpu" ? "cpu" : request.gpu;
  plan.settings = resolve_settings(plan.registry, plan.spec, plan.backbone.name, plan.scale.name,
                                   plan.methods, request.sets);
  fit_updates(plan.settings, plan.checkpoints);
  check_timesteps(plan.spec, trained_steps(plan.settings));
  choose_scorers(plan, scorer_folders);
  plan.inputs = gather_inputs(plan.spec, plan.scale, plan.backbone, input_options(plan, request),
                              std::move(given), workspace);
  if (split) plan.inputs.notes.push_back(split->note());
  note_baseline(plan, request.baseline, own_rows);
  expect_prompts_for_an_epoch(plan);
  add_runs(plan, 0);
  expect_images_of_test(plan);
  add_prompt_notes(plan);
  return plan;
}

}  // namespace harness
