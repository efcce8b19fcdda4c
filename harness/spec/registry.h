#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/settings/settings.h"
#include "evaluators/metrics/metric_info.h"

namespace harness {

/// The sources of a plug-in as this build has them (core/source_sums/source_sums.h).
struct SourceInfo {
  std::string sha256 = {};                        ///< of the code; empty in a registry that knows none
  std::string identity = {};                      ///< what identities of jobs hold of it; empty: nothing
  std::map<std::string, std::string> files = {};  ///< sums by file, those that same_numbers.json lists
};

struct RegisteredMethod {
  std::string name, summary, equations;
  std::vector<Setting> settings;
  SourceInfo source = {};
};

struct BackboneInfo {
  std::string name, default_weights;
  std::string pipeline = {};  ///< class that a weights folder's index names; empty: it has no folder
  std::map<std::string, std::string> precisions;  ///< by kind of device; "": on any
  std::map<std::string, int> cpu_numerics = {};   ///< by precision, of numbers on CPUs alone; absent: 0
  std::vector<std::string> files = {};            ///< that a weights folder must hold, relative to it
  int threads = 0;            ///< that a worker makes good use of; 0: as many as there are
  bool fills_a_node = false;  ///< --ranks auto: a run on all GPUs of a node, not several side by side
  bool needs_target = false;  ///< it draws the quoted text of a prompt and nothing else
  bool is_default = false;    ///< where nothing is chosen
  std::string images = {};    ///< their kind (core/image.h)
  std::string note = {};      ///< a table's note on its numbers, without a full stop
  Json random_weights = {};   ///< what they follow from besides the seed; null with trained ones

  /// What it computes with on a kind of device ("cpu", "cuda").
  const std::string& precision(const std::string& device_kind) const;
};

struct EvaluatorInfo {
  std::string name, summary;
  std::vector<MetricInfo> metrics;
  Json identity;                  ///< versions and data files, as far as the build knows them
  bool guardrail = false;         ///< every evaluation computes its metrics, named by its table or not
  std::string folder_class = {};  ///< of the model that its folder holds; empty: it needs no folder
  std::string folder_model = {};  ///< whose public files the folder takes
  std::vector<std::string> folder_parts = {};  ///< its subfolders, a model each; empty: it is one itself
  std::vector<std::string> backbones = {};     ///< whose images it is for; empty: all
  SourceInfo source = {};

  bool belongs_to(const std::string& backbone) const;
};

struct TaskInfo {
  std::string name, summary;
  std::string evaluator;  ///< whose metrics the training reward is made of
};

/// What this build can do, read from registry.json: `harness` itself links no model code.
struct Registry {
  int numerics_version = 0;
  std::string sources_sha256 = {};  ///< of all code that can change a number
  std::vector<RegisteredMethod> methods;
  std::vector<Setting> settings;
  std::vector<BackboneInfo> backbones;
  std::vector<EvaluatorInfo> evaluators;
  std::vector<TaskInfo> tasks;

  /// Lookups by name. Throw Error (status 2) with the nearest known name.
  const RegisteredMethod& method(const std::string& name, const std::string& where) const;
  const BackboneInfo& backbone(const std::string& name, const std::string& where) const;
  const BackboneInfo& default_backbone() const;
  /// The evaluator that gives a metric of a backbone's images (empty: of any), or nullptr.
  const EvaluatorInfo* evaluator_of(const std::string& metric, const std::string& backbone = {}) const;
  /// The evaluator of a task's reward, or that of its metrics for the backbone. Throws Error if there is
  /// none.
  const EvaluatorInfo& evaluator_of_task(const std::string& task, const std::string& backbone) const;
};

/// Reads share/harness/registry.json (made by the build). Throws Error naming the field that is wrong.
Registry load_registry();
Registry read_registry(const std::filesystem::path& file);

/// The backbone of tables whose rows are all images that other systems drew.
inline constexpr const char* kImagesBackbone = "images";
inline bool draws_images(const std::string& backbone) {
  return backbone != kImagesBackbone;
}

/// What tables record about a backbone's numbers; empty where this build does not know it.
std::string note_of_backbone(const std::string& name);

/// Letters and digits alone, small: "OCR reward", "ocr-reward" and "ocr_reward" are one name.
std::string plain_name(const std::string& name);

/// Names of a list of things that have one.
template <class T>
std::vector<std::string> names_of(const std::vector<T>& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

}  // namespace harness
