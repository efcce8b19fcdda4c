#include "harness/run/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/paths/shown_path.h"
#include "core/sha256.h"
#include "core/source_sums/build_info.h"
#include "core/text.h"
#include "harness/plan/row_source.h"
#include "harness/read/test_split.h"
#include "harness/run/plan_record.h"
#include "harness/show/comparisons.h"
#include "harness/show/guardrails.h"
#include "results/store/rows.h"

namespace harness {
namespace {

std::string short_hash(const std::string& hash) {
  return hash.substr(0, 12);
}

/// A scorer's description (name, version, settings, data files) in a few words.
std::string scorer_text(const std::string& evaluator, const Json& identity) {
  const auto name = identity.value("name", evaluator);
  std::string text = name == evaluator ? name : fmt::format("{} ({})", evaluator, name);
  text += fmt::format(" v{}", identity.value("version", "-"));
  const auto settings = identity.value("settings", Json::object());
  for (const char* key : {"engine", "engine_version"}) {
    if (settings.contains(key)) text += fmt::format(" {}", settings.at(key).get<std::string>());
  }
  for (const auto& data : identity.value("data", Json::array())) {
    text += fmt::format(" {} {}", data.value("file", ""), short_hash(data.value("sha256", "")));
  }
  if (identity.contains("profile") && name == evaluator)
    text += fmt::format(" profile {}", identity.at("profile").get<std::string>());
  if (identity.contains("files"))
    text += fmt::format(" files {}", short_hash(sha256_hex(canonical_json(identity.at("files")))));
  return text;
}

/// Which worker builds made the runs, as the DB knows them; where nothing was run but scorers, the
/// evaluations.
std::string builds_of(const Plan& plan, Store& store, const std::vector<std::string>& evaluations) {
  std::vector<std::string> builds;
  const auto add = [&](const std::string& build) {
    if (std::ranges::count(builds, short_hash(build)) == 0) builds.push_back(short_hash(build));
  };
  for (const auto& run : plan.runs) {
    if (const auto stored = store.run(run.job.id); stored && stored->build) add(*stored->build);
  }
  if (!builds.empty()) return join(builds, "+");
  constexpr auto kSql = R"sql(
    SELECT json_extract(detail, '$.build') FROM events WHERE type = 'job_started' AND job_id = ?1)sql";
  for (const auto& evaluation : evaluations) {
    for (const auto& build : rows_of<std::string>(store, kSql, evaluation)) add(build);
  }
  return join(builds, "+");
}

std::string inputs_text(const Plan& plan) {
  const auto& inputs = plan.inputs;
  if (!plan.draws()) {
    return fmt::format("images as given | {} {} | {} | used {}/{} with {}", inputs.evaluation.name,
                       short_hash(inputs.evaluation.sha256),
                       plan.spec.split.take > 0 ? "split " + text_of(plan.spec.split) : "no selection",
                       inputs.validation.size(), inputs.test.size(),
                       counted(plan.spec.samples, "image") + " each");
  }
  const auto weights = fmt::format("{} {} weights {}", plan.backbone.name, plan.precision(),
                                   short_hash(inputs.weights_sha256));
  const auto trained_on =
      fmt::format(" | training prompts {} {}", inputs.training.name, short_hash(inputs.training.sha256));
  if (!inputs.has_evaluation()) return weights + trained_on;
  return fmt::format("{} | {} {}{} | split {} {}/{} of {}, used {}/{}", weights, inputs.evaluation.name,
                     short_hash(inputs.evaluation.sha256),
                     inputs.training_file_is_ours ? std::string() : trained_on, text_of(plan.spec.split),
                     inputs.validation_size, inputs.test_size, plan.spec.prompts_first,
                     inputs.validation.size(), inputs.test.size());
}

/// What a setting of training is in every row; "(by row)" where rows have their own. `of_table`: where
/// no row has it.
std::string row_setting_text(const Plan& plan, const std::string& name, const std::string& of_table) {
  std::set<std::string> values;
  for (const auto& run : plan.runs) {
    const auto settings = run.job.identity.find("settings");
    if (settings == run.job.identity.end() || !settings->contains(name)) continue;
    const Json& value = settings->at(name);
    values.insert(value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (values.empty()) return of_table;
  return values.size() == 1 ? *values.begin() : "(by row)";
}

/// Empty where nothing is drawn.
std::string sampler_text(const Plan& plan) {
  if (!plan.draws()) return {};
  const auto setting = [&](const char* name) {
    const auto found = plan.settings.loop.find(name);
    if (found == plan.settings.loop.end()) return std::string("-");
    const Json& value = found->second.effective;
    return row_setting_text(plan, name, value.is_string() ? value.get<std::string>() : value.dump());
  };
  const auto uses = setting("inner_epochs");
  const auto training = fmt::format(
      "training {} updates, {} x {} images per epoch in {} parts{}, lr {}, {} steps, guidance {}, noise {}",
      setting("updates"), setting("prompts_per_epoch"), setting("group_size"), setting("updates_per_epoch"),
      uses == "1" || uses == "-" ? "" : fmt::format(" used {} times each", uses), setting("lr"),
      setting("sampling_steps"), setting("guidance"), setting("noise_level"));
  if (plan.spec.is_training()) return training;
  return fmt::format("{}evaluation {} steps, guidance {}{}", plan.trains() ? training + "; " : std::string(),
                     setting("eval_steps"), setting("eval_guidance"),
                     std::ranges::any_of(plan.runs, has_averages)
                         ? fmt::format(", {} weights", setting("eval_weights"))
                         : "");
}

/// One line with all that distinguishes this result from another.
std::string signature_of(const Plan& plan, Store& store, const std::vector<std::string>& evaluations) {
  std::vector<std::string> scorers;
  const Json& used = plan.spec.is_training() ? plan.reward_scorers : plan.scorers;
  for (const auto& [name, identity] : used.items()) scorers.push_back(scorer_text(name, identity));
  const auto set = assignments(plan.settings.requested("--set"));
  auto drawn = sampler_text(plan);
  if (!drawn.empty()) drawn += " | ";
  const bool is_usual = plan.baseline == usual_baseline(plan.spec, plan.methods);
  return fmt::format(
      "{} v{} scale {} | {} | {}{}{}{}{} | seeds {} | percentile bootstrap {} | numerics {} build {} revision "
      "{}",
      plan.spec.id, plan.spec.version, plan.scale.name, inputs_text(plan), drawn, given_sums_text(plan),
      is_usual ? "" : fmt::format("baseline {} | ", plan.baseline),
      set.empty() ? "" : fmt::format("set {} | ", set), join(scorers, ", "), fmt::join(plan.seeds, ","),
      BootstrapSettings{}.resamples, plan.numerics_version, builds_of(plan, store, evaluations),
      build_info().git_revision);
}

/// What was trained on, where that is not the generated set that the task is about.
void add_training_note(const Plan& plan, std::vector<std::string>& notes) {
  if (!plan.trains()) return;
  const auto& training = plan.inputs.training;
  if (!plan.inputs.training_file_is_ours) {
    notes.push_back(fmt::format("Training prompts: {} ({} prompts, sha256 {}).", training.name,
                                training.prompts.size(), short_hash(training.sha256)));
  } else if (plan.spec.task == kPickscorePrompts && !plan.backbone.needs_target) {
    notes.push_back(
        "Training prompts: the generated ones, each asking for a written text; --train-prompts trains on "
        "others.");
  }
}

std::vector<std::string> notes_of(const Plan& plan, Store& store,
                                  const std::optional<std::string>& other_code) {
  std::vector<std::string> notes;
  if (!plan.scale.note.empty()) notes.push_back(scale_note(plan.scale));
  notes.insert(notes.end(), plan.scale.notes.begin(), plan.scale.notes.end());
  if (other_code) notes.push_back(fmt::format("More than one build: {}.", *other_code));
  if (plan.inputs.weights_are_given) {
    notes.push_back(fmt::format("Weights: folder {}, sha256 {}.",
                                std::filesystem::weakly_canonical(plan.inputs.weights).filename().string(),
                                plan.inputs.weights_sha256));
  }
  notes.insert(notes.end(), plan.inputs.notes.begin(), plan.inputs.notes.end());
  add_training_note(plan, notes);
  std::ranges::move(given_row_notes(plan), std::back_inserter(notes));
  const bool are_ours_to_know = plan.inputs.has_evaluation() && plan.draws();
  if (are_ours_to_know && !plan.inputs.evaluation.known) {
    notes.push_back(fmt::format("The evaluation prompts are a set of unknown checksum ({}).",
                                short_hash(plan.inputs.evaluation.sha256)));
  }
  if (const auto set = assignments(plan.settings.requested("--set")); !set.empty())
    notes.push_back(fmt::format("Settings changed on the command line: {}.", set));
  notes.insert(notes.end(), plan.scorers_unused.begin(), plan.scorers_unused.end());
  for (const auto& run : plan.runs) {
    const auto former = run.only_checkpoint() ? std::nullopt : formerly_selected(store, run.job.id);
    const auto now = former ? recorded_selection(plan, run, store) : std::nullopt;
    if (now) notes.push_back(reselection_text(run.job.label, static_cast<int>(now->step), *former) + ".");
  }
  const auto tolerance = plan.settings.loop.find("on_policy_tolerance");
  if (tolerance != plan.settings.loop.end() && tolerance->second.effective.get<double>() > 0) {
    notes.push_back(fmt::format("On-policy log-ratios up to {} were accepted (on_policy_tolerance).",
                                tolerance->second.effective.dump()));
  }
  return notes;
}

/// What the metrics are that the table can name, or the columns of a training table: a table is made again
/// from the DB alone. Without their help texts, which are the build's and not the experiment's.
Json metrics_in_effect(const Plan& plan) {
  const auto& spec = plan.spec;
  if (!spec.is_training()) {
    std::set<std::string> names(plan.metrics.begin(), plan.metrics.end());
    names.insert(spec.optional_metrics.begin(), spec.optional_metrics.end());
    for (const auto& column : spec.columns) names.insert(column.name);
    for (const auto& [_, changes] : spec.backbones) {
      for (const auto& [metric, other] : changes.stands_in) names.insert({metric, other});
    }
    for (const auto& evaluator : plan.registry.evaluators) {
      for (const auto& metric : evaluator.metrics) {
        if (plan.scorers.contains(evaluator.name)) names.insert(metric.name);
      }
    }
    auto metrics = spec.metric_catalogue.to_json({names.begin(), names.end()});
    for (auto& metric : metrics) metric.erase("help");
    return metrics;
  }
  Json columns = Json::array();
  for (const auto& column : spec.columns) columns.push_back(metric_json(column));
  return columns;
}

/// Where the runs of a row were found, a text for each. Nothing looks for them there again.
void show_places(Json& runs) {
  for (auto& places : runs) {
    std::vector<std::string> shown;
    for (const auto& place : places_in(places.get<std::string>(), "/")) shown.push_back(shown_path(place));
    places = join(shown, ",");
  }
}

/// The table spec in effect: the file as it is, and with it the resolved configuration.
Json effective_spec(const Plan& plan, Store& store, const std::optional<std::string>& other_code) {
  Json methods = Json::object();
  for (const auto& method : plan.methods) methods[method] = plan.settings.effective_method(method);
  const auto& prompts = plan.inputs.has_evaluation() ? plan.inputs.evaluation : plan.inputs.training;
  Json spec = plan.spec.document;
  for (auto& row : spec.at("methods")) {
    for (const auto* outside : {"adapters", "images"}) {
      if (row.is_object() && row.contains(outside)) show_places(row[outside]);
    }
  }
  spec["effective"] =
      Effective{.baseline = plan.baseline,
                .checkpoints = plan.checkpoints,
                .metrics = plan.metrics,
                .prompt_set = prompts.name,
                .prompt_set_sha256 = prompts.sha256,
                .split_sizes = {std::ssize(plan.inputs.validation), std::ssize(plan.inputs.test)},
                .settings = plan.settings.effective_loop(plan.registry, "train"),
                .evaluation_settings = plan.settings.effective_loop(plan.registry, "evaluate"),
                .method_settings = std::move(methods),
                .requested = plan.settings.requested(),
                .set = plan.settings.requested("--set"),
                .weights_sha256 = plan.inputs.weights_sha256,
                .notes = notes_of(plan, store, other_code),
                .metrics_known = metrics_in_effect(plan),
                .guardrails = plan.guardrails}
          .to_json();
  return spec;
}

}  // namespace

std::vector<CodeGroup> code_of_plan(const Plan& plan, Store& store,
                                    const std::vector<std::string>& evaluations) {
  auto jobs = evaluations;
  for (const auto& run : plan.runs) jobs.push_back(run.job.id);
  return code_of_jobs(store, jobs);
}

Experiment record_plan(const Plan& plan, Store& store, std::vector<std::string> evaluations,
                       const std::vector<CodeGroup>& code, double wall_seconds) {
  ReproductionRecord record{.table_id = plan.spec.id,
                            .backbone = plan.backbone.name,
                            .scale = plan.scale.name,
                            .seeds = plan.seeds,
                            .methods = plan.methods,
                            .spec = effective_spec(plan, store, other_code(code, "")),
                            .signature = signature_of(plan, store, evaluations),
                            .wall_seconds = wall_seconds,
                            .evaluations = std::move(evaluations)};
  for (const auto& run : plan.runs) record.runs.emplace_back(run.job.id, run.name);
  const auto id = store.record_reproduction(record);
  Experiment stored(*store.reproduction(id));
  if (store.comparisons(id).empty()) record_comparisons(store, stored);
  return stored;
}

void record_comparisons(Store& store, const Experiment& experiment) {
  const auto comparisons = compare_all(store, experiment);
  // Alarms first: once comparisons are stored, both are.
  ScoreReader scores(store);
  store.record_alarms(experiment.id, alarms_of(scores, experiment, comparisons));
  std::vector<ComparisonRow> rows;
  for (const auto& comparison : comparisons) rows.push_back(row_of(comparison));
  store.record_comparisons(experiment.id, rows);
}

}  // namespace harness
