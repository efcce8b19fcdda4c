#include "embedded/pretrain_glyph_clip.h"

#include <torch/nn/modules/linear.h>

#include <array>
#include <cmath>

#include "embedded/glyph_data.h"
#include "embedded/glyph_tokenizer.h"
#include "models/loading.h"
#include "models/nn/random_weights.h"

namespace harness {
namespace {

using torch::Tensor;
using torch::indexing::None;
using torch::indexing::Slice;

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

/// What a prompt asks for.
struct Wish {
  GlyphLayout layout;
  int style = 0;  ///< 0..15
};

/// One letter or up to four are others, or the style is.
Wish near_miss(Wish wish, DataEngine& engine, bool one_letter = false) {
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
      : renderer_(atlas), phrases_(glyph_phrases(seed)) {}

  PairBatch draw(const PairPlan& plan, std::uint64_t seed) const {
    DataEngine engine(seed);
    const auto wishes = draw_wishes(plan, engine);
    PairBatch batch{torch::empty({plan.texts + plan.faded, 3, kGlyphHeight, kGlyphWidth}), tokens_of(wishes)};
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

  Wish wish(DataEngine& engine, int style) const {
    return {glyph_layout(any_phrase(phrases_, engine)), style};
  }

  void render(const Wish& wish, double strength, DataEngine& engine, const Tensor& image) const {
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
  std::vector<Wish> draw_wishes(const PairPlan& plan, DataEngine& engine) const {
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
  explicit ClipPretraining(const PretrainClipOptions& options)
      : options_(options),
        common_(options),
        pairs_(options.atlas, mixed_seed({options.seed, 200})),
        model_(clip_config()),
        reader_(torch::nn::LinearOptions(kChannels, kCellsOfPatch * kGlyphVocabulary)) {
    initialise_clip(model_, mixed_seed({options.seed, 201}));
    const torch::NoGradGuard no_grad;
    auto random = seeded_generator(mixed_seed({options.seed, 202}));
    for (const auto& item : model_->named_parameters()) {
      // Characters and places have to be distinguished from the start.
      if (item.key().find("token_embedding") != std::string::npos) item.value().normal_(0, 0.3, random);
      if (item.key().find("position_embedding") != std::string::npos) item.value().normal_(0, 0.1, random);
    }
    reader_->weight.normal_(0, 0.05, random);
    reader_->bias.zero_();
    whiten();
  }

  void run() {
    train({"R", 1, options_.reading_steps, 2, 64, 100, 1e-3, false, 0.01, false},
          {.texts = 64, .faded = 0, .styles = 4, .near_misses = 0});
    train({"C", 2, options_.contrast_steps, 2, 64, 50, 1e-3, false, 0.01, true},
          {.texts = 48, .faded = 16, .styles = 6, .near_misses = 0.5});
    save();
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
    common_.train(
        stage_plan, parameters, [&](std::uint64_t seed) { return loss(pairs_.draw(plan, seed)); },
        [this] { model_->named_parameters()["logit_scale"].clamp_(0, kMostScale); });
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

  /// Held-out phrases: how often the right one of 512 is found, or of two by a letter, or of clear and faded.
  Json measure() {
    constexpr int kTexts = 512;
    const torch::NoGradGuard no_grad;
    const PairSource held_out(options_.atlas, mixed_seed({options_.seed, 204}));
    DataEngine engine(mixed_seed({options_.seed, 205}));
    std::vector<Wish> wishes, misses;
    const auto images = torch::empty({kTexts, 3, kGlyphHeight, kGlyphWidth}),
               faded = torch::empty_like(images);
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

  void save() {
    save_clip_model(options_.out, model_, torch::kFloat16);
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
    common_.save_json("preprocessor_config.json", images);
    common_.save_json("tokenizer_config.json", {{"tokenizer_class", GlyphTokenizer::kClass}});
    common_.save_record("glyph-clip",
                        {{"steps", {{"R", options_.reading_steps}, {"C", options_.contrast_steps}}},
                         {"retrieval", measure()}});
  }

  const PretrainClipOptions& options_;
  Pretraining common_;
  PairSource pairs_;
  ClipModel model_;
  torch::nn::Linear reader_;
};

}  // namespace

void pretrain_glyph_clip(const PretrainClipOptions& options) {
  ClipPretraining(options).run();
}

}  // namespace harness
