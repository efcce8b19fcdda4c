#include "models/nn/lora.h"

#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include <atomic>
#include <cmath>

#include "core/files.h"
#include "models/diffusion/sd3_transformer.h"
#include "models/loading.h"
#include "models/nn/lora_shapes.h"
#include "models/nn/random_weights.h"
#include "tests/recorded_cases.h"
#include "tests/refusals.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using torch::Tensor;

const fs::path kLoraCase = case_folder("lora_sd3");

/// Of the case's configuration.
Sd3Transformer small_transformer() {
  torch::set_num_threads(1);
  const auto file = kLoraCase / "model/config.json";
  Sd3Transformer model(Sd3Config::from_json(read_json(file), file.string()));
  initialise_uniform(*model, 5);
  return model;
}

LoraConfig small_lora() {
  return {.rank = 3, .alpha = 5};
}

/// Values for A and B, so that the adapter does something.
void randomise(const LoraAdapter& adapter, std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  auto random = seeded_generator(seed);
  for (const auto& p : adapter.parameters()) torch::Tensor(p.tensor).normal_(0, 0.3, random);
}

struct Inputs {
  Tensor latents, text, pooled, time;

  static Inputs make() {
    auto random = seeded_generator(9);
    const auto normal = [&](at::IntArrayRef shape) { return torch::empty(shape).normal_(0, 1, random); };
    return {normal({2, 16, 6, 8}), normal({2, 5, 12}), normal({2, 10}), torch::tensor({20.5F, 800.25F})};
  }
  Inputs to(torch::ScalarType dtype) const {
    return {latents.to(dtype), text.to(dtype), pooled.to(dtype), time.to(dtype)};
  }
};

Tensor velocity(Sd3Transformer& model, const Inputs& x) {
  return model->forward(x.latents, x.text, x.pooled, x.time);
}

std::vector<Tensor> tensors_of(const LoraAdapter& adapter) {
  std::vector<Tensor> tensors;
  for (const auto& p : adapter.parameters()) tensors.push_back(p.tensor);
  return tensors;
}

/// Same bits.
bool identical(const Tensor& a, const Tensor& b) {
  const auto bytes = [](const Tensor& t) { return t.detach().contiguous().view(torch::kUInt8); };
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && bytes(a).equal(bytes(b));
}

TEST(LoraAdapter, OfTheFlowGrpoTargetsHas191LayersAnd18776064ParametersOnStableDiffusion35Medium) {
  const WithoutParameterMemory no_memory;
  Sd3Config config;
  config.num_layers = 24;
  config.num_attention_heads = 24;
  config.caption_projection_dim = config.width();
  config.pos_embed_max_size = 384;
  for (std::int64_t i = 0; i < 13; ++i) config.dual_attention_layers.push_back(i);
  config.qk_norm = true;
  Sd3Transformer model(config);
  const LoraAdapter adapter(*model, LoraConfig(), "test");
  std::int64_t parameters = 0;
  for (const auto& p : adapter.parameters()) parameters += p.tensor.numel();
  EXPECT_EQ(adapter.layers(), 191U);
  EXPECT_EQ(parameters, 18776064);
}

TEST(LoraAdapter, LeavesTheOutputsBitsAsTheyAreWhileBIsZero) {
  auto model = small_transformer();
  const auto x = Inputs::make();
  const torch::NoGradGuard no_grad;
  const auto before = velocity(model, x);
  LoraAdapter adapter(*model, small_lora(), "test");
  adapter.initialise(3);
  EXPECT_TRUE(identical(velocity(model, x), before));
}

TEST(LoraAdapter, StartsWithNormalAOfDeviationOneOverRankAndZeroBFromItsSeed) {
  auto model = small_transformer();
  auto config = small_lora();
  config.rank = 16;
  LoraAdapter adapter(*model, config, "test");
  adapter.initialise(3);
  std::vector<Tensor> first, a;
  for (const auto& p : adapter.parameters()) {
    first.push_back(p.tensor.detach().clone());
    if (p.name.ends_with("lora_A.weight")) a.push_back(first.back().flatten());
    if (p.name.ends_with("lora_B.weight")) {
      EXPECT_EQ(p.tensor.abs().max().item<float>(), 0) << p.name;
    }
  }
  const auto drawn = torch::cat(a);  // 3840 numbers
  EXPECT_NEAR(drawn.std().item<double>(), 1.0 / 16, 0.003);
  EXPECT_NEAR(drawn.mean().item<double>(), 0, 0.004);
  randomise(adapter, 8);
  adapter.initialise(3);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(identical(tensors_of(adapter)[i], first[i]));
  adapter.initialise(4);
  EXPECT_FALSE(identical(tensors_of(adapter)[0], first[0]));
}

std::atomic<int> products = 0;

std::unique_ptr<at::ObserverContext> count_product(const at::RecordFunction& function) {
  if (std::string_view(function.name()) == "mkldnn::_linear_pointwise") ++products;
  return nullptr;
}

