#include "harness/plan/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/geneval/record.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/weights/weights_folder.h"
#include "harness/plan/model_folder.h"
#include "harness/prompts/prompt_notes.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

void check_prompt_set(const TableSpec& spec, const ScaleSpec& scale, const PromptSet& set) {
  const auto wanted = scale.prompt_set.value_or(spec.prompt_set);
  if (!wanted.empty() && set.name != wanted) {
    const auto source = public_source_of(wanted);
    throw Error(fmt::format("table {} at scale {} asks for the prompt set {}, and this one is {} (sha256 {})",
                            spec.id, scale.name, wanted, set.name, set.sha256),
                "--prompts",
                source.empty()
                    ? "give that set, or choose another --scale"
                    : fmt::format("it is {}: give that file, or that repository's folder dataset/, with "
                                  "--prompts, or choose another --scale",
                                  source));
  }
  if (static_cast<int>(set.prompts.size()) < spec.prompts_first) {
    throw Error(
        fmt::format("table {} uses the first {} prompts, and this set has {}", spec.id, spec.prompts_first,
                    set.prompts.size()),
        set.origin,
        set.name == "geneval-public"
            ? "give Flow-GRPO's dataset/geneval/test_metadata.jsonl, which holds each of these four "
              "times, or a table of your own with prompts.first 553: one image per prompt"
            : fmt::format(
                  "give a larger set, or a table of your own that splits this one: "
                  "{{\"extends\": \"{}\", \"id\": \"mine\", \"prompts\": {{\"first\": {}}}, \"split\": "
                  "{{\"seed\": 1, \"take\": {}}}}}",
                  spec.id, set.prompts.size(), std::max<std::size_t>(1, set.prompts.size() / 4)));
  }
}

std::vector<int> first_of(std::vector<int> positions, std::optional<int> limit) {
  if (limit && static_cast<std::size_t>(*limit) < positions.size())
    positions.resize(static_cast<std::size_t>(*limit));
  return positions;
}

/// The one backbone kind whose own vocabulary of objects is that of the generated records.
bool draws_shapes(const BackboneInfo& backbone) {
  return backbone.images == shapes_vocabulary().name;
}

/// The task whose prompts are read: the table's own. A backbone that draws shapes alone takes records of
/// them; one that draws quoted texts alone takes prompts that all quote one, where the place (empty: none) is
/// a folder that has them.
std::string prompt_task(const TableSpec& spec, const BackboneInfo& backbone, const std::string& place) {
  if (draws_shapes(backbone)) return kGenevalPrompts;
  const auto has = [&](const char* task) { return !place.empty() && has_prompt_file(place, task); };
  if (backbone.needs_target) {
    std::error_code unreadable;
    if (fs::is_regular_file(place, unreadable))
      return spec.task == kPickscorePrompts ? kPickscorePrompts : kOcrPrompts;
    return !has(kOcrPrompts) && has(kPickscorePrompts) ? kPickscorePrompts : kOcrPrompts;
  }
  return std::ranges::count(prompt_tasks(), spec.task) > 0 ? spec.task : kOcrPrompts;
}

/// Records ask for objects of one vocabulary, and a backbone that draws shapes draws nothing else.
void expect_known_objects(const PromptSet& set, const BackboneInfo& backbone) {
  const auto vocabulary = vocabulary_of(set);
  if (vocabulary.empty() || (vocabulary == shapes_vocabulary().name) == draws_shapes(backbone)) return;
  if (draws_shapes(backbone))
    throw Error(fmt::format("backbone {} draws shapes, and the prompts of {} ask for the benchmark's objects",
                            backbone.name, set.name),
                set.origin, "leave the option out for the generated records of shapes");
  throw Error(
      fmt::format("the prompts of {} ask for shapes, and backbone {} draws scenes", set.name, backbone.name),
      set.origin, "give records of the benchmark's objects");
}

