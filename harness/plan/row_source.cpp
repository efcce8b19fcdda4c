#include "harness/plan/row_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/error.h"
#include "core/event_log.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/unicode/normal_form.h"
#include "evaluators/ocr.h"
#include "harness/plan/scorers.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Links and folders of the environment lead anywhere: jobs get them as text.
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

/// The rows of each source of given ones, in the table's order.
std::vector<std::pair<const RowSource*, std::vector<std::string>>> given_rows(const Plan& plan) {
  std::vector<std::pair<const RowSource*, std::vector<std::string>>> found;
  for (const auto* source : {&adapter_source(), &image_source()}) {
    auto rows = plan.methods;
    std::erase_if(rows, [&](const auto& name) { return &row_source(plan.spec.arm(name).method) != source; });
    if (!rows.empty()) found.emplace_back(source, std::move(rows));
  }
  return found;
}

/// What a reader must know of rows that are given.
void note_given_rows(Plan& plan, const std::map<std::string, GivenRow>& given) {
  auto& notes = plan.inputs.notes;
  for (const auto& [name, row] : given) {
    const auto arm = plan.spec.arm(name);
    if (const auto note = steps_note(arm, row.runs)) notes.push_back(*note);
    if (plan.draws() && std::ranges::count(plan.registry.methods, name, &RegisteredMethod::name) > 0)
      notes.push_back(
          fmt::format("Row {} is what {} gives, not the method of that name that this program trains.", name,
                      arm.traits().option));
  }
  for (const auto& [source, rows] : given_rows(plan)) source->add_plan_notes(plan, rows, notes);
}

/// A run belongs to one row: a second one of the same method with the same settings would be lost.
void require_different_rows(const Plan& plan) {
  std::map<std::string, std::string> row_of;
  for (const auto& run : plan.runs) {
    const auto [first, is_new] = row_of.emplace(run.job.id, run.name);
    if (is_new || first->second == run.name) continue;
    throw Error(fmt::format("rows {} and {} are one method with the same settings", first->second, run.name),
                plan.spec.file.empty() ? plan.spec.id : plan.spec.file.string(),
                "change a setting of one of them, or leave it out");
  }
}

}  // namespace

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

const EvaluatorInfo* text_reader(const Plan& plan, const Json& scorers) {
  const auto reads = [&](const EvaluatorInfo& evaluator) {
    return scorers.contains(evaluator.name) &&
           std::ranges::count(names_of(evaluator.metrics), ocr_metric_names().front()) > 0;
  };
  const auto found = std::ranges::find_if(plan.registry.evaluators, reads);
  return found == plan.registry.evaluators.end() ? nullptr : &*found;
}

void add_target_form(Json& identity, const Plan& plan, const Json& scorers, const PromptSet& set) {
  const auto is_in_other_form = [](const Prompt& prompt) {
    return to_nfc(prompt.target.words()) != prompt.target.words();
  };
  if (text_reader(plan, scorers) != nullptr && std::ranges::any_of(set.prompts, is_in_other_form))
    identity[kTargetForm] = kNormalFormC;
}

void add_scorer_paths(Json& paths, const Json& scorers, const Plan& plan) {
  for (const auto& [name, folder] : plan.scorer_folders) {
    if (scorers.contains(name)) paths["scorer:" + name] = folder;
  }
  for (const auto& external : plan.external_scorers) {
    if (scorers.contains(external.name)) paths["scorer:" + external.name] = external.folder.string();
  }
}

const RowSource& row_source(const std::string& method) {
  const auto& traits = row_traits(method);
  if (traits.is_start) return base_source();
  if (traits.trains) return trained_source();
  return traits.draws ? adapter_source() : image_source();
}

std::vector<std::string> given_row_notes(const Plan& plan) {
  std::vector<std::string> notes;
  for (const auto& [source, rows] : given_rows(plan)) source->add_record_notes(plan, rows, notes);
  return notes;
}