TEST(LoraAdapter, NeitherAsksForNorComputesGradientsOfTheBaseWeights) {
  auto holder = std::make_shared<torch::nn::Module>();
  const auto dense = holder->register_module("to_q", Dense(12, 8));
  torch::nn::init::normal_(dense->weight.detach());
  LoraConfig config{.rank = 2, .alpha = 3, .target_modules = {"to_q"}};
  LoraAdapter adapter(*holder, config, "test");
  randomise(adapter, 8);
  EXPECT_FALSE(dense->weight.requires_grad());
  EXPECT_FALSE(dense->bias.requires_grad());
  const auto x = torch::randn({4, 12}).requires_grad_();
  const auto loss = dense->forward(x).square().sum();
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(count_product));
  products = 0;
  loss.backward();
  at::removeCallback(handle);
  EXPECT_EQ(products, 5);  // of x by W and A, of A, of A x, of B; not of W
  EXPECT_FALSE(dense->weight.grad().defined());
  EXPECT_FALSE(dense->bias.grad().defined());
  for (const auto& p : adapter.parameters()) EXPECT_TRUE(p.tensor.grad().defined()) << p.name;
}

TEST(LoraAdapter, ComputedInFloat32IsRoundedOnceUnderABfloat16Base) {
  auto holder = std::make_shared<torch::nn::Module>();
  const auto dense = holder->register_module("to_q", Dense(32, 24));
  auto random = seeded_generator(2);
  dense->weight.detach().normal_(0, 0.2, random);
  holder->to(torch::kBFloat16);
  LoraAdapter adapter(*holder, {.rank = 4, .alpha = 6, .target_modules = {"to_q"}}, "test");
  adapter.compute_in(torch::kFloat32);
  randomise(adapter, 8);
  const auto a = tensors_of(adapter)[0], b = tensors_of(adapter)[1];
  ASSERT_EQ(a.scalar_type(), torch::kFloat32);
  const auto x = torch::empty({5, 32}).normal_(0, 1, random).to(torch::kBFloat16);
  const auto base = torch::linear(x, dense->weight, dense->bias);
  const auto sum =
      base.to(torch::kFloat64) +
      torch::linear(torch::linear(x.to(torch::kFloat64), a.to(torch::kFloat64)), b.to(torch::kFloat64)) * 1.5;
  const auto y = dense->forward(x);
  EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
  EXPECT_TRUE(identical(y, sum.to(torch::kFloat32).to(torch::kBFloat16)));
  const auto gradients = torch::autograd::grad({y.to(torch::kFloat32).square().sum()}, {a, b});
  for (const auto& g : gradients) EXPECT_EQ(g.scalar_type(), torch::kFloat32);
}

TEST(LoraAdapter, MergesIntoTheRoundedSumAndUnmergesToTheOriginalBits) {
  for (const auto dtype : {torch::kFloat32, torch::kBFloat16}) {
    auto model = small_transformer();
    model->to(dtype);
    const auto x = Inputs::make().to(dtype);
    const torch::NoGradGuard no_grad;
    TensorMap before;
    for (const auto& [name, tensor] : state_of(*model)) before[name] = tensor.clone();
    LoraAdapter adapter(*model, small_lora(), "test");
    randomise(adapter, 8);
    const auto unmerged = velocity(model, x);
    adapter.merge();
    EXPECT_TRUE(adapter.is_merged());
    const auto parameters = adapter.parameters();
    const std::string layer = "transformer_blocks.0.attn.to_q";
    ASSERT_EQ(parameters[0].name, layer + ".lora_A.weight");
    const auto merged_weight = state_of(*model).at(layer + ".weight");
    const auto sum =
        before.at(layer + ".weight").to(torch::kFloat64) +
        parameters[1].tensor.to(torch::kFloat64).mm(parameters[0].tensor.to(torch::kFloat64)) * (5.0 / 3);
    EXPECT_EQ(merged_weight.scalar_type(), dtype);
    EXPECT_TRUE(torch::allclose(merged_weight.to(torch::kFloat64), sum,
                                dtype == torch::kFloat32 ? 1e-6 : 4e-3, 1e-6));
    const auto merged = velocity(model, x);
    const double scale = unmerged.abs().max().item<double>();
    EXPECT_LT((merged - unmerged).abs().max().item<double>(),
              (dtype == torch::kFloat32 ? 1e-5 : 5e-2) * scale);
    adapter.unmerge();
    for (const auto& [name, tensor] : state_of(*model))
      EXPECT_TRUE(identical(tensor, before.at(name))) << name;
    EXPECT_TRUE(identical(velocity(model, x), unmerged));
  }
}

