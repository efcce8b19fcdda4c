#include "core/model_weights.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <set>

#include "core/error.h"
#include "core/json.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// The index's map from tensor to shard, checked.
std::map<std::string, std::string> read_index(const fs::path& file) {
  const Json document = read_json(file);
  Fields fields(document, file.string());
  if (fields.has("metadata")) fields.get("metadata");
  Fields names = fields.object("weight_map");
  fields.finish();
  std::map<std::string, std::string> shards;
  for (const auto& name : names.keys()) {
    const auto shard = names.required<std::string>(name);
    if (shard.empty() || shard.find('/') != std::string::npos || shard.starts_with("."))
      throw Error(fmt::format("\"{}\" is not the name of a file beside it", shard), names.where());
    shards[name] = shard;
  }
  if (shards.empty()) throw Error("names no tensor", names.where());
  return shards;
}

}  // namespace

ModelWeights ModelWeights::open(const fs::path& folder, const std::string& stem) {
  ModelWeights weights;
  const auto file = folder / (stem + ".safetensors"), index = folder / (stem + ".safetensors.index.json");
  if (fs::exists(file) || !fs::exists(index)) {
    weights.where_ = file.string();
    weights.files_.emplace_back(file);
    weights.tensors_ = weights.files_[0].tensors();
    return weights;
  }
  weights.where_ = index.string();
  const auto shards = read_index(index);
  std::set<std::string> names;
  for (const auto& [_, shard] : shards) names.insert(shard);
  for (const auto& shard : names) {
    const auto& opened = weights.files_.emplace_back(folder / shard);
    for (const auto& [name, view] : opened.tensors()) {
      const auto found = shards.find(name);
      if (found == shards.end() || found->second != shard) {
        throw Error(fmt::format("{} holds \"{}\", which the index {}", shard, name,
                                found == shards.end() ? "does not name" : "puts into " + found->second),
                    weights.where_, "index and shards are not of one model; fetch the folder again");
      }
      weights.tensors_.emplace(name, view);
    }
  }
  for (const auto& [name, shard] : shards) {
    if (!weights.tensors_.contains(name)) {
      throw Error(fmt::format("puts \"{}\" into {}, which does not hold it", name, shard), weights.where_,
                  "index and shards are not of one model; fetch the folder again");
    }
  }
  return weights;
}

std::uint64_t ModelWeights::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [_, view] : tensors_) sum += view.bytes.size();
  return sum;
}

void ModelWeights::forget(const std::string& name) const {
  const auto bytes = tensors_.at(name).bytes;
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  // Whole pages only: the ends may hold parts of other tensors.
  const auto begin = (reinterpret_cast<std::uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace harness