std::string given_sums_text(const Plan& plan) {
  constexpr std::size_t kDigits = 12;
  std::string text;
  for (const auto& [source, names] : given_rows(plan)) {
    const auto method = plan.spec.arm(names.front()).method;
    std::vector<std::string> rows;
    for (const auto& name : names) {
      std::vector<std::string> sums;
      for (const auto& run : plan.runs) {
        if (run.name == name)
          sums.push_back(
              sha256_hex(canonical_json(run.job.identity.at(row_traits(method).given))).substr(0, kDigits));
      }
      rows.push_back(fmt::format("{} {}", name, join(sums, ",")));
    }
    text += fmt::format("{} {} | ", method, join(rows, ", "));
  }
  return text;
}

bool has_averages(const RunPlan& run) {
  return row_source(run.method).has_averages(run);
}

void RowSource::complete(const Plan& plan, const RunPlan&, Job& evaluation) const {
  evaluation.identity["settings"] = plan.settings.effective_loop(plan.registry, "evaluate");
}

void add_runs(Plan& plan, std::optional<int> first_index) {
  const auto folder = fs::absolute(plan.spec.file).parent_path();
  std::map<std::string, GivenRow> given;  // of rows from outside
  for (const auto& name : plan.methods) {
    if (const auto arm = plan.spec.arm(name); !arm.traits().trains)
      given[name] = {.runs = outside_runs(arm, plan.seeds, folder), .first_index = first_index};
  }
  note_given_rows(plan, given);
  auto rows = plan.methods;
  if (!plan.spec.is_training() && plan.spec.has_base) rows.insert(rows.begin(), kBaseMethod);
  for (std::size_t i = 0; i < plan.seeds.size(); ++i) {
    for (const auto& name : rows)
      plan.runs.push_back(row_source(plan.spec.arm(name).method).run(plan, name, i, given[name]));
  }
  require_recordable(plan);
  for (const auto* source : {&adapter_source(), &image_source()}) source->check(plan);
  // Whether checkpoints from outside fit the backbone is known before anything is trained.
  std::ranges::stable_partition(plan.runs, [](const RunPlan& run) { return !run.traits().trains; });
  for (auto& run : plan.runs) {
    run.job.id = job_id(run.job.identity);
    run.job.folder = plan.workspace.run_folder(run.job.id);
  }
  require_different_rows(plan);
}

Job Plan::evaluation(const RunPlan& run, int step, const std::string& split) const {
  Job job;
  job.step = step;
  job.split = split;
  job.required = spec.required_metrics;
  const auto& source = row_source(run.method);
  job.identity = common_identity(source.evaluation_kind(), *this, run.seed);
  job.identity.erase("task");
  job.identity["run"] = run.job.id;
  job.identity["step"] = step;
  job.identity["split"] = split;
  job.identity["prompts_sha256"] = inputs.evaluation.sha256;
  // A rule without a seed takes the first prompts.
  if (spec.split.seed) job.identity["split_seed"] = *spec.split.seed;
  job.identity["split_sizes"] = {inputs.validation_size, inputs.test_size};
  job.identity["positions_sha256"] = positions_checksum(positions(split));
  job.identity["scorers"] = scorers;
  job.identity["metrics"] = metrics;
  add_target_form(job.identity, *this, scorers, inputs.evaluation);
  source.complete(*this, run, job);
  job.id = job_id(job.identity);
  job.folder = run.job.folder / fmt::format("eval-{}-{}-{}", split, step, job.id);
  job.paths.update({{"weights", inputs.weights_path()},
                    {"text_cache", workspace.text_cache_folder()},
                    {"prompts", fs::absolute(inputs.evaluation_file).string()},
                    {"positions", fs::absolute(job.folder / kPositionsFile).string()},
                    {"scorer", scorer_path().string()}});
  add_scorer_paths(job.paths, scorers, *this);
  if (step > 0)
    job.paths["checkpoint"] = fs::absolute(run.job.folder / "checkpoints" / std::to_string(step)).string();
  job.label = fmt::format("{} {}{} on {} (seed {})", source.evaluation_kind(), run.name,
                          run.only_checkpoint() ? "" : fmt::format(" at {}", step), split, run.seed);
  return job;
}

}  // namespace harness
