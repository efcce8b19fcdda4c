#include "harness/plan/plan_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "core/host.h"
#include "core/processes/process.h"
#include "core/text.h"
#include "harness/plan/worker_request.h"

namespace harness {
namespace {

/// Folder and profile of each scorer that has a folder.
Json scorers_of(const Plan& plan) {
  Json scorers = Json::object();
  for (const auto& [name, folder] : plan.scorer_folders) {
    const Json& identities = plan.scorers.contains(name) ? plan.scorers : plan.reward_scorers;
    scorers[name] = {{"folder", folder}};
    if (const auto profile = identities.at(name).value("profile", ""); !profile.empty())
      scorers[name]["profile"] = profile;
  }
  return scorers;
}

Json request_of(const Plan& plan, const Shares& shares) {
  Json request = {{"task", plan.spec.task},          {"json", true},
                  {"backbone", plan.backbone.name},  {"weights", plan.inputs.weights_path()},
                  {"device_kind", plan.device_kind}, {"threads", shares.threads},
                  {"ranks", shares.ranks},           {"methods", Json::array()},
                  {"scorers", scorers_of(plan)}};
  if (!plan.spec.is_training())
    request["evaluation_settings"] = plan.settings.effective_loop(plan.registry, "evaluate");
  for (const auto& name : plan.training_rows()) {
    Json loop = plan.settings.effective_loop(plan.registry, "train", name);
    loop["checkpoints"] = plan.checkpoints;
    request["methods"].push_back({{"name", name},
                                  {"loop", std::move(loop)},
                                  {"method", plan.spec.arm(name).method},
                                  {"settings", plan.settings.effective_method(name)}});
  }
  return request;
}

/// The checkpoints of each row from outside, by run.
Json outside_of(const Plan& plan) {
  Json rows = Json::array();
  for (const auto& name : plan.methods) {
    if (!plan.spec.arm(name).traits().is_taken_in()) continue;
    Json runs = Json::array();
    for (const auto& run : plan.runs) {
      if (run.name != name) continue;
      Json checkpoints = Json::array();
      for (const auto step : run.checkpoints)
        checkpoints.push_back(
            {{"step", step}, {"place", run.job.paths.at(fmt::format("checkpoint:{}", step))}});
      runs.push_back({{"seed", run.seed}, {"checkpoints", std::move(checkpoints)}});
    }
    rows.push_back({{"row", name}, {"runs", std::move(runs)}});
  }
  return rows;
}

/// Bytes; 0 if unknown.
double memory_of_device(const Plan& plan) {
  if (plan.runs_elsewhere) return 0;
  if (plan.device_kind == "cpu")
    return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return fullest_of(gpu_names(plan.device)).total;
}

Json ask(const Plan& plan, const Shares& shares, const Json& outside = {}) {
  if (!plan.draws()) {
    const Json scorers = scorers_of(plan);
    if (scorers.empty()) return Json::object();
    return ask_worker("check-scorers", {{"scorers", scorers}, {"json", true}});
  }
  Json request = request_of(plan, shares);
  if (!outside.empty()) request["outside"] = outside;
  return ask_worker("check", request);
}

}  // namespace

std::string gpu_names(const std::string& device) {
  const auto listed = environment("CUDA_VISIBLE_DEVICES");
  const auto colon = device.find(':');
  if (colon == std::string::npos) return listed;
  const auto number = device.substr(colon + 1);
  if (listed.empty()) return number;
  const auto names = split(listed, ',');
  const auto at = std::strtoul(number.c_str(), nullptr, 10);
  return at < names.size() ? std::string(trim(names[at])) : number;
}

GpuMemory fullest_of(const std::string& gpus) {
  std::vector<std::string> query = {"nvidia-smi", "--query-gpu=index,memory.total,memory.used",
                                    "--format=csv,noheader,nounits"};
  if (!gpus.empty()) query.insert(query.end(), {"-i", gpus});
  constexpr double kMebibyte = 1024 * 1024;
  GpuMemory fullest;
  for (const auto& line : split(output_of(query), '\n')) {
    const auto values = split(line, ',');
    if (values.size() != 3) continue;
    const double total = std::strtod(values[1].c_str(), nullptr) * kMebibyte,
                 free = total - std::strtod(values[2].c_str(), nullptr) * kMebibyte;
    if (total <= 0) continue;
    if (fullest.total == 0 || free < fullest.free)
      fullest = {.name = std::string(trim(values[0])), .total = total, .free = free};
  }
  return fullest;
}

double bytes_needed(const Json& resources) {
  return resources.empty() ? 0 : resources.at("memory").at("total").get<double>();
}

int ranks_up_to(int most, const Plan& plan) {
  const auto folds = ask(plan, Shares()).value("shared_folds", 1);
  int ranks = std::max(1, most);
  while (folds % ranks != 0) --ranks;
  return ranks;
}

void check_runs_from_outside(const Plan& plan) {
  const Json outside = outside_of(plan);
  if (outside.empty() || plan.seeds.size() < 2) return;
  Json request = request_of(plan, Shares());
  request["methods"] = Json::array();
  request.erase("scorers");
  request["outside"] = outside;
  ask_worker("check", request);
}

PlanCheck check_plan(const Plan& plan, const Shares& shares) {
  const Json answer = ask(plan, shares, outside_of(plan));
  PlanCheck check{.resources = answer.value("resources", Json::object()),
                  .outside = answer.value("outside", std::vector<std::string>())};
  const auto& resources = check.resources;
  if (resources.empty()) return check;
  const double needed = bytes_needed(resources), there = memory_of_device(plan);
  if (there > 0 && needed > there) {
    throw Error(
        fmt::format("a worker needs about {:.1f} GB of memory, and {} has {:.1f} GB", needed / 1e9,
                    plan.device_kind == "cpu" ? "this machine" : plan.device, there / 1e9),
        "--backbone " + plan.backbone.name,
        fmt::format("make shards smaller (shard_prompts, group_size, eval_shard), recompute activations "
                    "(--set gradient_checkpointing=true), or use a larger device{}",
                    plan.device_kind == "cpu" ? ": a GPU with --device cuda:0" : ""));
  }
  return check;
}

}  // namespace harness
