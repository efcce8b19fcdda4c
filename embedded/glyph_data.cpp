#include "embedded/glyph_data.h"

#include <array>
#include <boost/random/discrete_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <cmath>
#include <memory>

#include "models/nn/random_weights.h"

namespace harness {
namespace {

/// Share of each letter in English text, in percent, a to z.
constexpr std::array<double, 26> kEnglish = {8.2,  1.5,  2.8, 4.3,  12.7, 2.2,  2.0, 6.1,   7.0,
                                             0.15, 0.77, 4.0, 2.4,  6.7,  7.5,  1.9, 0.095, 6.0,
                                             6.3,  9.1,  2.8, 0.98, 2.4,  0.15, 2.0, 0.074};

std::string random_word(DataEngine& engine) {
  static const auto letters = [] {
    std::array<double, 26> weights;
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.7 * kEnglish[i] / 100 + 0.3 / 26;
    return boost::random::discrete_distribution<int, double>(weights.begin(), weights.end());
  }();
  const auto drawn = std::floor(boost::random::gamma_distribution<double>(6, 0.95)(engine));
  auto length = static_cast<int>(std::min(12.0, std::max(1.0, drawn)));
  std::string word;
  if (uniform(engine) < 0.12) {
    length = std::min(length, 4);
    for (int i = 0; i < length; ++i) word += static_cast<char>('0' + uniform_int(engine, 0, 9));
    return word;
  }
  auto draw = letters;
  for (int i = 0; i < length; ++i) word += static_cast<char>('a' + draw(engine));
  const double form = uniform(engine);
  const auto upper = [](char c) { return static_cast<char>(c - 'a' + 'A'); };
  if (form < 0.75) {
    word[0] = upper(word[0]);
  } else if (form < 0.88) {
    for (auto& c : word) c = upper(c);
  }
  return word;
}

std::string random_phrase(DataEngine& engine) {
  static constexpr std::array<double, 5> kWords = {.10, .25, .38, .21, .06};
  static constexpr std::string_view kMarks = "!?.,:;'&%$#@*+-=/()\"";
  const int words =
      boost::random::discrete_distribution<int, double>(kWords.begin(), kWords.end())(engine) + 1;
  std::string phrase;
  for (int i = 0; i < words; ++i) {
    if (i > 0) phrase += ' ';
    phrase += random_word(engine);
  }
  if (uniform(engine) < 0.08) {
    const char mark =
        kMarks[static_cast<std::size_t>(uniform_int(engine, 0, static_cast<int>(kMarks.size()) - 1))];
    if (uniform(engine) < 0.5) {
      phrase += mark;
    } else {
      phrase.insert(phrase.begin(), mark);
    }
  }
  return phrase;
}

}  // namespace

std::vector<std::string> glyph_phrases(std::uint64_t seed) {
  constexpr std::size_t kCount = 50'000, kLongest = 30;
  DataEngine engine(seed);
  std::vector<std::string> phrases;
  while (phrases.size() < kCount) {
    auto phrase = random_phrase(engine);
    if (phrase.size() <= kLongest && glyph_layout(phrase).fits) phrases.push_back(std::move(phrase));
  }
  return phrases;
}

const std::string& any_phrase(const std::vector<std::string>& phrases, DataEngine& engine) {
  return phrases[static_cast<std::size_t>(uniform_int(engine, 0, static_cast<int>(phrases.size()) - 1))];
}

namespace {

/// `size` random phrases, fonts, styles (1..16) and strengths: images [B,3,48,96], tokens [B,36].
PromptedImages glyph_batch(const GlyphRenderer& renderer, const std::vector<std::string>& phrases,
                           const GlyphFading& fading, std::int64_t size, std::uint64_t seed) {
  constexpr std::size_t kImage = 3 * kGlyphHeight * kGlyphWidth;
  DataEngine engine(seed);
  PromptedImages batch{torch::empty({size, 3, kGlyphHeight, kGlyphWidth}),
                       torch::empty({size, kGlyphCells}, torch::kInt64), torch::empty({size}, torch::kInt64)};
  auto* pixels = batch.images.mutable_data_ptr<float>();
  auto* tokens = batch.tokens.mutable_data_ptr<std::int64_t>();
  auto* styles = batch.styles.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < size; ++i) {
    const auto layout = glyph_layout(any_phrase(phrases, engine));
    GlyphLook look{.font = uniform_int(engine, 0, renderer.fonts() - 1),
                   .style = uniform_int(engine, 0, kGlyphStyles - 1)};
    if (uniform(engine) < fading.share)
      look.strength = static_cast<float>(uniform(engine, fading.low, fading.high));
    renderer.draw(layout, look, {pixels + static_cast<std::size_t>(i) * kImage, kImage});
    const auto ids = glyph_tokens(layout);
    std::copy(ids.begin(), ids.end(), tokens + i * kGlyphCells);
    styles[i] = look.style + 1;
  }
  return batch;
}

}  // namespace

DrawImages glyph_images(const PretrainOptions& options, const GlyphFading& fading) {
  return
      [renderer = std::make_shared<GlyphRenderer>(options.atlas),
       phrases = std::make_shared<std::vector<std::string>>(glyph_phrases(mixed_seed({options.seed, 100}))),
       fading](std::int64_t size, std::uint64_t seed) {
        return glyph_batch(*renderer, *phrases, fading, size, seed);
      };
}

FlowSource glyph_source(const PretrainOptions& options) {
  return {.sample_size = kGlyphWidth,
          .table = {.width = FlowStages::kWidth, .pooled_width = FlowStages::kPooledWidth},
          .clear = glyph_images(options, {}),
          .autoencoder = glyph_images(options, {0.2, 0, 1}),
          .decoder = glyph_images(options, {0.3, 0, 1})};
}

}  // namespace harness
