#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backbones/model_choices.h"
#include "core/image.h"
#include "core/json.h"
#include "models/diffusion/prompt_encoder.h"
#include "models/gpu/busy_time.h"
#include "models/nn/lora.h"
#include "models/nn/torch.h"
#include "models/nn/weights_io.h"

namespace harness {

struct LatentShape {
  std::int64_t channels = 0, rows = 0, columns = 0;
  std::int64_t size() const { return channels * rows * columns; }  ///< D
};

/// Which weights, where to put them, and what is chosen about them.
struct BackboneSource {
  std::string name;
  std::filesystem::path folder = {};  ///< model_index.json, transformer/, vae/, text_encoder/ ...
  torch::Device device = torch::kCPU;
  std::uint64_t seed = 0;  ///< random weights follow from this, where there is no folder
  ModelChoices choices = {};
  std::filesystem::path text_cache = {};  ///< of encoded prompts, for backbones with large text encoders
  std::string weights_sha256 = {};        ///< in the keys of that cache
  /// That will be encoded: large text encoders read them before the velocity network is in memory.
  std::vector<PromptText> prompts = {};
  bool headers_only = false;  ///< check the folder of a large model without reading its weights
};

/// One job's work on a backbone, as far as its memory goes.
struct Workload {
  std::int64_t training_images = 0;    ///< of a shard; 0: no training
  std::int64_t evaluation_images = 0;  ///< of a shard; 0: no evaluation
  bool guided = false;                 ///< guidance is other than 1
  std::int64_t epoch_latents = 0;      ///< latents of an epoch's rollouts that a process keeps for training
  int shards_at_once = 1;              ///< worker threads with a shard each
};

/// How a model is usually sampled.
struct UsualSampler {
  int steps = 0;
  double guidance = 1;
  double shift = 1;         ///< of the noise levels
  int train_timesteps = 0;  ///< of the diffusers scheduler whose grid is taken; 0: equal steps
};

/// That a prompt cannot be drawn as it is.
struct Fallback {
  std::string limit;  ///< what it does not fit: "the glyph backbone's 3 lines of 12 characters"
  std::string rule;   ///< the file that states what is drawn instead
  std::string drawn;  ///< what is drawn instead
};

/// A text-to-image flow model: text encoder, velocity network, image decoder. Only the velocity network is
/// trained, or a low-rank adapter of it. Latents, velocities and the image decoder are float32, the velocity
/// network and text encoders of large models in ModelChoices::precision. Safe to use
/// from several threads at once as long as no weights change meanwhile.
class Backbone {
 public:
  virtual ~Backbone() = default;
  Backbone(const Backbone&) = delete;
  Backbone& operator=(const Backbone&) = delete;

  /// Throws Error for an unknown name, and if the folder is not of that backbone, or broken.
  static std::unique_ptr<Backbone> load(const BackboneSource& source);

  /// What the prompts become for the velocity network, without gradient.
  virtual TextCondition encode(const std::vector<PromptText>& prompts) = 0;

  /// Velocity at flow time sigma, float32 like the latents [B,C,h,w], with gradient. What guidance is, is the
  /// model's own: classifier-free guidance by the unconditional prompt, or an input of the network.
  torch::Tensor velocity(const torch::Tensor& latents, double sigma, const TextCondition& condition,
                         double guidance);
  /// The same at times of their own, sigmas [B] in float64 on the CPU.
  torch::Tensor velocity(const torch::Tensor& latents, const torch::Tensor& sigmas,
                         const TextCondition& condition, double guidance);

  /// What velocity() has evaluated so far, in images: `backward` those with gradient.
  struct Evaluations {
    std::int64_t forward = 0, backward = 0;
  };
  Evaluations evaluations() const { return {.forward = forward_, .backward = backward_}; }

  /// Latents [B,C,h,w] of the flow model -> 8-bit images (rounded, not truncated). Throws Error
  /// (Status::kFailed) for latents, or values of the decoder, that are not finite, naming the image by
  /// `prompts`, one per row: they are no picture, and no score is made of them.
  std::vector<Image> decode(const torch::Tensor& latents, const std::vector<PromptText>& prompts = {});
  /// The same as pixels [B,3,H,W] in 0..1.
  torch::Tensor decode_pixels(const torch::Tensor& latents, const std::vector<PromptText>& prompts = {});
  /// The same with gradient by the latents.
  torch::Tensor decode_with_gradient(const torch::Tensor& latents,
                                     const std::vector<PromptText>& prompts = {});

  /// The network whose parameters are trained, or adapted.
  virtual torch::nn::Module& velocity_network() = 0;

  /// The weights that training changes, by key name: the adapter's if there is one, else the whole network's.
  std::vector<NamedTensor> trainable();

