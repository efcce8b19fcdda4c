#include "embedded/pretrain_glyph_clip.h"

#include <fmt/format.h>
#include <torch/nn/modules/linear.h>

#include <array>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <boost/random/uniform_real_distribution.hpp>
#include <chrono>
#include <cmath>

#include "core/files.h"
#include "core/json.h"
#include "core/source_sums/build_info.h"
#include "embedded/glyph_data.h"
#include "embedded/glyph_renderer.h"
#include "embedded/glyph_tokenizer.h"
#include "models/encoders/clip_model.h"
#include "models/nn/random_weights.h"
#include "models/nn/weights_io.h"

namespace harness {
namespace {

using torch::Tensor;
using torch::indexing::None;
using torch::indexing::Slice;
using Clock = std::chrono::steady_clock;
// Boost's distributions, unlike the standard library's, are the same everywhere.
using Engine = boost::random::mt19937_64;

constexpr std::size_t kPhrases = 50'000;
constexpr std::int64_t kHeight = kGlyphLines * kGlyphCellHeight, kWidth = kGlyphColumns * kGlyphCellWidth;
constexpr std::int64_t kImageSize = 96, kPatch = 16, kChannels = 128;
constexpr double kMostScale = 4.6052;  // log 100, as CLIP's

ClipConfig clip_config() {
  ClipConfig config;
  config.projection_dim = kChannels;
  auto& text = config.text;
  text.vocab_size = kGlyphVocabulary;
  text.hidden_size = config.text.projection_dim = kChannels;
  text.intermediate_size = 4 * kChannels;
  text.num_hidden_layers = 2;
  text.num_attention_heads = 4;
  text.max_position_embeddings = GlyphTokenizer::kLength;
  text.eos_token_id = GlyphTokenizer::kEnd;
  auto& vision = config.vision;
  vision.hidden_size = kChannels;
  vision.intermediate_size = 4 * kChannels;
  vision.num_hidden_layers = 3;
  vision.num_attention_heads = 4;
  vision.image_size = kImageSize;
  vision.patch_size = kPatch;
  return config;
}

int uniform_int(Engine& engine, int low, int high) {
  return boost::random::uniform_int_distribution<int>(low, high)(engine);
}
double uniform(Engine& engine, double low = 0, double high = 1) {
  return boost::random::uniform_real_distribution<double>(low, high)(engine);
}

/// What a prompt asks for.
struct Wish {
  GlyphLayout layout;
  int style = 0;  ///< 0..15
};

/// One letter or up to four are others, or the style is.
Wish near_miss(Wish wish, Engine& engine, bool one_letter = false) {
  constexpr double kOtherStyle = 0.15, kOneLetter = 0.6;
  const double kind = one_letter ? 1 : uniform(engine);
  if (kind < kOtherStyle) {
    wish.style = (wish.style + uniform_int(engine, 1, kGlyphStyles - 1)) % kGlyphStyles;
    return wish;
  }
  std::vector<std::size_t> letters;
  for (std::size_t i = 0; i < wish.layout.cells.size(); ++i) {
    if (wish.layout.cells[i] != ' ') letters.push_back(i);
  }
  const int changes = one_letter || kind < kOtherStyle + kOneLetter ? 1 : uniform_int(engine, 2, 4);
  for (int i = 0; i < changes; ++i) {
    auto& cell = wish.layout.cells[letters[static_cast<std::size_t>(
        uniform_int(engine, 0, static_cast<int>(letters.size()) - 1))]];
    const char first = cell >= 'A' && cell <= 'Z' ? 'A' : 'a';
    const auto before = cell;
    while (cell == before) cell = static_cast<char>(first + uniform_int(engine, 0, 25));
  }
  return wish;
}

/// Images [N,3,48,96] and token ids [T,L]; the first T images are those of the texts, in their order.
struct PairBatch {
  Tensor images, tokens;
};

/// How pairs are drawn.
struct PairPlan {
  std::int64_t texts, faded;  ///< faded: further images, of texts that are there
  int styles;                 ///< different ones within a batch
  double near_misses;         ///< share of texts that are followed by a near miss of themselves
};

class PairSource {
 public:
  PairSource(const std::filesystem::path& atlas, std::uint64_t seed)
      : renderer_(atlas), phrases_(glyph_phrases(seed, kPhrases)) {}