// Full width, an update as small as those of a training's first steps: why evaluations merge float32 alone.
TEST(LoraAdapter, MergedIntoBfloat16LosesMuchOfASmallUpdate) {
  constexpr std::int64_t kWidth = 1536;
  auto holder = std::make_shared<torch::nn::Module>();
  const auto dense = holder->register_module("to_q", Dense(kWidth, kWidth));
  auto random = seeded_generator(2);
  dense->weight.detach().normal_(0, 0.025, random);
  const auto x = torch::empty({64, kWidth}).normal_(0, 1, random);
  const auto lost = [&](torch::ScalarType type) {
    holder->to(type);
    const torch::NoGradGuard no_grad;
    const auto base = dense->forward(x.to(type)).to(torch::kFloat32);
    LoraAdapter adapter(*holder, {.rank = 32, .alpha = 64, .target_modules = {"to_q"}}, "test");
    adapter.compute_in(torch::kFloat32);
    tensors_of(adapter)[0].normal_(0, 1.0 / 32, random);
    tensors_of(adapter)[1].normal_(0, 3e-4, random);
    const auto kept_apart = dense->forward(x.to(type)).to(torch::kFloat32);
    EXPECT_EQ(adapter.merges_exactly(), type == torch::kFloat32);
    adapter.merge();
    const auto merged = dense->forward(x.to(type)).to(torch::kFloat32);
    return ((merged - kept_apart).norm() / (kept_apart - base).norm()).item<double>();
  };
  EXPECT_LT(lost(torch::kFloat32), 1e-3);
  EXPECT_GT(lost(torch::kBFloat16), 0.02);
}

TEST(LoraAdapter, IsNoPartOfTheModulesStateAndLeavesTheModelAsItWas) {
  auto model = small_transformer();
  const auto x = Inputs::make();
  std::vector<std::string> keys, keys_with;
  for (const auto& [name, tensor] : state_of(*model)) keys.push_back(name);
  const auto before = velocity(model, x).detach();
  {
    LoraAdapter adapter(*model, small_lora(), "test");
    randomise(adapter, 8);
    for (const auto& [name, tensor] : state_of(*model)) keys_with.push_back(name);
    EXPECT_EQ(keys_with, keys);
    EXPECT_FALSE(identical(velocity(model, x), before));
    {
      const WithoutLowRank base_model;
      EXPECT_TRUE(identical(velocity(model, x), before));
    }
    EXPECT_FALSE(identical(velocity(model, x), before));
    adapter.merge();
  }
  EXPECT_TRUE(identical(velocity(model, x), before));
  for (const auto& p : model->parameters()) EXPECT_TRUE(p.requires_grad());
}

TEST(LoraAdapter, RefusesTargetsThatMatchNothingOrNoLinearLayer) {
  auto model = small_transformer();
  const auto attach = [&](std::vector<std::string> targets) {
    const LoraConfig config{.target_modules = std::move(targets)};
    return message_of([&] { LoraAdapter(*model, config, "lora_targets"); });
  };
  EXPECT_EQ(attach({"attn.to_q", "attn.to_qq"}),
            "lora_targets: target \"attn.to_qq\" matches no layer; did you mean \"attn.to_q\"?");
  EXPECT_EQ(
      attach({"pos_embed.proj"}),
      "lora_targets: target \"pos_embed.proj\" matches \"pos_embed.proj\", which is not a linear layer");
  EXPECT_EQ(attach({}), "lora_targets: names no target modules");
  EXPECT_THAT(attach({"ttn.to_q"}), HasSubstr("matches no layer"));  // a suffix counts after a dot only
  EXPECT_EQ(attach({"attn.to_q"}), "");
  for (const auto& [config, expected] : {std::pair(LoraConfig{.rank = 0}, "x: rank 0 is out of range"),
                                         {LoraConfig{.rank = 4, .alpha = -1}, "x: alpha -1 is not above 0"}})
    EXPECT_EQ(message_of([&] { LoraAdapter(*model, config, "x"); }), expected);
}

TEST(LoraFiles, ReadBackWhatWasWrittenInBothForms) {
  for (const auto form : {LoraForm::kPeft, LoraForm::kDiffusers}) {
    const TemporaryFolder scratch;
    const auto& folder = scratch.path();
    auto model = small_transformer();
    auto config = small_lora();
    config.alpha = 2.5;
    std::vector<NamedTensor> written;
    {
      LoraAdapter adapter(*model, config, "test");
      randomise(adapter, 8);
      written = adapter.parameters();
      save_lora(folder, config, written, form);
    }
    const auto adapter = load_lora(folder, *model);
    EXPECT_EQ(adapter->config().to_json(), config.to_json());
    const auto read = adapter->parameters();
    ASSERT_EQ(read.size(), written.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      EXPECT_EQ(read[i].name, written[i].name);
      EXPECT_TRUE(identical(read[i].tensor, written[i].tensor)) << read[i].name;
      EXPECT_TRUE(read[i].tensor.requires_grad());
    }
  }
}