  /// Adds a new adapter in place of an earlier one; from then on it alone is trained. Throws as LoraAdapter.
  LoraAdapter& add_adapter(const LoraConfig& config, std::uint64_t seed, const std::string& where);
  /// The same with the adapter of a folder or file (load_lora).
  LoraAdapter& load_adapter(const std::filesystem::path& place);
  /// The type of the products of adapters that are added from now on; at first that of the network.
  void compute_adapters_in(torch::ScalarType type) { adapter_products_ = type; }
  /// Takes it away: the whole network is what training changes.
  void drop_adapter() { adapter_.reset(); }
  /// The velocity network's adapter, or null.
  LoraAdapter* adapter() const { return adapter_.get(); }

  /// Nothing where it is sampled by the settings' defaults.
  virtual std::optional<UsualSampler> usual_sampler() const { return std::nullopt; }

  /// Nothing where the prompt is drawn as it is.
  virtual std::optional<Fallback> fallback(const PromptText& /*prompt*/) const { return std::nullopt; }

  /// What this has had its GPU do, and what others add of the same run.
  BusyTime& busy_time() { return busy_time_; }

  const LatentShape& latent() const { return latent_; }
  torch::Device device() const { return device_; }

 protected:
  Backbone(LatentShape latent, torch::Device device) : latent_(latent), device_(device), busy_time_(device) {}

  /// Velocity at sigmas [B], float64 on the CPU.
  virtual torch::Tensor velocity_of(const torch::Tensor& latents, const torch::Tensor& sigmas,
                                    const TextCondition& condition, double guidance) = 0;
  /// How often the network is evaluated for one velocity: 2 where guidance takes an unconditional prompt.
  virtual int evaluations_of(double /*guidance*/) const { return 1; }

  /// Latents of the flow model -> values [B,3,H,W] of the image decoder, about -1..1.
  virtual torch::Tensor decoded(const torch::Tensor& latents) = 0;

 private:
  LatentShape latent_;
  torch::Device device_;
  BusyTime busy_time_;
  LoraAdapter& take(std::unique_ptr<LoraAdapter> adapter);

  std::unique_ptr<LoraAdapter> adapter_;
  std::optional<torch::ScalarType> adapter_products_;
  std::atomic<std::int64_t> forward_ = 0, backward_ = 0;  ///< evaluations
};

/// What is known of a backbone before its weights are read.
struct BackboneType {
  std::string name;
  bool is_default = false;           ///< what `harness sample` draws with where nothing is chosen
  std::string pipeline = {};         ///< class that a weights folder's index names; empty: it has no folder
  std::string default_weights = {};  ///< embedded weights, below share/harness; empty: the user gives them
  std::vector<std::string> files = {};  ///< that a weights folder must hold, relative to it
  Json (*random_weights)() = nullptr;   ///< what random weights follow from besides the seed
  Json precision = "fp32";              ///< one text, or one a kind of device
  /// By precision, raised where this backbone's numbers on a CPU alone change; other numbers go with the
  /// numerics version.
  std::map<std::string, int> cpu_numerics = {};
  int threads = 0;                    ///< that a worker makes good use of; 0: as many as there are
  bool fills_a_node = false;          ///< --ranks auto: a run on all GPUs of a node, not several side by side
  bool has_usual_sampler = true;      ///< Backbone::usual_sampler, which `grid=model` takes
  bool needs_target = false;          ///< it draws the quoted text of a prompt and nothing else
  std::string images = kSceneImages;  ///< their kind, for evaluators that are made for one (core/image.h)
  std::string note = {};              ///< a table's note on its numbers, without a full stop
  SettingRows<ModelChoices> choices = {};  ///< choice_rows, where an adapter is trained
  std::unique_ptr<Backbone> (*load)(const BackboneSource&) = nullptr;
  Json (*resources)(const BackboneSource&, const Workload&) = nullptr;  ///< for estimate_resources
};

/// Called by the initialiser of a constant in each backbone's file.
bool register_backbone(BackboneType type);

/// Every backbone by name.
const std::map<std::string, BackboneType>& backbones();

/// Throws Error for an unknown name, with the nearest known one.
const BackboneType& backbone_type(const std::string& name);

/// The build's backbones by name: members of BackboneType as keys but choices, without empty ones.
Json describe_backbones();

/// The settings of a run that are the backbone's rather than the loop's: they stand among the loop's, and
/// only some backbones know them. `settings` may hold others.
ModelChoices read_model_choices(const std::string& backbone, const Json& settings, const std::string& where);

Json without_model_choices(Json settings, const std::string& backbone);

/// Those of all backbones. One that several have alike is there once, with all their names.
std::vector<Setting> backbone_settings();

/// What a worker takes, in bytes, from headers and configurations alone, which it checks: "memory":
/// {"velocity_network", "image_decoder", "largest_text_encoder", "training", "activations", "rollouts",
/// "runtime" (what CUDA and its libraries take), "total"}, encoders one at a time; "stored":
/// {"trained_weights", "image", "prompt"}, each of one. Throws as Backbone::load.
Json estimate_resources(const BackboneSource& source, const Workload& workload);

}  // namespace harness