  PairBatch draw(const PairPlan& plan, std::uint64_t seed) const {
    Engine engine(seed);
    const auto wishes = draw_wishes(plan, engine);
    PairBatch batch{torch::empty({plan.texts + plan.faded, 3, kHeight, kWidth}), tokens_of(wishes)};
    for (std::int64_t i = 0; i < plan.texts; ++i)
      render(wishes[static_cast<std::size_t>(i)], uniform(engine, 0.85, 1), engine, batch.images[i]);
    for (std::int64_t i = 0; i < plan.faded; ++i) {
      const auto& wish =
          wishes[static_cast<std::size_t>(uniform_int(engine, 0, static_cast<int>(plan.texts) - 1))];
      render(wish, uniform(engine, 0.1, 0.6), engine, batch.images[plan.texts + i]);
    }
    auto random = seeded_generator(mixed_seed({seed, 1}));
    const auto strength = 0.15 * torch::rand({batch.images.size(0), 1, 1, 1}, random);
    batch.images += strength * torch::randn(batch.images.sizes(), random);
    return batch;
  }

  Wish wish(Engine& engine, int style) const {
    const auto& phrase =
        phrases_[static_cast<std::size_t>(uniform_int(engine, 0, static_cast<int>(phrases_.size()) - 1))];
    return {glyph_layout(phrase), style};
  }

  void render(const Wish& wish, double strength, Engine& engine, const Tensor& image) const {
    const GlyphLook look{.font = uniform_int(engine, 0, renderer_.fonts() - 1),
                         .style = wish.style,
                         .strength = static_cast<float>(strength)};
    renderer_.draw(wish.layout, look,
                   {image.mutable_data_ptr<float>(), static_cast<std::size_t>(image.numel())});
  }

  static Tensor tokens_of(const std::vector<Wish>& wishes) {
    std::vector<Tensor> rows;
    for (const auto& w : wishes) rows.push_back(torch::tensor(GlyphTokenizer::ids(w.layout, w.style + 1)));
    return torch::stack(rows);
  }

 private:
  std::vector<Wish> draw_wishes(const PairPlan& plan, Engine& engine) const {
    std::vector<int> styles;
    for (int i = 0; i < plan.styles; ++i) styles.push_back(uniform_int(engine, 0, kGlyphStyles - 1));
    std::vector<Wish> wishes;
    const auto wanted = static_cast<std::size_t>(plan.texts);
    while (wishes.size() < wanted) {
      const auto style = styles[static_cast<std::size_t>(uniform_int(engine, 0, plan.styles - 1))];
      wishes.push_back(wish(engine, style));
      if (wishes.size() < wanted && uniform(engine) < plan.near_misses)
        wishes.push_back(near_miss(wishes.back(), engine));
    }
    return wishes;
  }

  GlyphRenderer renderer_;
  std::vector<std::string> phrases_;
};

/// As the scorer's image processor, without its rounding: 96 x 48 stretched to a square, in -1..1.
Tensor pixel_values(const Tensor& images) {
  return torch::_upsample_bicubic2d_aa(images, {kImageSize, kImageSize}, false);
}

/// A projection [P,C] that makes samples [N,C] white, their mean direction left out.
Tensor whitening(const Tensor& samples, double floor = 1e-3) {
  const auto mean = samples.mean(0);
  const auto direction = mean / mean.norm();
  const auto along = torch::outer(direction, direction);
  const auto rest = samples - samples.matmul(along);
  const auto [values, vectors] = torch::linalg_eigh(rest.t().matmul(rest) / samples.size(0));
  const auto scale = (values.clamp_min(0) + floor * values.max()).rsqrt();
  const auto white = vectors.matmul(torch::diag(scale)).matmul(vectors.t());
  return (white - white.matmul(along)) / std::sqrt(static_cast<double>(samples.size(1)));
}

Tensor pair_labels(std::int64_t n) {
  return torch::arange(n, torch::kInt64);
}

class ClipPretraining {
 public:
  ClipPretraining(const PretrainClipOptions& options, const PretrainReport& report)
      : options_(options),
        report_(report),
        pairs_(options.atlas, mixed_seed({options.seed, 200})),
        pool_(options.threads, [] { torch::set_num_threads(1); }),
        model_(clip_config()),
        reader_(torch::nn::LinearOptions(kChannels, kCellsOfPatch * kGlyphVocabulary)) {
    torch::set_num_threads(1);
    initialise_clip(model_, mixed_seed({options.seed, 201}));
    const torch::NoGradGuard no_grad;
    auto random = seeded_generator(mixed_seed({options.seed, 202}));
    for (const auto& item : model_->named_parameters()) {
      // Characters and places have to be told apart from the start.
      if (item.key().find("token_embedding") != std::string::npos) item.value().normal_(0, 0.3, random);
      if (item.key().find("position_embedding") != std::string::npos) item.value().normal_(0, 0.1, random);
    }
    reader_->weight.normal_(0, 0.05, random);
    reader_->bias.zero_();
    whiten();
  }

