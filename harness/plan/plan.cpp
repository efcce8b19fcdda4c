#include "harness/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/sha256.h"
#include "core/text.h"
#include "harness/plan/model_folder.h"
#include "harness/plan/scorers.h"

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
    plan.inputs.notes.push_back(
        fmt::format("Baseline: {}, asked for with --baseline; without it the baseline is {}. Claims about "
                    "its pairs need a plan that asked for them before these runs were tested.",
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

/// The backbone asked for, else that of the weights given, else the table's.
std::string backbone_of(const TableSpec& spec, const PlanRequest& request) {
  if (!request.backbone.empty()) return request.backbone;
  const auto index = fs::path(request.inputs.weights) / "model_index.json";
  if (!request.inputs.weights.empty() && fs::exists(index)) return backbone_of_folder(request.inputs.weights);
  return spec.backbone;
}

/// With what the settings state about inputs.
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
  for (const auto& name : plan.training_rows()) {
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

}  // namespace

std::string test_key(const RunPlan& run) {
  return "test of " + run.job.id;
}

std::string second_test_key(const RunPlan& run, int number) {
  return fmt::format("second test {} of {}", number, run.job.id);
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

std::vector<std::string> Plan::training_rows() const {
  auto rows = methods;
  std::erase_if(rows, [&](const auto& name) { return !spec.arm(name).traits().trains; });
  return rows;
}

std::optional<int> RunPlan::only_checkpoint() const {
  if (traits().is_start) return 0;
  return images.size() == 1 ? std::optional(images.begin()->first) : std::nullopt;
}

std::string Plan::precision() const {
  const auto chosen = settings.loop.find("precision");
  const bool is_chosen = chosen != settings.loop.end() && !chosen->second.is_silent;
  return is_chosen ? chosen->second.effective.get<std::string>() : backbone.precision(device_kind);
}

Plan make_plan(const PlanRequest& request, const Workspace& workspace) {
  Plan plan;
  plan.workspace = workspace;
  const auto whole = load_table_spec(request.table);
  const auto own_rows = whole.methods;
  auto table = with_outside_rows(with_outside_rows(whole, request.adapters, "--adapter", "adapters"),
                                 request.images, "--images", "images");
  plan.scale = table.scale(request.scale);
  plan.registry = load_registry();
  const ScorerFolders scorer_folders(plan.registry, request.inputs.scorers);
  plan.external_scorers = find_external_scorers(request.inputs.scorers);
  add_to_registry(plan.external_scorers, plan.registry);
  const auto backbone = backbone_of(table, request);
  table = with_external_metrics(std::move(table), plan.external_scorers, plan.registry);
  plan.spec = for_backbone(table, backbone);
  check_against_registry(plan.spec, plan.registry);
  plan.numerics_version = plan.registry.numerics_version;
  plan.backbone = plan.registry.backbone(backbone, "--backbone");
  auto given = given_evaluation(plan.spec, plan.backbone, request.inputs);
  const auto split = own_split(plan.spec, plan.scale, given, request.inputs);
  if (split) plan.spec = for_backbone(with_split(std::move(table), split->validation, split->test), backbone);
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