/// A prompt without a quoted text would be drawn empty: of the first `used` none may be without.
void expect_drawable(const PromptSet& set, std::size_t used, const BackboneInfo& backbone,
                     const std::string& hint) {
  if (!backbone.needs_target) return;
  used = std::min(set.prompts.size(), used);
  const auto without =
      std::count_if(set.prompts.begin(), set.prompts.begin() + static_cast<std::ptrdiff_t>(used),
                    [](const Prompt& prompt) { return prompt.target.empty(); });
  if (without == 0) return;
  const auto all = used == set.prompts.size() ? fmt::format("{}", used) : fmt::format("first {}", used);
  throw Error(fmt::format("backbone {} draws the text that a prompt quotes and nothing else, and {} of the "
                          "{} prompts of {} quote none",
                          backbone.name, without, all, set.name),
              set.origin, hint);
}

/// Where --prompts is not given.
PromptSet own_evaluation_set(const TableSpec& spec, const BackboneInfo& backbone) {
  if (!spec.default_prompts.empty()) return own_prompt_set(spec.default_prompts);
  if (prompt_task(spec, backbone, "") != kGenevalPrompts) return generated_prompt_set();
  if (draws_shapes(backbone)) return own_prompt_set("geneval-shapes");
  throw Error(
      fmt::format("table {} on backbone {} needs GenEval's prompts, which are not part of this program",
                  spec.id, backbone.name),
      "--prompts",
      fmt::format("give the file geneval/test_metadata.jsonl, or the folder that holds it: {}",
                  public_source_of("geneval-flow-grpo")));
}

bool may_be_for_others(const BackboneInfo& backbone, const InputOptions& options) {
  return options.is_of_collection && draws_shapes(backbone);
}

void note_own_records(Inputs& inputs, const TableSpec& spec, const BackboneInfo& backbone,
                      const std::string& option) {
  inputs.notes.push_back(
      fmt::format("{} holds no records of shapes, and {} draws nothing else: {} uses its "
                  "own.",
                  option, backbone.name, spec.id));
}

void gather_evaluation_prompts(Inputs& inputs, const TableSpec& spec, const ScaleSpec& scale,
                               const BackboneInfo& backbone, const InputOptions& options,
                               std::optional<GivenPrompts> given, const Workspace& workspace) {
  if (given) {
    expect_drawable(given->set, static_cast<std::size_t>(spec.prompts_first), backbone,
                    "leave out --prompts for the generated prompts, or choose a --backbone with --weights "
                    "that draws scenes");
    inputs.evaluation_file = std::move(given->file);
    inputs.evaluation = std::move(given->set);
  } else {
    if (!options.prompts.empty()) note_own_records(inputs, spec, backbone, "--prompts");
    inputs.evaluation = own_evaluation_set(spec, backbone);
    inputs.evaluation_file = workspace.prompts_folder() / own_file_name(inputs.evaluation.name);
    inputs.evaluation_file_is_ours = true;
  }
  check_prompt_set(spec, scale, inputs.evaluation);
  const auto split =
      split_of(inputs.evaluation, spec.split, spec.prompts_first, options.leaves_out_validation_prompts);
  inputs.validation_size = static_cast<int>(split.validation.size());
  inputs.test_size = static_cast<int>(split.test.size());
  inputs.left_out = spec.prompts_first - inputs.validation_size - inputs.test_size;
  inputs.validation = first_of(split.validation, scale.validation_limit);
  inputs.test = first_of(split.test, scale.test_limit);
}

void check_training_set(const TableSpec& spec, const ScaleSpec& scale, const PromptSet& set,
                        const InputOptions& options) {
  if (!scale.train_prompt_set || set.name == *scale.train_prompt_set) return;
  const auto source = public_source_of(*scale.train_prompt_set);
  const auto wanted = fmt::format("table {} at scale {} trains on the prompt set {}", spec.id, scale.name,
                                  *scale.train_prompt_set);
  throw Error(options.train_prompts.empty()
                  ? wanted + ", and --train-prompts is not given"
                  : fmt::format("{}, and this one is {} (sha256 {})", wanted, set.name, set.sha256),
              "--train-prompts",
              fmt::format("it is {}: give that file, or choose another --scale",
                          source.empty() ? "that set" : source));
}