  void run() {
    const auto start = Clock::now();
    train({"R", 1, options_.reading_steps, 2, 64, 100, 1e-3, false, 0.01, false},
          {.texts = 64, .faded = 0, .styles = 4, .near_misses = 0});
    train({"C", 2, options_.contrast_steps, 2, 64, 50, 1e-3, false, 0.01, true},
          {.texts = 48, .faded = 16, .styles = 6, .near_misses = 0.5});
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    save(seconds);
  }

 private:
  static constexpr std::int64_t kGrid = kImageSize / kPatch;            // patches a side
  static constexpr std::int64_t kCellsOfPatch = kGlyphColumns / kGrid;  // beside one another
  static constexpr std::int64_t kPatchesOfLine = kGrid / kGlyphLines;   // above one another

  void whiten() {
    const auto batch = pairs_.draw({.texts = 1024, .faded = 0, .styles = kGlyphStyles, .near_misses = 0},
                                   mixed_seed({options_.seed, 203}));
    auto named = model_->named_parameters();
    auto &text = named["text_projection.weight"], &image = named["visual_projection.weight"];
    text.copy_(torch::eye(kChannels));
    image.copy_(torch::eye(kChannels));
    text.copy_(whitening(model_->text_embeds(batch.tokens)));
    image.copy_(whitening(model_->image_embeds(pixel_values(batch.images))));
  }

  void train(const StagePlan& stage_plan, const PairPlan& plan) {
    auto parameters = model_->parameters();
    for (const auto& p : reader_->parameters()) parameters.push_back(p);
    PretrainStage stage(options_.seed, pool_, stage_plan, parameters, curve_);
    stage.after_update = [this] { model_->named_parameters()["logit_scale"].clamp_(0, kMostScale); };
    stage.run([&](std::uint64_t seed) { return loss(pairs_.draw(plan, seed)); }, report_);
  }

  Tensor loss(const PairBatch& batch) {
    const auto n = batch.tokens.size(0);
    const auto hidden = model_->image_states(pixel_values(batch.images));
    const auto logits = logits_per_image(model_, model_->embeds_of_states(hidden),
                                         model_->text_embeds(batch.tokens));  // [N,T]
    const auto by_image = torch::cross_entropy_loss(logits.slice(0, 0, n), pair_labels(n));
    const auto by_text = torch::cross_entropy_loss(logits.t(), pair_labels(n));
    return (by_image + by_text) / 2 + reading_loss(hidden.slice(0, 0, n), batch.tokens);
  }

  /// Cross-entropy of the characters that a patch shows a half of; blanks count little.
  Tensor reading_loss(const Tensor& hidden, const Tensor& tokens) {
    constexpr double kBlank = 0.1;
    const auto n = tokens.size(0);
    const auto cells = tokens.slice(1, 1, 1 + kGlyphCells)
                           .reshape({n, kGlyphLines, kGrid, kCellsOfPatch})
                           .repeat_interleave(kPatchesOfLine, 1)
                           .reshape({-1});
    const auto read = reader_->forward(hidden.slice(1, 1)).reshape({-1, kGlyphVocabulary});
    auto weights = torch::ones({kGlyphVocabulary});
    weights[' ' + 3] = kBlank;
    return torch::cross_entropy_loss(read, cells, weights);
  }