TEST(LoraFiles, RefuseEveryFieldThatPlainLoraDoesNotHave) {
  const auto refusal = [](const std::string& changes) {
    auto document = read_json(kLoraCase / "adapter/adapter_config.json");
    document.update(Json::parse(changes));
    return message_of([&] { LoraConfig::from_json(document, "c"); });
  };
  for (const char* field :
       {R"("use_dora": true)", R"("use_rslora": "yes")", R"("fan_in_fan_out": true)", R"("lora_bias": true)",
        R"("layer_replication": [[0,4]])", R"("modules_to_save": ["proj_out"])",
        R"("layers_to_transform": [0])", R"("exclude_modules": ["attn2"])", R"("invented_option": 3)"}) {
    std::string told = field;
    told.replace(told.find(':'), 1, " =");
    EXPECT_EQ(refusal(std::string("{") + field + "}"),
              "c: " + told + " is not implemented; plain LoRA alone is: null, false or empty");
  }
  for (const auto& [changes, expected] : std::vector<std::pair<std::string, std::string>>{
           {"{}", ""},
           {R"({"peft_version": "9", "base_model_name_or_path": "x", "use_dora": null})", ""},
           {R"({"bias": "all"})", "c: \"bias\" = \"all\" is not implemented; known: \"none\""},
           {R"({"target_modules": "all-linear"})",
            "c: \"target_modules\" = \"all-linear\" is not implemented; give a list of names of modules"},
           {R"({"init_lora_weights": "pissa"})",
            "c: \"init_lora_weights\" = \"pissa\" is not implemented; known: true, false, \"gaussian\"; "
            "others may change the base model's weights too"},
           {R"({"lora_dropout": 0.1})", ""},
           {R"({"lora_dropout": "much"})", "c: \"lora_dropout\" has the wrong type (string)"},
           {R"({"peft_type": "IA3"})", "c: is an adapter of type IA3, not LORA"},
           {R"({"r": 0})", "c: rank 0 is out of range"},
           {R"({"r": "4"})", "c: \"r\" has the wrong type (string)"},
           {R"({"lora_alpha": 0})", "c: alpha 0 is not above 0"},
           {R"({"rank_pattern": {"to_q": 0}})", "c: rank_pattern: to_q: rank 0 is out of range"},
           {R"({"rank_pattern": {"to_q": "8"}})", "c: rank_pattern: \"to_q\" has the wrong type (string)"},
           {R"({"alpha_pattern": {"to_q": -1}})", "c: alpha_pattern: to_q: alpha -1 is not above 0"},
           {R"({"rank_pattern": {"to_q": 8}, "alpha_pattern": {}, "use_rslora": true})", ""},
           {R"({"target_modules": []})", "c: names no target modules"}})
    EXPECT_EQ(refusal(changes), expected) << changes;
}

/// Message of loading the case's adapter after `change` was made to its tensors.
std::string loading_with(const std::function<void(TensorMap&)>& change) {
  const TemporaryFolder scratch;
  const auto& folder = scratch.path();
  auto tensors = load_tensors(kLoraCase / "adapter/adapter_model.safetensors");
  change(tensors);
  save_tensors(folder / "adapter_model.safetensors", tensors);
  fs::copy_file(kLoraCase / "adapter/adapter_config.json", folder / "adapter_config.json");
  auto model = small_transformer();
  return message_of([&] { load_lora(folder, *model); });
}

TEST(LoraFiles, NameMissingExtraAndWronglyShapedTensors) {
  const std::string layer = "base_model.model.transformer_blocks.0.attn.to_k", a = layer + ".lora_A.weight",
                    extra = layer + ".lora_magnitude_vector", foreign = "proj_out.lora_A.weight";
  const auto with = [](const std::string& key, std::vector<std::int64_t> shape, torch::ScalarType type) {
    return loading_with([&](TensorMap& t) { t[key] = torch::ones(shape, type); });
  };
  EXPECT_EQ(loading_with([](TensorMap&) {}), "");
  EXPECT_THAT(
      loading_with([&](TensorMap& t) { t.erase(layer + ".lora_B.weight"); }),
      HasSubstr("missing transformer_blocks.0.attn.to_k.lora_B.weight; check adapter_config.json beside it"));
  EXPECT_THAT(with(extra, {16}, torch::kFloat32), HasSubstr("unexpected \"" + extra + "\""));
  EXPECT_THAT(with(foreign, {3, 16}, torch::kFloat32), HasSubstr("unexpected \"" + foreign + "\""));
  EXPECT_THAT(with(a, {4, 16}, torch::kFloat32),
              HasSubstr("wrong shape: \"" + a + "\" [4, 16] instead of [3, 16]"));
  EXPECT_THAT(with(a, {3, 16}, torch::kInt64), HasSubstr("wrong dtype: \"" + a + "\" I64"));
}

