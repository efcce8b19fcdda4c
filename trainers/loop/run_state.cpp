#include "trainers/loop/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr auto kManifest = "manifest.json";
constexpr auto kSnapshots = "snapshots.safetensors";
constexpr std::size_t kKept = 2;

TensorMap as_map(const std::vector<NamedTensor>& tensors) {
  TensorMap map;
  for (const auto& [name, tensor] : tensors) map[name] = tensor;
  return map;
}

/// Writes files and a manifest of `facts` and checksums, and returns the manifest's bytes.
std::string write_set(
    const fs::path& folder, const std::vector<std::pair<std::string, TensorMap>>& files, Json facts,
    const std::function<void(const fs::path& aside)>& write_more = [](const fs::path&) {}) {
  Json sums = Json::object();
  std::string manifest;
  write_folder_atomically(folder, [&](const fs::path& aside) {
    for (const auto& [name, tensors] : files) {
      const auto bytes = tensors_to_bytes(tensors);
      const auto sum = sha256_hex(bytes);
      // Imported checkpoints have equal weights and averages: stored once.
      const auto same = std::find(sums.begin(), sums.end(), Json(sum));
      std::error_code no_links;
      if (same != sums.end()) fs::create_hard_link(aside / same.key(), aside / name, no_links);
      if (same == sums.end() || no_links) write_file_atomically(aside / name, bytes);
      sums[name] = sum;
    }
    write_more(aside);
    facts["files"] = sums;
    manifest = facts.dump(2) + "\n";
    write_file_atomically(aside / kManifest, manifest);
  });
  return manifest;
}

TensorMap read_checked(const fs::path& folder, const Json& manifest, const std::string& name) {
  const auto file = folder / name;
  const auto& sums = manifest.at("files");
  if (!sums.contains(name)) throw Error(fmt::format("lists no {}", name), (folder / kManifest).string());
  if (sha256_file(file) != sums.at(name).get<std::string>()) {
    throw Error("does not have the checksum in its manifest", file.string(),
                "the file was changed or truncated: repeat the run with --fresh");
  }
  return load_tensors(file);
}

Json read_manifest(const fs::path& folder) {
  const auto file = folder / kManifest;
  auto manifest = read_json(file);
  if (!manifest.is_object() || !manifest.contains("files") || !manifest.at("files").is_object())
    throw Error("invalid manifest", file.string());
  return manifest;
}

/// Updates of the run's resume points, newest first.
std::vector<std::int64_t> resume_updates(const fs::path& run) {
  std::vector<std::int64_t> updates;
  if (!fs::exists(run / "resume")) return updates;
  for (const auto& entry : fs::directory_iterator(run / "resume")) {
    const auto name = entry.path().filename().string();
    if (std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
      updates.push_back(std::stoll(name));
  }
  std::sort(updates.rbegin(), updates.rend());
  return updates;
}

fs::path resume_folder(const fs::path& run, std::int64_t update) {
  return run / "resume" / std::to_string(update);
}

}  // namespace

std::string write_checkpoint(const fs::path& folder, const std::vector<NamedTensor>& weights,
                             const std::vector<NamedTensor>& averages, const Json& facts,
                             const LoraConfig* lora) {
  make_folder(folder.parent_path());
  const auto write_adapter = [&](const fs::path& aside) {
    if (lora != nullptr) save_lora(aside / "adapter", *lora, averages);
  };
  return sha256_hex(write_set(folder,
                              {{"model.safetensors", as_map(weights)}, {"ema.safetensors", as_map(averages)}},
                              facts, write_adapter));
}

void read_checkpoint(const fs::path& folder, bool ema, std::vector<NamedTensor> weights) {
  const auto name = ema ? "ema.safetensors" : "model.safetensors";
  const auto tensors = read_checked(folder, read_manifest(folder), name);
  const torch::NoGradGuard no_grad;
  for (auto& [key, tensor] : weights) restore_tensor(tensors, key, tensor, (folder / name).string());
}

bool is_imported(const fs::path& folder) {
  return fs::exists(folder / kManifest) && read_manifest(folder).contains("imported");
}

void load_checkpoint(const fs::path& folder, bool ema, Backbone& backbone) {
  const auto place = folder / "adapter";
  const auto* own = backbone.adapter();
  if (const auto lora = LoraConfig::of_folder(place)) {
    const bool is_own = own != nullptr && own->config().to_json() == lora->to_json();
    if (!is_own) backbone.add_adapter(*lora, 0, place.string());
  } else if (is_imported(folder)) {
    backbone.drop_adapter();
  }
  read_checkpoint(folder, ema, backbone.trainable());
}

void merge_adapter(Backbone& backbone) {
  auto* adapter = backbone.adapter();
  if (adapter != nullptr && adapter->merges_exactly()) adapter->merge();
}

void write_resume_point(const fs::path& run, std::int64_t update, const std::vector<NamedTensor>& weights,
                        const AdamW& optimiser, const Ema& ema, const Snapshots& snapshots,
                        const Json& state) {
  make_folder(run / "resume");
  std::vector<std::pair<std::string, TensorMap>> files = {{"weights.safetensors", as_map(weights)},
                                                          {"optimiser.safetensors", optimiser.state()},
                                                          {"ema.safetensors", ema.state()}};
  if (auto moved = snapshots.state(); !moved.empty()) files.emplace_back(kSnapshots, std::move(moved));
  write_set(resume_folder(run, update), files, {{"state", state}});
  std::size_t kept = 0;
  for (const auto there : resume_updates(run)) {
    const bool is_kept = there <= update && kept < kKept;
    if (is_kept) ++kept;
    if (!is_kept) fs::remove_all(resume_folder(run, there));
  }
}

std::optional<Json> read_resume_point(const fs::path& run, const std::string& key, std::int64_t last,
                                      std::vector<NamedTensor> weights, AdamW& optimiser, Ema& ema,
                                      Snapshots& snapshots,
                                      const std::function<void(const std::string&)>& warn) {
  for (const auto update : resume_updates(run)) {
    const auto folder = resume_folder(run, update);
    if (update > last) {
      warn(fmt::format("resume point {} is not used: the log ends at update {}", folder.string(), last));
      continue;
    }
    try {
      const auto manifest = read_manifest(folder);
      const Json state = manifest.at("state");
      if (state.at("key") != key) {
        throw Error("was started by another build or on a CPU with other features", folder.string(),
                    "repeat with --fresh, or continue with the build that started it", Status::kFailed);
      }
      const auto stored = read_checked(folder, manifest, "weights.safetensors");
      const auto moments = read_checked(folder, manifest, "optimiser.safetensors");
      const auto averages = read_checked(folder, manifest, "ema.safetensors");
      const auto moved = snapshots.state().empty() ? TensorMap() : read_checked(folder, manifest, kSnapshots);
      const torch::NoGradGuard no_grad;
      for (auto& [name, tensor] : weights) restore_tensor(stored, name, tensor, folder.string());
      optimiser.restore(moments, folder.string());
      ema.restore(averages, folder.string());
      snapshots.restore(moved, folder.string());
      return state;
    } catch (const Error& error) {
      if (error.status() == Status::kFailed) throw;
      warn(fmt::format("resume point {} is damaged and not used: {}", folder.string(), error.what()));
    }
  }
  return std::nullopt;
}

}  // namespace harness
