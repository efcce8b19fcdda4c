#include "core/weights/model_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr auto kFetchAgain = "index and shards are not of one model; fetch the folder again";

using ShardIndex = std::map<std::string, std::string>;  ///< tensor -> file next to the index

/// Whether the path exists, a dangling link included; other failures are left to the open that follows.
bool is_present(const fs::path& path) {
  std::error_code unknown;
  return fs::symlink_status(path, unknown).type() != fs::file_type::not_found;
}

void check_shard_name(const std::string& shard, const std::string& where) {
  if (shard.empty() || shard.find_first_of(std::string("/\0", 2)) != std::string::npos ||
      shard.front() == '.')
    throw Error(fmt::format("{} is not the name of a file beside it", in_quotes(shard)), where);
  if (!shard.ends_with(".safetensors"))
    throw Error(fmt::format("{} is not the name of a .safetensors file", in_quotes(shard)), where);
}

ShardIndex read_index(const fs::path& file) {
  const Json document = read_json(file);
  Fields fields(document, file.string());
  // `total_size` is what other tools counted, shared or dropped tensors among it: readers do not rely on it.
  if (fields.has("metadata")) fields.object("metadata");
  Fields names = fields.object("weight_map");
  fields.finish();
  ShardIndex index;
  for (const auto& name : names.keys()) {
    index[name] = names.required<std::string>(name);
    check_shard_name(index[name], names.where());
  }
  if (index.empty()) throw Error("names no tensor", names.where());
  return index;
}

/// Throws Error unless a shard holds exactly the tensors that the index puts into it.
void check_shard(const std::string& shard, const SafetensorsFile& file, const ShardIndex& index,
                 const std::string& where) {
  for (const auto& [name, _] : file.tensors()) {
    const auto found = index.find(name);
    if (found != index.end() && found->second == shard) continue;
    const auto holder = found == index.end() ? "does not name" : "puts into " + in_quotes(found->second);
    throw Error(fmt::format("{} holds {}, which the index {}", in_quotes(shard), in_quotes(name), holder),
                where, kFetchAgain);
  }
  for (const auto& [name, holder] : index) {
    if (holder == shard && !file.tensors().contains(name))
      throw Error(fmt::format("puts {} into {}, which does not hold it", in_quotes(name), in_quotes(shard)),
                  where, kFetchAgain);
  }
}

/// What to do where a folder has no weights under their name.
std::string hint_without_weights(const fs::path& folder, const std::string& stem) {
  std::vector<std::string> others;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const auto name = entry.path().filename().string();
    const bool is_pickle = name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".ckpt");
    const bool is_variant = name.starts_with(stem + ".") && name.ends_with(".safetensors");
    if (is_pickle || is_variant) others.push_back(name);
  }
  std::ranges::sort(others);
  if (others.empty()) return "weights are read in the safetensors format only";
  return fmt::format(
      "{} is another format or variant; download the safetensors files of the full precision, "
      "or save the model again with save_pretrained",
      in_quotes(others.front()));
}

}  // namespace

ModelWeights ModelWeights::open(const fs::path& folder, const std::string& stem) {
  const auto file = folder / (stem + ".safetensors"), index = folder / (stem + ".safetensors.index.json");
  ModelWeights weights;
  if (is_present(file)) {
    weights.where_ = file.string();
    weights.add(SafetensorsFile(file));
  } else if (is_present(index)) {
    weights.where_ = index.string();
    weights.open_shards(index);
  } else {
    throw Error(fmt::format("holds neither {} nor {}", file.filename().string(), index.filename().string()),
                folder.string(), hint_without_weights(folder, stem));
  }
  return weights;
}

void ModelWeights::open_shards(const fs::path& file) {
  const auto index = read_index(file);
  std::set<std::string> shards;
  for (const auto& [_, shard] : index) shards.insert(shard);
  for (const auto& shard : shards) {
    const auto path = file.parent_path() / shard;
    if (!is_present(path))
      throw Error(fmt::format("names the shard {}, which is not in the folder", in_quotes(shard)), where_,
                  "fetch the folder again");
    SafetensorsFile opened(path);
    check_shard(shard, opened, index, where_);
    add(std::move(opened));
  }
}

void ModelWeights::add(SafetensorsFile file) {
  for (const auto& [name, entry] : file.tensors()) {
    tensors_.emplace(name, entry);
    file_of_.emplace(name, files_.size());
  }
  files_.push_back(std::move(file));
}

const TensorEntry& ModelWeights::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw Error(fmt::format("has no tensor {}", in_quotes(name)), where_);
  return found->second;
}

void ModelWeights::read(const std::string& name, std::span<std::byte> out) const {
  at(name);
  files_[file_of_.at(name)].read(name, out);
}

std::uint64_t ModelWeights::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [_, entry] : tensors_) sum += entry.size();
  return sum;
}

}  // namespace harness
