#include <gtest/gtest.h>

#include "models/loading.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using torch::Tensor;

constexpr auto kPooledCase = "clip_text_pooled", kProjectionCase = "clip_text_projection_gelu";

Tensor case_ids(const std::string& name) {
  return load_tensors(case_folder(name) / "inputs.safetensors").at("input_ids");
}

ClipTextOutput run_folder(const fs::path& folder, const Tensor& ids, const Placement& placement = {}) {
  const torch::NoGradGuard no_grad;
  return load_clip_text_model(folder, placement)->forward(ids);
}

ClipTextOutput run(const std::string& name, const Tensor& ids, const Placement& placement = {}) {
  return run_folder(case_folder(name) / "model", ids, placement);
}

ClipTextConfig config_with(const Json& patch) {
  auto document = read_json(case_folder(kPooledCase) / "model/config.json");
  document.merge_patch(patch);
  return ClipTextConfig::from_json(document, "config.json");
}

TEST(ClipTextModel, KeysWithAndWithoutTheTowersPrefixAreTheSameWeights) {
  for (const char* name : {kPooledCase, kProjectionCase}) {
    const ModelCopy copy(name);
    const auto ids = case_ids(name);
    const auto before = run_folder(copy.folder(), ids);
    TensorMap renamed;
    const std::string prefix = "text_model.";
    for (const auto& [key, tensor] : load_tensors(copy.folder() / "model.safetensors")) {
      if (key.starts_with("text_projection")) {
        renamed[key] = tensor;
      } else {
        renamed[key.starts_with(prefix) ? key.substr(prefix.size()) : prefix + key] = tensor;
      }
    }
    save_tensors(copy.folder() / "model.safetensors", renamed);
    EXPECT_TRUE(run_folder(copy.folder(), ids).pooled.equal(before.pooled)) << name;
  }
}

TEST(ClipTextModel, OneWeightUnderBothKeysIsAnError) {
  const ModelCopy copy(kProjectionCase);
  auto weights = load_tensors(copy.folder() / "model.safetensors");
  weights["final_layer_norm.bias"] = weights.at("text_model.final_layer_norm.bias");
  save_tensors(copy.folder() / "model.safetensors", weights);
  EXPECT_PROBLEM(
      message_of([&] { load_clip_text_model(copy.folder()); }),
      "\"final_layer_norm.bias\" and \"text_model.final_layer_norm.bias\", which are the same weight");
}

TEST(ClipTextModel, StoredPositionIdsAreIgnored) {
  for (const char* key : {"embeddings.position_ids", "text_model.embeddings.position_ids"}) {
    const ModelCopy copy(kPooledCase);
    auto weights = load_tensors(copy.folder() / "model.safetensors");
    weights[key] = torch::arange(77).unsqueeze(0);
    save_tensors(copy.folder() / "model.safetensors", weights);
    EXPECT_EQ(message_of([&] { load_clip_text_model(copy.folder()); }), "");
  }
}

TEST(ClipTextModel, ShardsLoadLikeOneFile) {
  const ModelCopy copy(kProjectionCase);
  const auto ids = case_ids(kProjectionCase);
  const auto before = run_folder(copy.folder(), ids);
  TensorMap shards[2];
  Json index{{"metadata", {{"total_size", 1}}}, {"weight_map", Json::object()}};
  std::size_t count = 0;
  for (const auto& [key, tensor] : load_tensors(copy.folder() / "model.safetensors")) {
    const auto shard = count++ % 2;
    shards[shard][key] = tensor;
    index["weight_map"][key] = fmt::format("model-0000{}-of-00002.safetensors", shard + 1);
  }
  fs::remove(copy.folder() / "model.safetensors");
  for (std::size_t i = 0; i < 2; ++i)
    save_tensors(copy.folder() / fmt::format("model-0000{}-of-00002.safetensors", i + 1), shards[i]);
  copy.write("model.safetensors.index.json", index.dump());
  EXPECT_TRUE(run_folder(copy.folder(), ids).text_embeds.equal(before.text_embeds));
}

TEST(ClipTextModel, AProjectionIsThereIfAndOnlyIfTheConfigurationNamesIt) {
  EXPECT_FALSE(run(kPooledCase, case_ids(kPooledCase)).text_embeds.defined());
  EXPECT_FALSE(config_with({{"architectures", nullptr}}).with_projection);
  const ModelCopy with(kProjectionCase);
  with.edit("config.json", {{"architectures", {"CLIPTextModel"}}});
  EXPECT_PROBLEM(message_of([&] { load_clip_text_model(with.folder()); }),
                 "unexpected \"text_projection.weight\"");
  const ModelCopy without(kPooledCase);
  without.edit("config.json", {{"architectures", {"CLIPTextModelWithProjection"}}});
  EXPECT_PROBLEM(message_of([&] { load_clip_text_model(without.folder()); }),
                 "missing text_projection.weight");
}

TEST(ClipTextModel, PoolsWhereTheEndTokenIs) {
  struct Row {
    const char* name;
    std::int64_t eos;
    std::vector<std::int64_t> ids;
    int place;
  };
  for (const auto& [name, eos, ids, place] :
       {Row{"eos_token_id 2: the first of the largest id", 2, {5, 2, 90, 7, 90, 2}, 2},
        {"any other: its first place", 7, {5, 2, 90, 7, 90, 7}, 3},
        {"none: position 0, as the reference", 8, {5, 2, 90, 7, 90, 7}, 0}}) {
    const ModelCopy copy(kPooledCase);
    copy.edit("config.json", {{"eos_token_id", eos}});
    const auto out = run_folder(copy.folder(), torch::tensor(ids, torch::kInt64).unsqueeze(0));
    EXPECT_TRUE(out.pooled[0].equal(out.last_hidden_state[0][place])) << name;
  }
}

TEST(ClipTextModel, ARowDoesNotDependOnItsNeighbours) {
  const auto ids = case_ids(kProjectionCase);
  const auto last = ids.size(0) - 1;
  const auto here = run(kProjectionCase, ids), there = run(kProjectionCase, ids.flip(0));
  EXPECT_TRUE(here.text_embeds[0].equal(there.text_embeds[last]));
  EXPECT_TRUE(here.penultimate[0].equal(there.penultimate[last]));
}

TEST(ClipTextModel, HalfPrecisionIsNearFloat32) {
  const auto ids = case_ids(kProjectionCase);
  const auto exact = run(kProjectionCase, ids).text_embeds;
  for (const auto& [dtype, digits] : {std::pair(torch::kBFloat16, 0.05), std::pair(torch::kFloat16, 0.01)}) {
    const auto rough = run(kProjectionCase, ids, {.dtype = dtype}).text_embeds;
    EXPECT_EQ(rough.scalar_type(), dtype);
    const auto error = (rough.to(torch::kFloat32) - exact).abs().max() / exact.abs().max();
    EXPECT_LT(error.item<double>(), digits);
    EXPECT_GT(error.item<double>(), 0);
  }
}

TEST(ClipTextModel, TheInputOfAnOnlyLayerIsTheSumOfTheEmbeddings) {
  const torch::NoGradGuard no_grad;
  const auto config = config_with({{"num_hidden_layers", 1}});
  ClipTextModel model(config);
  for (auto& p : model->parameters()) p.fill_(0.25);
  const auto out = model->forward(torch::tensor({{1, 2, 3}}, torch::kInt64));
  EXPECT_TRUE(out.penultimate.equal(torch::full({1, 3, config.hidden_size}, 0.5)));
}

}  // namespace
}  // namespace harness
