#include "harness/spec/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace harness {
namespace {

template <class Read>
auto read_list(Fields& fields, const std::string& key, Read read) {
  std::vector<decltype(read(Json(), std::string()))> items;
  if (!fields.has(key)) return items;
  const Json& list = fields.get(key);
  for (std::size_t i = 0; i < list.size(); ++i) {
    items.push_back(read(list[i], fields.where() + ": " + key + "[" + std::to_string(i) + "]"));
  }
  return items;
}

SourceInfo read_source(Fields& fields) {
  if (!fields.has("source")) return {};
  auto source = fields.object("source");
  return {.sha256 = source.required<std::string>("sha256"),
          .identity = source.required<std::string>("identity"),
          .files = source.optional<std::map<std::string, std::string>>("files", {})};
}

RegisteredMethod read_method(const Json& value, const std::string& where) {
  Fields fields(value, where);
  return {.name = fields.required<std::string>("name"),
          .summary = fields.required<std::string>("summary"),
          .equations = fields.required<std::string>("equations"),
          .settings = read_list(fields, "settings", read_setting),
          .source = read_source(fields)};
}

/// One text, or one a kind of device.
std::map<std::string, std::string> read_precisions(Fields& fields) {
  if (!fields.has("precision")) return {{"", "fp32"}};
  if (fields.get("precision").is_object())
    return fields.required<std::map<std::string, std::string>>("precision");
  return {{"", fields.required<std::string>("precision")}};
}

BackboneInfo read_backbone(const Json& value, const std::string& where) {
  Fields fields(value, where);
  return {.name = fields.required<std::string>("name"),
          .default_weights = fields.optional<std::string>("default_weights", ""),
          .pipeline = fields.optional<std::string>("pipeline", ""),
          .precisions = read_precisions(fields),
          .cpu_numerics = fields.optional<std::map<std::string, int>>("cpu_numerics", {}),
          .files = fields.optional<std::vector<std::string>>("files", {}),
          .threads = fields.optional<int>("threads", 0),
          .fills_a_node = fields.optional<bool>("fills_a_node", false),
          .needs_target = fields.optional<bool>("needs_target", false),
          .is_default = fields.optional<bool>("default", false),
          .images = fields.optional<std::string>("images", ""),
          .note = fields.optional<std::string>("note", ""),
          .random_weights = fields.has("random_weights") ? fields.get("random_weights") : Json()};
}

MetricInfo read_metric(const Json& value, const std::string& where) {
  if (value.is_string()) throw Error("is of an older build", where, "build everything: scripts/build");
  return read_declared_metric(Fields(value, where));
}

EvaluatorInfo read_evaluator(const Json& value, const std::string& where) {
  Fields fields(value, where);
  EvaluatorInfo evaluator{.name = fields.required<std::string>("name"),
                          .summary = fields.optional<std::string>("summary", ""),
                          .metrics = read_list(fields, "metrics", read_metric),
                          .identity = fields.optional<Json>("identity", Json::object()),
                          .guardrail = fields.optional<bool>("guardrail", false),
                          .backbones = fields.optional<std::vector<std::string>>("backbones", {})};
  if (fields.has("folder")) {
    auto folder = fields.object("folder");
    evaluator.folder_class = folder.required<std::string>("class");
    evaluator.folder_model = folder.optional<std::string>("model", "");
    evaluator.folder_parts = folder.optional<std::vector<std::string>>("parts", {});
  }
  evaluator.source = read_source(fields);
  return evaluator;
}

TaskInfo read_task(const Json& value, const std::string& where) {
  Fields fields(value, where);
  return {.name = fields.required<std::string>("name"),
          .summary = fields.optional<std::string>("summary", ""),
          .evaluator = fields.required<std::string>("evaluator")};
}

template <class T>
const T& find_named(const std::vector<T>& items, const std::string& name, const char* noun,
                    const std::string& where) {
  const auto found = std::ranges::find(items, name, &T::name);
  if (found != items.end()) return *found;
  throw Error(std::string("unknown ") + noun + " \"" + name + "\"", where, suggestion(name, names_of(items)));
}

}  // namespace

bool EvaluatorInfo::belongs_to(const std::string& backbone) const {
  return backbones.empty() || std::ranges::count(backbones, backbone) > 0;
}

const std::string& BackboneInfo::precision(const std::string& device_kind) const {
  const auto found = precisions.find(device_kind);
  return found != precisions.end() ? found->second : precisions.at("");
}

const RegisteredMethod& Registry::method(const std::string& name, const std::string& where) const {
  return find_named(methods, name, "method", where);
}

const BackboneInfo& Registry::backbone(const std::string& name, const std::string& where) const {
  return find_named(backbones, name, "backbone", where);
}

const BackboneInfo& Registry::default_backbone() const {
  const auto found = std::ranges::find_if(backbones, &BackboneInfo::is_default);
  if (found != backbones.end()) return *found;
  throw Error("names no default backbone", "registry.json", "build everything: scripts/build");
}

const EvaluatorInfo* Registry::evaluator_of(const std::string& metric, const std::string& backbone) const {
  for (const auto& evaluator : evaluators) {
    if (!backbone.empty() && !evaluator.belongs_to(backbone)) continue;
    if (std::ranges::find(evaluator.metrics, metric, &MetricInfo::name) != evaluator.metrics.end())
      return &evaluator;
  }
  return nullptr;
}

const EvaluatorInfo& Registry::evaluator_of_task(const std::string& task, const std::string& backbone) const {
  const auto& info = find_named(tasks, task, "task", "task");
  const auto& named = find_named(evaluators, info.evaluator, "evaluator", "registry.json: task " + task);
  if (named.belongs_to(backbone) || named.metrics.empty()) return named;
  const auto& metric = named.metrics.front().name;
  if (const auto* other = evaluator_of(metric, backbone)) return *other;
  throw Error("no evaluator of this build gives " + metric + " of its images", "backbone " + backbone,
              "see `harness list evaluators`");
}

Registry read_registry(const std::filesystem::path& file) {
  const Json document = read_json(file);
  Fields fields(document, file.string());
  return {.numerics_version = fields.required<int>("numerics_version"),
          .sources_sha256 = fields.optional<std::string>("sources_sha256", ""),
          .methods = read_list(fields, "methods", read_method),
          .settings = read_list(fields, "settings", read_setting),
          .backbones = read_list(fields, "backbones", read_backbone),
          .evaluators = read_list(fields, "evaluators", read_evaluator),
          .tasks = read_list(fields, "tasks", read_task)};
}

Registry load_registry() {
  return read_registry(find_data_file("registry.json"));
}

std::string plain_name(const std::string& name) {
  std::string plain;
  for (const unsigned char c : name) {
    if (std::isalnum(c) != 0) plain += static_cast<char>(std::tolower(c));
  }
  return plain;
}

std::string note_of_backbone(const std::string& name) {
  if (!draws_images(name)) return {};
  try {
    for (const auto& backbone : load_registry().backbones) {
      if (backbone.name == name) return backbone.note;
    }
  } catch (const Error&) {
    // A build without a worker shows what others made.
  }
  return fmt::format("These are numbers of the backbone {}, of which this build knows nothing", name);
}

}  // namespace harness
