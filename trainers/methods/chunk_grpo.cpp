#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <numeric>

#include "core/text.h"
#include "trainers/methods/chunk_ratio.h"
#include "trainers/methods/plain_clip.h"

namespace harness {
namespace {

/// 2, 3 and 5 tenths of the steps.
std::vector<std::int64_t> usual_chunks(int steps) {
  std::vector<std::int64_t> chunks;
  std::int64_t from = 0;
  for (const int tenths : {2, 5, 10}) {
    const std::int64_t to = (tenths * steps + 5) / 10;
    if (to > from) chunks.push_back(to - from);
    from = to;
  }
  return chunks;
}

std::vector<std::int64_t> read_chunks(Settings& settings, int steps) {
  const auto text = settings.get<std::string>("chunks");
  if (text == "auto") return usual_chunks(steps);
  std::vector<std::int64_t> chunks;
  for (const auto& part : split(text, ',')) {
    std::int64_t length = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), length);
    if (error != std::errc() || end != part.data() + part.size() || length < 1)
      settings.fail("chunks", fmt::format("is \"{}\", no lengths with commas between them", text),
                    "such as 2,3,5");
    chunks.push_back(length);
  }
  const auto sum = std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0});
  if (sum != steps)
    settings.fail("chunks",
                  fmt::format("is {}, which add up to {}, but {} steps are trained", text, sum, steps),
                  "choose lengths that add up to trained_steps");
  return chunks;
}

double mean_length(const std::vector<std::int64_t>& chunks, int steps) {
  return static_cast<double>(steps) / static_cast<double>(chunks.size());
}

/// Chunk-GRPO (arXiv 2510.21583; xingzhejun/GCPO, train_grpo_flux_pickscore.py): the trained steps in chunks
/// of similar dynamics, from noise to data, one clipped ratio (E12) a chunk, exp(mean of y over it); the loss
/// is the mean over chunks. The mean of n log-ratios spreads 1 / sqrt(n) as much as one, so the radius is
/// flow-grpo's over sqrt(mean chunk length).
///
/// Public FLUX numbers: 16 trained steps in chunks 2,3,4,7, radius 5e-5. The public code trains a random half
/// of a sample's chunks, and may prefer those in which x changes most; here all are trained.
class ChunkGrpo : public TrajectoryMethod {
 public:
  ChunkGrpo(Settings& settings, const MethodContext& context)
      : chunks_(read_chunks(settings, context.trained_steps)),
        clip_(plain_radius(settings, context, 1 / std::sqrt(mean_length(chunks_, context.trained_steps)))) {
    std::vector<std::string> lengths;
    for (const auto length : chunks_) lengths.push_back(std::to_string(length));
    settings.report("chunks", join(lengths, ","));
  }

  std::vector<Surrogate> trajectory(const TrajectoryStats& stats) const override {
    std::vector<Surrogate> surrogates;
    for (const auto& y : stats.y.split_with_sizes(chunks_)) surrogates.push_back(chunk_surrogate(y, clip_));
    return surrogates;
  }

  std::vector<int> chunks(int /*steps*/) const override { return {chunks_.begin(), chunks_.end()}; }

  static std::vector<Setting> settings() {
    return merged(plain_clip_settings("public: 1e-4 sqrt(65536 / D) / sqrt(n); one-sigma: sqrt(tau / D) / "
                                      "sqrt(n), n the mean chunk length"),
                  {{.name = "chunks",
                    .default_value = "auto",
                    .help = "lengths of the chunks of trained steps, comma-separated, from the noisiest; "
                            "auto: 2,3,5 of 10 steps, in proportion for other numbers of them"}});
  }

 private:
  std::vector<std::int64_t> chunks_;
  double clip_;
};

const bool kRegistered = register_method({
    .name = "chunk-grpo",
    .summary = "one clipped ratio for each chunk of consecutive steps",
    .equations = "r_c = exp(mean of y_k over chunk c) (E12)",
    .settings = ChunkGrpo::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<ChunkGrpo>(s, c); },
});

}  // namespace
}  // namespace harness
