// random-model: a folder of Stable Diffusion 3.5 Medium at its full shape with random weights in bfloat16,
// for measurements where the public weights are not at hand; speed and memory do not depend on them.
// Tokenizers and the rest of the small files are those of FROM, a pipeline's folder; inputs.safetensors is
// for bench-transformer.
#include <fmt/format.h>

#include <cmath>

#include "core/command_line/command_line.h"
#include "core/files.h"
#include "core/json.h"
#include "models/configs/t5_config.h"
#include "models/loading.h"
#include "models/nn/device.h"
#include "models/nn/parameters.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using torch::Tensor;

struct Options {
  std::string folder, from, device = "cpu";
  std::int64_t layers = 24, t5_layers = 2, pixels = 512, images = 8;
};

class RandomModel {
 public:
  explicit RandomModel(const Options& o) : o_(o), device_(open_device(o.device)) { torch::manual_seed(1); }

  void write() {
    fs::copy(o_.from, o_.folder, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    const Json velocity = {{"sample_size", 128},
                           {"num_layers", o_.layers},
                           {"attention_head_dim", 64},
                           {"num_attention_heads", 24},
                           {"joint_attention_dim", kTextWidth},
                           {"caption_projection_dim", kWidth},
                           {"pooled_projection_dim", kPooledWidth},
                           {"pos_embed_max_size", 384},
                           {"dual_attention_layers", dual_layers()}};
    component<Sd3Transformer, Sd3Config>("transformer", "diffusion_pytorch_model", velocity);
    component<AutoencoderKl, AutoencoderConfig>("vae", "diffusion_pytorch_model",
                                                {{"block_out_channels", {128, 256, 512, 512}},
                                                 {"layers_per_block", 2},
                                                 {"norm_num_groups", 32},
                                                 {"sample_size", 1024}});
    component<ClipTextModel, ClipTextConfig>("text_encoder", "model", clip(768, 12, 12));
    component<ClipTextModel, ClipTextConfig>("text_encoder_2", "model", clip(1280, 32, 20));
    component<T5Encoder, T5Config>("text_encoder_3", "model",
                                   {{"d_model", kTextWidth},
                                    {"d_kv", 64},
                                    {"d_ff", 10240},
                                    {"num_heads", 64},
                                    {"num_layers", o_.t5_layers}});
    save_tensors(fs::path(o_.folder) / "inputs.safetensors", inputs());
  }

 private:
  static constexpr std::int64_t kWidth = 1536, kTextWidth = 4096, kPooledWidth = 2048, kTextTokens = 205;

  std::vector<std::int64_t> dual_layers() const {
    constexpr std::int64_t kDual = 13;  // the first ones
    std::vector<std::int64_t> layers;
    for (std::int64_t i = 0; i < std::min(kDual, o_.layers); ++i) layers.push_back(i);
    return layers;
  }

  static Json clip(int width, int layers, int heads) {
    return {{"hidden_size", width},
            {"intermediate_size", 4 * width},
            {"num_hidden_layers", layers},
            {"num_attention_heads", heads},
            {"projection_dim", width}};
  }

  /// The folder's component with `sizes` in its configuration and new weights.
  template <class Holder, class Config>
  void component(const char* name, const std::string& stem, const Json& sizes) {
    const auto folder = fs::path(o_.folder) / name;
    auto document = read_json(folder / "config.json");
    document.update(sizes);
    write_file_atomically(folder / "config.json", document.dump(2) + "\n");
    Holder model{nullptr};
    {
      const WithoutParameterMemory no_memory;
      model = Holder(Config::from_json(document, (folder / "config.json").string()));
    }
    TensorMap weights;
    std::int64_t count = 0;
    for (const auto& [key, shape] : state_of(*model)) {
      weights[key] = weight(key, shape.sizes()).to(torch::kBFloat16).to(torch::kCPU);
      count += shape.numel();
    }
    save_tensors(folder / (stem + ".safetensors"), weights, {{"format", "pt"}});
    fmt::print("{}: {:.3f} billion numbers\n", name, static_cast<double>(count) / 1e9);
  }

  /// Matrices as LibTorch's layers begin, norms of 1.
  Tensor weight(const std::string& key, at::IntArrayRef shape) const {
    if (key.ends_with("pos_embed.pos_embed")) {
      const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(shape[1]))));
      return sincos_position_table(shape[2], side, 64);
    }
    if (shape.size() == 1 && key.ends_with("weight")) return torch::ones(shape);
    const auto numbers = torch::randn(shape, torch::TensorOptions(device_));
    const auto fan_in = static_cast<double>(numbers.numel() / shape[0]);
    return numbers * (shape.size() == 1 ? 0.02 : 1 / std::sqrt(3 * fan_in));
  }

  TensorMap inputs() const {
    const auto side = o_.pixels / 8, b = o_.images;
    return {{"latents", torch::randn({b, 16, side, side})},
            {"text", 0.2 * torch::randn({b, kTextTokens, kTextWidth})},
            {"pooled", torch::randn({b, kPooledWidth})},
            {"negative_text", 0.2 * torch::randn({b, kTextTokens, kTextWidth})},
            {"negative_pooled", torch::randn({b, kPooledWidth})}};
  }

  Options o_;
  torch::Device device_;
};

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  harness::Options o;
  harness::Command program{"random-model", "Stable Diffusion 3.5 Medium at full shape, random weights"};
  program.add("FOLDER", &o.folder, "", {.required = true});
  program.add("--from", &o.from,
              "a small folder of the pipeline: tests/data/parity/sd3_pipeline_sd35m/model");
  program.add("--device", &o.device, "where the numbers are drawn");
  program.add("--layers", &o.layers, "");
  program.add("--t5-layers", &o.t5_layers, "");
  program.add("--pixels", &o.pixels, "");
  program.add("--images", &o.images, "");
  program.run = [&] {
    harness::RandomModel(o).write();
    return 0;
  };
  return harness::run_program(program, argc, argv);
}