  /// Held-out phrases: how often the right one of 512 is found, and the right one of two that differ by a
  /// letter, or of a clear and a faded image.
  Json measure() {
    constexpr int kTexts = 512;
    const torch::NoGradGuard no_grad;
    const PairSource held_out(options_.atlas, mixed_seed({options_.seed, 204}));
    Engine engine(mixed_seed({options_.seed, 205}));
    std::vector<Wish> wishes, misses;
    const auto images = torch::empty({kTexts, 3, kHeight, kWidth}), faded = torch::empty_like(images);
    for (int i = 0; i < kTexts; ++i) {
      wishes.push_back(held_out.wish(engine, uniform_int(engine, 0, kGlyphStyles - 1)));
      misses.push_back(near_miss(wishes.back(), engine, true));
      held_out.render(wishes.back(), 1, engine, images[i]);
      held_out.render(wishes.back(), 0.3, engine, faded[i]);
    }
    const auto image = unit_rows(model_->image_embeds(pixel_values(images)));
    const auto dim = unit_rows(model_->image_embeds(pixel_values(faded)));
    const auto text = unit_rows(model_->text_embeds(PairSource::tokens_of(wishes)));
    const auto miss = unit_rows(model_->text_embeds(PairSource::tokens_of(misses)));
    const auto cosines = image.matmul(text.t());
    const auto right = cosines.diag(), near = (image * miss).sum(1), at_fading = (dim * text).sum(1);
    const auto labels = pair_labels(kTexts);
    const auto share = [](const Tensor& hits) { return hits.to(torch::kFloat64).mean().item<double>(); };
    const auto mean = [](const Tensor& values) {
      return std::round(1e4 * values.mean().item<double>()) / 1e4;
    };
    return {{"phrases", kTexts},
            {"text_found_among_512", share(cosines.argmax(1) == labels)},
            {"image_found_among_512", share(cosines.argmax(0) == labels)},
            {"told_from_one_other_letter", share(right > near)},
            {"clear_before_faded", share(right > at_fading)},
            {"cosine", mean(right)},
            {"cosine_of_one_other_letter", mean(near)},
            {"cosine_of_ink_at_0.3", mean(at_fading)},
            {"cosine_of_other_texts", mean((cosines.sum() - right.sum()) / (kTexts * (kTexts - 1)))}};
  }

  void save(double seconds) {
    const auto& out = options_.out;
    make_folder(out);
    TensorMap weights;
    for (const auto& item : model_->named_parameters())
      weights[item.key()] = item.value().detach().to(torch::kFloat16);
    save_tensors(out / "model.safetensors", weights, {{"format", "pt"}});
    write_file_atomically(out / "config.json", clip_config().to_json().dump(2) + "\n");
    const std::array<double, 3> half = {0.5, 0.5, 0.5};
    const Json images = {{"image_processor_type", "CLIPImageProcessor"},
                         {"do_resize", true},
                         {"size", {{"height", kImageSize}, {"width", kImageSize}}},
                         {"resample", 3},
                         {"do_center_crop", false},
                         {"do_rescale", true},
                         {"rescale_factor", 1.0 / 255},
                         {"do_normalize", true},
                         {"image_mean", half},
                         {"image_std", half},
                         {"do_convert_rgb", true}};
    write_file_atomically(out / "preprocessor_config.json", images.dump(2) + "\n");
    const Json tokenizer = {{"tokenizer_class", GlyphTokenizer::kClass}};
    write_file_atomically(out / "tokenizer_config.json", tokenizer.dump(2) + "\n");
    write_file_atomically(out / "curve.csv", curve_.csv);
    const Json record{{"command", fmt::format("harness pretrain glyph-clip --seed {}", options_.seed)},
                      {"seed", options_.seed},
                      {"steps", {{"R", options_.reading_steps}, {"C", options_.contrast_steps}}},
                      {"retrieval", measure()},
                      {"seconds", std::round(seconds)},
                      {"threads", options_.threads},
                      {"cpu", build_info().cpu},
                      {"cpu_features", build_info().cpu_features}};
    write_file_atomically(out / "pretrain.json", record.dump(2) + "\n");
  }

  const PretrainClipOptions& options_;
  const PretrainReport& report_;
  PairSource pairs_;
  WorkerPool pool_;
  ClipModel model_;
  torch::nn::Linear reader_;
  PretrainCurve curve_;
};

}  // namespace

void pretrain_glyph_clip(const PretrainClipOptions& options, const PretrainReport& report) {
  ClipPretraining(options, report).run();
}

}  // namespace harness
