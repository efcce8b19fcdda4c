#include <fmt/format.h>

#include <boost/algorithm/string/replace.hpp>
#include <cctype>
#include <memory>
#include <regex>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/streams.h"
#include "harness/commands/command.h"
#include "harness/spec/registry.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMethods = "trainers/methods";
constexpr const char* kTemplate = "method.template";
constexpr std::size_t kLongestName = 40;

struct NewMethodOptions {
  std::string name, source;
  bool json = false;
};

/// Names are typed, and are part of file names: lower case letters, digits and single hyphens.
void require_method_name(const std::string& name) {
  static const std::regex kName("[a-z][a-z0-9]*(-[a-z0-9]+)*");
  if (name.size() <= kLongestName && std::regex_match(name, kName)) return;
  throw Error(fmt::format("\"{}\" is not a name for a method", name), "harness new method",
              fmt::format("take lower-case letters, digits and single hyphens, at most {} of them: my-method",
                          kLongestName));
}

/// "my-method" as a class: "MyMethod".
std::string class_name(const std::string& name) {
  std::string result;
  bool is_first = true;
  for (const char c : name) {
    if (c != '-') result += is_first ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    is_first = c == '-';
  }
  // What the headers of methods declare cannot be declared again.
  static const std::set<std::string> kTaken = {
      "AdvantageRule",    "Advantages",       "Branches",      "Children",
      "ClipRadius",       "ConfiguredMethod", "DrawnSteps",    "Error",
      "Fields",           "ForestAdvantages", "ForestRewards", "ForwardLoss",
      "ForwardMethod",    "ForwardPlan",      "ForwardStats",  "Json",
      "Method",           "MethodContext",    "MethodInfo",    "Penalty",
      "PlainClip",        "PlanContext",      "PlannedStep",   "Preset",
      "PresetReader",     "ReferenceKl",      "RolloutPlan",   "SdeStep",
      "Selection",        "Setting",          "Settings",      "SlidingWindow",
      "SnapshotRule",     "Snapshots",        "SolverFinish",  "Status",
      "StepRule",         "StepStats",        "Surrogate",     "TimeRule",
      "TrajectoryMethod", "TrajectoryStats",  "UpdateOutcome", "WithWeights"};
  return kTaken.contains(result) ? result + "Objective" : result;
}

/// The tree to write to: the one given, else the current folder if it is one, else the one of this build.
fs::path source_tree_of(const std::string& chosen) {
  const fs::path tree = !chosen.empty()                              ? fs::path(chosen)
                        : fs::exists(fs::path(kMethods) / kTemplate) ? "."
                                                                     : source_tree();
  if (fs::exists(tree / kMethods / kTemplate)) return tree;
  throw Error(fmt::format("is not a source tree of harness: it has no {}/{}", kMethods, kTemplate),
              tree.string(), "run it in the checkout, or name the checkout with --source");
}

std::string next_steps(const std::string& name, const fs::path& tree) {
  const auto in_tree = [&](const char* path) { return (tree / path).lexically_normal().string(); };
  return fmt::format(R"(Next:
  1. write the objective; {0} has an example of each kind of method and all hooks
  2. {2} release harness harness-worker harness_registry trainers_tests
  3. {4} --gtest_filter='*Method*'      gradients against finite differences, small runs, interruptions
  4. HARNESS_RENEW_SNAPSHOTS={1} {4} --gtest_filter='Trace.*'
     read {5}: four updates, number by number
  5. {3} reproduce --table sd35-ocr --methods ratio-norm,{1} --scale smoke
Edited and built again it is a new run: the checksum of its source belongs to the run's id.
)",
                     in_tree("trainers/methods/README.md"), name, in_tree("scripts/build"),
                     in_tree("build/release/harness"), in_tree("build/release/tests/trainers_tests"),
                     in_tree(fmt::format("tests/trainers/traces/{}.txt", name).c_str()));
}

int new_method(const NewMethodOptions& o) {
  require_method_name(o.name);
  for (const auto& known : load_registry().methods) {
    if (known.name == o.name)
      throw Error(fmt::format("there is already a method \"{}\"", o.name), "harness new method",
                  "choose another name; `harness list methods` lists them");
  }
  const auto tree = source_tree_of(o.source);
  const auto folder = tree / kMethods;
  const auto file = (folder / (boost::replace_all_copy(o.name, "-", "_") + ".cpp")).lexically_normal();
  if (fs::exists(file))
    throw Error("already exists", file.string(), "choose another name, or edit that file");
  auto text = read_file(folder / kTemplate);
  boost::replace_all(text, "@METHOD_NAME@", o.name);
  boost::replace_all(text, "@METHOD_CLASS@", class_name(o.name));
  write_file_atomically(file, text);
  return print_answer(o.json, {{"method", o.name}, {"file", file.string()}},
                      [&] { put("{}\n\n{}", file.string(), next_steps(o.name, tree)); });
}

Command make_new() {
  auto o = std::make_shared<NewMethodOptions>();
  Command method{"method", "Write trainers/methods/NAME.cpp from a template that compiles", R"(
The file registers the method; nothing else has to be edited. It holds the plain clipped ratio with one
setting, to be replaced by yours. Prints what to do next. Never overwrites a file.
Examples:
  harness new method my-method
  harness new method my-method --source ~/harness)"};
  method.add("name", &o->name, "name of the method, for instance my-method", {.required = true});
  method.add("--source", &o->source,
             "checkout to write to (default: the current folder if it is one, or the one of this build)",
             kFolder);
  add_json_option(method, o->json);
  method.run = [o] { return new_method(*o); };
  Command command{"new", "Write the first version of a new method",
                  "\nExamples:\n  harness new method my-method"};
  command.commands = {std::move(method)};
  return command;
}

const bool kRegistered = register_command(CommandGroup::kRun, 50, make_new);

}  // namespace
}  // namespace harness