TEST(LoraFiles, WidenHalfPrecisionMatrices) {
  const TemporaryFolder scratch;
  const auto& folder = scratch.path();
  auto model = small_transformer();
  std::vector<NamedTensor> halves;
  {
    LoraAdapter adapter(*model, small_lora(), "test");
    randomise(adapter, 8);
    for (const auto& [name, tensor] : adapter.parameters())
      halves.push_back({name, tensor.to(torch::kBFloat16)});
  }
  save_lora(folder, small_lora(), halves);
  const auto adapter = load_lora(folder, *model);
  EXPECT_TRUE(identical(tensors_of(*adapter)[1], halves[1].tensor.to(torch::kFloat32)));
}

/// A file of diffusers' form without metadata, after `change`, loaded: its alpha, or the message.
std::string diffusers_alpha(const std::function<void(TensorMap&)>& change,
                            const std::map<std::string, std::string>& metadata = {}) {
  const TemporaryFolder scratch;
  const auto& folder = scratch.path();
  auto model = small_transformer();
  {
    LoraAdapter adapter(*model, small_lora(), "test");
    save_lora(folder, adapter.config(), adapter.parameters(), LoraForm::kDiffusers);
  }
  const auto file = folder / "pytorch_lora_weights.safetensors";
  auto tensors = load_tensors(file);
  change(tensors);
  save_tensors(file, tensors, metadata);
  std::string answer;
  const auto message =
      message_of([&] { answer = fmt::format("{}", load_lora(folder, *model)->config().alpha); });
  return answer.empty() ? message : answer;
}

void set_alphas(TensorMap& tensors, double alpha) {
  TensorMap alphas;
  constexpr std::string_view kEnd = ".lora_A.weight";
  for (const auto& [name, tensor] : tensors) {
    if (name.ends_with(kEnd))
      alphas[name.substr(0, name.size() - kEnd.size()) + ".alpha"] = torch::tensor(static_cast<float>(alpha));
  }
  tensors.merge(alphas);
}

TEST(LoraFiles, OfDiffusersTakeAlphaFromMetadataOrAlphaTensorsOrTheRank) {
  const std::string layer = "transformer.transformer_blocks.0.attn.to_k";
  const auto with = [&](const std::string& key, const Tensor& tensor) {
    return diffusers_alpha([&](TensorMap& t) { t[key] = tensor; });
  };
  const auto with_alphas = [](TensorMap& t) { set_alphas(t, 7); };
  EXPECT_EQ(diffusers_alpha([](TensorMap&) {}), "3");
  EXPECT_EQ(diffusers_alpha(with_alphas), "7");
  EXPECT_EQ(diffusers_alpha([&](TensorMap& t) {
              set_alphas(t, 7);
              t[layer + ".alpha"] = torch::tensor(8.0F);
            }),
            "7")
      << "what most layers have";
  EXPECT_THAT(diffusers_alpha([&](TensorMap& t) {
                set_alphas(t, 7);
                t[layer + ".alpha"] = torch::tensor(std::nanf(""));
              }),
              HasSubstr("alpha_pattern: ^transformer_blocks.0.attn.to_k: alpha nan is not above 0"));
  EXPECT_THAT(with(layer + ".alpha", torch::tensor(8.0F)), HasSubstr("holds 1 alphas for 15 layers"));
  EXPECT_THAT(
      with(layer + ".lora_A.weight", torch::ones({4, 16})),
      HasSubstr("layer \"transformer_blocks.0.attn.to_k\" has matrices of different ranks: A of 4, B of 3"));
  EXPECT_THAT(with("text_encoder.q.lora_A.weight", torch::ones({3, 4})),
              HasSubstr("unexpected \"text_encoder.q.lora_A.weight\""));
  EXPECT_THAT(diffusers_alpha([](TensorMap& t) {
                t = {{"x", torch::ones({1})}};
              }),
              HasSubstr("holds no LoRA matrix of a transformer"));
  const auto described = [](const Json& metadata) {
    return std::map<std::string, std::string>{{"lora_adapter_metadata", metadata.dump()}};
  };
  Json metadata = {{"transformer.r", 3}, {"transformer.lora_alpha", 11}};
  metadata["transformer.target_modules"] = small_lora().target_modules;
  EXPECT_EQ(diffusers_alpha([](TensorMap&) {}, described(metadata)), "11");
  EXPECT_THAT(diffusers_alpha(with_alphas, described(metadata)),
              HasSubstr("unexpected \"transformer.transformer_blocks.0.attn.add_k_proj.alpha\""));
  metadata["text_encoder.r"] = 3;
  EXPECT_THAT(
      diffusers_alpha([](TensorMap&) {}, described(metadata)),
      HasSubstr("lora_adapter_metadata: \"text_encoder.r\" is not of the transformer; adapters of text "
                "encoders are not implemented"));
}