/// Contamination: a score on a trained prompt (`by_target`: or target) does not generalise. Public
/// sets may have texts that differ in case alone: they get a note.
void expect_disjoint(const Inputs& inputs, const TableSpec& spec, bool by_target) {
  constexpr std::size_t kShown = 5;
  if (!inputs.has_evaluation()) return;
  auto used = inputs.evaluation;
  used.prompts.resize(std::min(used.prompts.size(), static_cast<std::size_t>(spec.prompts_first)));
  const auto shared = overlap(inputs.training, used);
  std::set<int> all;
  std::size_t alike = 0;
  for (const auto& [position, other] : shared.texts) {
    const bool is_equal = inputs.training.prompts.at(static_cast<std::size_t>(position)).text ==
                          used.prompts.at(static_cast<std::size_t>(other)).text;
    if (!is_equal && inputs.training.known) continue;
    alike += is_equal ? 0 : 1;
    all.insert(position + 1);
  }
  for (const auto& [position, other] : shared.targets) {
    if (by_target) all.insert(position + 1);
  }
  if (all.empty()) return;
  throw Error(
      fmt::format("{} of its prompts {} of validation or test ({}): line{} {}{}{}", all.size(),
                  all.size() == 1 ? "is one" : "are those", by_target ? "same text or target" : "same text",
                  all.size() == 1 ? "" : "s", fmt::join(all | std::views::take(kShown), ", "),
                  all.size() > kShown ? ", ..." : "", alike_text(alike)),
      inputs.training_file.string(), "leave these lines out of the training set");
}

/// The task whose training prompts are read: each quotes a target where the task is about it.
std::string training_task(const TableSpec& spec, const BackboneInfo& backbone) {
  if (prompt_task(spec, backbone, "") == kGenevalPrompts) return kGenevalPrompts;
  return spec.task == kOcrPrompts ? kOcrPrompts : kPickscorePrompts;
}

/// Nothing where they are for a collection's other tables.
std::optional<GivenPrompts> given_training(const std::string& task, const BackboneInfo& backbone,
                                           const InputOptions& options) {
  if (options.train_prompts.empty()) return std::nullopt;
  const bool may_lack = may_be_for_others(backbone, options);
  if (may_lack && !has_training_file(options.train_prompts, task)) return std::nullopt;
  const auto file = find_training_file(options.train_prompts, task);
  auto set = load_prompt_set(file, task);
  if (may_lack && vocabulary_of(set) != shapes_vocabulary().name) return std::nullopt;
  expect_drawable(set, set.prompts.size(), backbone,
                  "leave the others out (their texts are between double quotes), or choose a --backbone that "
                  "draws scenes");
  expect_known_objects(set, backbone);
  return GivenPrompts{file, std::move(set)};
}

void gather_training_prompts(Inputs& inputs, const TableSpec& spec, const ScaleSpec& scale,
                             const BackboneInfo& backbone, const InputOptions& options,
                             const Workspace& workspace) {
  const auto task = training_task(spec, backbone);
  if (auto given = given_training(task, backbone, options)) {
    inputs.training_file = std::move(given->file);
    inputs.training = std::move(given->set);
    expect_disjoint(inputs, spec, task == kOcrPrompts || backbone.needs_target);
  } else {
    if (!options.train_prompts.empty()) note_own_records(inputs, spec, backbone, "--train-prompts");
    const auto& vocabulary = draws_shapes(backbone) ? shapes_vocabulary() : benchmark_vocabulary();
    inputs.training = spec.default_training_prompts.empty() ? own_training_set(task, vocabulary.name)
                                                            : own_prompt_set(spec.default_training_prompts);
    inputs.training_file = workspace.prompts_folder() / own_file_name(inputs.training.name);
    inputs.training_file_is_ours = true;
  }
  check_training_set(spec, scale, inputs.training, options);
}

void write_if_absent(const fs::path& file, const PromptSet& set) {
  if (fs::exists(file) && sha256_file(file) == set.sha256) return;
  make_folder(file.parent_path());
  write_file_atomically(file, prompt_set_bytes(set));
}

}  // namespace

std::string Inputs::weights_path() const {
  return weights.empty() ? std::string() : fs::absolute(weights).string();
}

Split split_of(const PromptSet& set, const SplitRule& rule, int of, bool leaves_out) {
  auto split = make_split(rule, of);
  if (!leaves_out) return split;
  split.test = without_texts_of(set, split.test, split.validation);
  if (!split.test.empty()) return split;
  throw Error(fmt::format("every test prompt of {} is also one of validation", set.name),
              std::string("setting ") + kLeaveOutValidationPrompts, "leave it at false");
}