TEST(LoraFiles, TakeAlphaFromTheHeaderWhereNothingElseNamesIt) {
  using Metadata = std::map<std::string, std::string>;
  const auto loaded = [](const Metadata& metadata) { return diffusers_alpha([](TensorMap&) {}, metadata); };
  for (const auto& metadata : std::vector<Metadata>{
           {{"lora_alpha", "8"}, {"r", "3"}},
           {{"transformer.lora_alpha", " 8.0 "}, {"transformer.r", "3"}},
           {{"ss_network_alpha", "8"}, {"ss_network_dim", "3"}, {"ss_alpha_mask", "False"}},
           {{"network_alpha", "8"}, {"conv_alpha", "1"}},
           {{"LoRA_Alpha", "8"}},
           {{"lora.alpha", "8"}},
           {{"config", R"({"network": {"type": "lora", "linear": 3, "linear_alpha": 8}})"}},
           {{"peft_config",
             R"({"r": 3, "lora_alpha": 8, "alpha_pattern": {}, "target_modules": ["to_q"]})"}}})
    EXPECT_EQ(loaded(metadata), "8") << metadata.begin()->first;
  for (const auto& metadata :
       std::vector<Metadata>{{{"lora_alpha", "None"}, {"text_encoder.lora_alpha", "16"}},
                             {{"lora_alpha", "3"}, {"r", "3"}, {"scale", "1.0"}},
                             {{"ss_tag_frequency", R"({"1_x": {"alpha": 4, "rank": 9}})"}},
                             {{"alpha_pattern", "{}"}, {"software", R"({"name": "x"})"}}})
    EXPECT_EQ(loaded(metadata), "3") << metadata.begin()->first;
  for (const auto& [metadata, problem] : std::vector<std::pair<Metadata, std::string>>{
           {{{"lora_alpha", "eight"}},
            "its header names \"lora_alpha\" = eight, which is not a number above 0"},
           {{{"lora_alpha", "-8"}}, "which is not a number above 0"},
           {{{"ss_network_alpha", "Dynamic"}}, "which is not a number above 0"},
           {{{"lora_alpha", "8"}, {"network_alpha", "16"}}, "which one counts?"},
           {{{"lora_alpha", "8"}, {"r", "16"}}, "\"r\" = 16, and its matrices have rank 3"},
           {{{"lora_scale", "0.5"}}, "\"lora_scale\" = 0.5, and a scale of 1 follows from its matrices"},
           {{{"use_rslora", "true"}}, "sets use_rslora, but alpha is missing"},
           {{{"lora_alpha", "8"}, {"alpha_pattern", R"({"to_q": 2})"}}, "which is not read there"}})
    EXPECT_THAT(loaded(metadata), HasSubstr(problem));
  const auto with_alphas = [](TensorMap& t) { set_alphas(t, 7); };
  EXPECT_EQ(diffusers_alpha(with_alphas, {{"ss_network_alpha", "7"}}), "7");
  EXPECT_EQ(diffusers_alpha(with_alphas, {{"ss_network_alpha", "Dynamic"}}), "7");
  EXPECT_THAT(diffusers_alpha(with_alphas, {{"lora_alpha", "8"}}),
              HasSubstr("its header names \"lora_alpha\" = 8, and alpha is 7"));
  EXPECT_THAT(diffusers_alpha(
                  [](TensorMap& t) {
                    const std::string layer = "transformer.transformer_blocks.0.attn.to_k";
                    t[layer + ".lora_A.weight"] = torch::ones({4, 16});
                    t[layer + ".lora_B.weight"] = torch::ones({16, 4});
                  },
                  {{"lora_alpha", "8"}}),
              HasSubstr("for matrices of ranks 3, 4: the scale of each layer is not known"));
}

/// A file of diffusers' form with other names, loaded: the adapter's alpha and the sum of its matrices, or
/// the message.
std::string with_other_names(const std::function<std::string(const std::string& name)>& renamed,
                             double alpha) {
  const TemporaryFolder scratch;
  auto model = small_transformer();
  TensorMap tensors;
  double expected = 0;
  {
    LoraAdapter adapter(*model, small_lora(), "test");
    adapter.initialise(7);
    for (const auto& [name, tensor] : adapter.parameters()) {
      tensors["transformer." + name] = tensor.detach() + 0.5;
      expected += tensors["transformer." + name].sum().item<double>();
    }
  }
  if (alpha > 0) set_alphas(tensors, alpha);
  TensorMap others;
  for (const auto& [name, tensor] : tensors) others[renamed(name.substr(12))] = tensor;
  const auto file = scratch.path() / "lora-000040.safetensors";
  save_tensors(file, others);
  std::string answer;
  const auto message = message_of([&] {
    const auto adapter = load_lora(file, *model);
    double sum = 0;
    for (const auto& [_, tensor] : adapter->parameters()) sum += tensor.sum().item<double>();
    answer = fmt::format("{} {}", adapter->config().alpha,
                         std::abs(sum - expected) < 1e-3 ? "equal" : "other matrices");
  });
  return answer.empty() ? message : answer;
}

TEST(LoraFiles, AreReadWithTheNamesThatAModelOrKohyaWritesToo) {
  EXPECT_EQ(with_other_names([](const std::string& name) { return name; }, 0), "3 equal")
      << "save_lora_adapter of a model of diffusers writes no prefix";
  const auto kohya = [](std::string name) {
    for (const auto& [part, theirs] :
         {std::pair{".lora_A.weight", ".lora_down.weight"}, std::pair{".lora_B.weight", ".lora_up.weight"},
          std::pair{".alpha", ".alpha"}}) {
      if (!name.ends_with(part)) continue;
      name.resize(name.size() - std::string(part).size());
      std::ranges::replace(name, '.', '_');
      return "lora_unet_" + name + theirs;
    }
    return name;
  };
  EXPECT_EQ(with_other_names(kohya, 0), "3 equal");
  EXPECT_EQ(with_other_names(kohya, 6), "6 equal");
  EXPECT_THAT(with_other_names(
                  [&](const std::string& name) { return "lora_unet_joint_" + kohya(name).substr(10); }, 6),
              HasSubstr("is of no linear layer of this network"));
}

const fs::path kRanks = fs::path(HARNESS_SOURCE_DIR) / "tests/data/lora_ranks";

/// The network and inputs for which the adapters of kRanks were made (lora_peer.py ranks).
struct RanksCase {
  RanksCase() { torch::set_num_threads(1); }
  Tensor sample() {
    return model->forward(inputs.at("hidden_states"), inputs.at("encoder_hidden_states"),
                          inputs.at("pooled_projections"), inputs.at("timestep"));
  }

  Sd3Transformer model = load_sd3_transformer(kLoraCase / "model", {});
  TensorMap inputs = load_tensors(kLoraCase / "inputs.safetensors");
  TensorMap recorded = load_tensors(kRanks / "outputs.safetensors");
};

/// By the rule of the recorded cases (tests/data/parity): elements near 0 round like the others, and differ
/// between kinds of CPU.
void expect_near(const Tensor& ours, const Tensor& theirs, const std::string& what) {
  ASSERT_EQ(ours.sizes(), theirs.sizes()) << what;
  const double tolerance = 1e-6 + 3e-5 * theirs.abs().max().item<double>();
  EXPECT_LE((ours - theirs).abs().max().item<double>(), tolerance) << what;
}

TEST(LoraRanks, OfEachLayerAreThoseThatPeftAndDiffusersTake) {
  for (const char* form : {"peft", "diffusers", "alphas"}) {
    RanksCase c;
    const auto adapter = load_lora(kRanks / form, *c.model);
    EXPECT_EQ(adapter->summary(), "LoRA of ranks 1 to 4 and alphas 1.5 to 7 on 15 layers") << form;
    const auto sample = c.sample();
    expect_near(sample, c.recorded.at("sample"), form);
    const auto parameters = adapter->parameters();
    const auto gradients = torch::autograd::grad({(sample * c.inputs.at("probe")).mean()},
                                                 tensors_of(*adapter), {}, std::nullopt, false, true);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto& recorded = c.recorded.at("grad.base_model.model." + parameters[i].name);
      const bool is_used = gradients[i].defined();  // the last block's text is not
      expect_near(is_used ? gradients[i] : torch::zeros_like(parameters[i].tensor), recorded,
                  parameters[i].name);
    }
    const torch::NoGradGuard no_grad;
    adapter->merge();
    expect_near(c.sample(), c.recorded.at("sample"), std::string(form) + " merged");
  }
}

TEST(LoraRanks, AreScaledByTheirRootWithRslora) {
  const TemporaryFolder scratch;
  fs::copy(kRanks / "peft", scratch.path(), fs::copy_options::recursive);
  auto document = read_json(kRanks / "peft/adapter_config.json");
  document["use_rslora"] = true;
  write_file_atomically(scratch.path() / "adapter_config.json", document.dump());
  RanksCase c;
  const auto adapter = load_lora(scratch.path(), *c.model);
  EXPECT_THAT(adapter->summary(), HasSubstr("on 15 layers, scaled by alpha / sqrt(rank)"));
  const torch::NoGradGuard no_grad;
  expect_near(c.sample(), c.recorded.at("sample_rslora"), "rslora");
}

TEST(LoraRanks, AreKeptInBothForms) {
  for (const char* source : {"peft", "alphas"}) {
    for (const auto form : {LoraForm::kPeft, LoraForm::kDiffusers}) {
      const TemporaryFolder scratch;
      RanksCase c;
      Json config;
      {
        const auto adapter = load_lora(kRanks / source, *c.model);
        config = adapter->config().to_json();
        save_lora(scratch.path(), adapter->config(), adapter->parameters(), form);
      }
      const auto adapter = load_lora(scratch.path(), *c.model);
      EXPECT_EQ(adapter->config().to_json(), config);
      const torch::NoGradGuard no_grad;
      expect_near(c.sample(), c.recorded.at("sample"), source);
    }
  }
}