/// Throws Error for a set of one prompt: nothing is compared over one.
void require_several(const PromptSet& set) {
  refuse_unless(set.prompts.size() > 1, "holds a single prompt", set.origin,
                "give two or more: scores are compared over prompts");
}

std::string OwnSplit::note() const {
  if (is_asked_for)
    return fmt::format("{} prompts for validation and {} for test, as asked for.", validation, test);
  return fmt::format(
      "The {} prompts are divided as the table's are: {} for validation, {} for test (--split chooses).",
      validation + test, validation, test);
}

std::optional<GivenPrompts> given_evaluation(const TableSpec& spec, const BackboneInfo& backbone,
                                             const InputOptions& options) {
  if (options.prompts.empty() || spec.is_training()) return std::nullopt;
  const auto task = prompt_task(spec, backbone, options.prompts);
  const bool may_lack = may_be_for_others(backbone, options);
  if (may_lack && !has_prompt_file(options.prompts, task)) return std::nullopt;
  const auto file = find_prompt_file(options.prompts, task);
  auto set = load_prompt_set(file, task);
  if (may_lack && vocabulary_of(set) != shapes_vocabulary().name) return std::nullopt;
  expect_known_objects(set, backbone);
  require_several(set);
  return GivenPrompts{file, std::move(set)};
}

OwnSplit asked_split(const std::string& text) {
  OwnSplit split{.is_asked_for = true};
  const auto slash = text.find('/');
  const auto number = [](const std::string& part) {
    const auto value = parse_number<int>(part).value_or(0);
    return value < (1 << 24) ? value : 0;
  };
  if (slash != std::string::npos) {
    split.validation = number(text.substr(0, slash));
    split.test = number(text.substr(slash + 1));
  }
  if (split.validation > 0 && split.test > 0) return split;
  throw Error(fmt::format("{} is not two numbers of prompts", in_quotes(text)), "--split",
              "expected VALIDATION/TEST, such as 256/762");
}

std::optional<OwnSplit> own_split(const TableSpec& spec, const ScaleSpec& scale,
                                  const std::optional<GivenPrompts>& given, const InputOptions& options) {
  if (!options.split.empty()) {
    if (spec.is_training())
      throw Error("is not for training tables: they evaluate no prompts", "--split", "leave it out");
    return asked_split(options.split);
  }
  if (!given || !spec.prompt_set.empty() || scale.prompt_set || given->set.name == "geneval-public")
    return std::nullopt;  // refused with what to take instead
  const auto there = static_cast<int>(given->set.prompts.size());
  if (there >= spec.prompts_first || there < 2) return std::nullopt;
  const double share = static_cast<double>(spec.split.take) / spec.prompts_first;
  const int validation = std::clamp(static_cast<int>(std::lround(share * there)), 1, there - 1);
  return OwnSplit{.validation = validation, .test = there - validation};
}

Inputs gather_inputs(const TableSpec& spec, const ScaleSpec& scale, const BackboneInfo& backbone,
                     const InputOptions& options, std::optional<GivenPrompts> given,
                     const Workspace& workspace) {
  Inputs inputs;
  if (!spec.is_training()) {
    gather_evaluation_prompts(inputs, spec, scale, backbone, options, std::move(given), workspace);
  } else if (!options.prompts.empty()) {
    throw Error(
        fmt::format("table {} evaluates nothing: its figures are statistics of the training", spec.id),
        "--prompts " + options.prompts, "leave it out");
  }
  gather_training_prompts(inputs, spec, scale, backbone, options, workspace);
  inputs.weights = find_weights(backbone, options.weights);
  inputs.weights_are_given = !options.weights.empty();
  inputs.weights_sha256 = inputs.weights.empty() ? sha256_hex(canonical_json(backbone.random_weights))
                                                 : weights_checksum(inputs.weights);
  return inputs;
}

void write_input_files(const Inputs& inputs) {
  if (inputs.training_file_is_ours) write_if_absent(inputs.training_file, inputs.training);
  if (inputs.evaluation_file_is_ours) write_if_absent(inputs.evaluation_file, inputs.evaluation);
}

std::string positions_checksum(const std::vector<int>& positions) {
  return sha256_hex(canonical_json(Json(positions)));
}

}  // namespace harness