TEST(LoraRanks, OfOneRankAreWrittenAsEver) {
  EXPECT_EQ(canonical_json(small_lora().to_json()),
            R"({"alpha_pattern":{},"base_model_name_or_path":null,"bias":"none","fan_in_fan_out":false,)"
            R"("inference_mode":true,"init_lora_weights":"gaussian","layers_pattern":null,)"
            R"("layers_to_transform":null,"lora_alpha":5,"lora_dropout":0.0,"modules_to_save":null,)"
            R"("peft_type":"LORA","r":3,"rank_pattern":{},"target_modules":["attn.add_k_proj",)"
            R"("attn.add_q_proj","attn.add_v_proj","attn.to_add_out","attn.to_k","attn.to_out.0",)"
            R"("attn.to_q","attn.to_v"],"task_type":null,"use_dora":false,"use_rslora":false})");
  auto model = small_transformer();
  EXPECT_EQ(LoraAdapter(*model, small_lora(), "test").summary(), "LoRA of rank 3 and alpha 5 on 15 layers");
}

TEST(LoraRanks, AreFoundByTheKeysAsPeftFindsThem) {
  const auto matches = [](const char* key, const char* layer) {
    return LayerPattern(key, "c").matches(layer);
  };
  const auto layer = "transformer_blocks.10.attn.to_q";
  for (const char* key : {"to_q", "attn.to_q", "10.attn.to_q", "transformer_blocks.10.attn.to_q",
                          "^transformer_blocks.10.attn.to_q", ".*", "to_(q|k)", "to_[qk]", "[0-9]+.attn.*",
                          "\\d\\d\\.attn\\.to_q", "transformer_blocks\\.1\\d\\..*", "attn.to.q"})
    EXPECT_TRUE(matches(key, layer)) << key;
  for (const char* key : {"o_q", "0.attn.to_q", "attn", "attn.to", "to_q.", "^attn.to_q", "^to_q", "to_[kv]",
                          "transformer_blocks.1.attn.to_q", "transformer_blocks\\.\\d\\..*"})
    EXPECT_FALSE(matches(key, layer)) << key;
  for (const char* key : {"to_(q", "(?P<a>to_q)", "(?<=a)to_q", "to_q\\Z", "[]q]", "(a)\\1"})
    EXPECT_THAT(message_of([&] { LayerPattern(key, "c"); }), HasSubstr("unsupported regular expression"))
        << key;
}

TEST(LoraRanks, OfTheFirstKeyInOrderCount) {
  LoraConfig config{.rank = 4, .alpha = 8, .target_modules = {"to_q"}};
  config.rank_pattern = {{"attn.to_q", 2}, {"to_q", 16}};
  config.alpha_pattern = {{"blocks.1.attn.to_q", 3}};
  const LoraShapes shapes(config, "c");
  EXPECT_EQ(shapes.of("blocks.0.attn.to_q").scale, 8.0 / 2);
  EXPECT_EQ(shapes.of("blocks.1.attn.to_q").scale, 3.0 / 2);
  EXPECT_EQ(shapes.of("blocks.1.ff.to_q").scale, 8.0 / 16);
  EXPECT_EQ(shapes.of("blocks.1.attn.to_k").scale, 8.0 / 4);
}

TEST(LoraFiles, ThatArePickledAreNamed) {
  const TemporaryFolder scratch;
  auto model = small_transformer();
  fs::copy_file(kLoraCase / "adapter/adapter_config.json", scratch.path() / "adapter_config.json");
  const auto pickle = scratch.path() / "adapter_model.bin";
  write_file_atomically(pickle, "");
  for (const auto& place : {scratch.path(), pickle})
    EXPECT_THAT(message_of([&] { load_lora(place, *model); }),
                HasSubstr("adapter_model.bin: is pickled, and reading a pickle can run any program; save the "
                          "checkpoint as safetensors"));
}

TEST(LoraFiles, RefuseAFolderWithoutAnAdapterOrWithTwo) {
  const TemporaryFolder scratch;
  const auto& folder = scratch.path();
  auto model = small_transformer();
  EXPECT_THAT(
      message_of([&] { load_lora(folder, *model); }),
      HasSubstr("holds no adapter: neither adapter_config.json nor pytorch_lora_weights.safetensors"));
  LoraAdapter adapter(*model, small_lora(), "test");
  save_lora(folder, adapter.config(), adapter.parameters(), LoraForm::kPeft);
  save_lora(folder, adapter.config(), adapter.parameters(), LoraForm::kDiffusers);
  EXPECT_THAT(message_of([&] { load_lora(folder, *model); }), HasSubstr("holds two adapters"));
}

}  // namespace
}  // namespace harness
