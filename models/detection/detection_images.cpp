#include "models/detection/detection_images.h"

#include <algorithm>
#include <cmath>

namespace harness {
namespace {

using torch::Tensor;

/// The two pixels that a place lies between and their weights in 1/2048.
struct Between {
  int first = 0, second = 0;
  int first_weight = 0, second_weight = 0;
};

/// Beyond the edge along x OpenCV moves a place onto it; along y it keeps the weights and takes the edge's
/// row twice, which rounds otherwise.
std::vector<Between> between(int from, int to, bool onto_edge) {
  constexpr int kOne = 1 << 11;
  std::vector<Between> places;
  const double scale = static_cast<double>(from) / to;
  for (int i = 0; i < to; ++i) {
    auto place = static_cast<float>((i + 0.5) * scale - 0.5);
    int first = static_cast<int>(std::floor(place));
    place -= static_cast<float>(first);
    if (onto_edge && (first < 0 || first >= from - 1)) place = 0;
    const auto weight = [](float share) { return static_cast<int>(std::lrint(share * kOne)); };
    const auto inside = [from](int at) { return std::clamp(at, 0, from - 1); };
    places.push_back({inside(first), inside(first + 1), weight(1 - place), weight(place)});
  }
  return places;
}

/// The best `count` (query, class) pairs.
struct Pairs {
  Tensor probabilities;  ///< [count], falling
  Tensor queries, labels;
};

Pairs best_pairs(const Tensor& classes, std::int64_t count) {
  const auto known = classes.size(1) - 1;
  const auto all = classes.softmax(-1).narrow(1, 0, known).flatten();
  const auto [values, indices] = all.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
  const auto best = indices.narrow(0, 0, std::min(count, all.size(0)));
  return {values.narrow(0, 0, best.size(0)), best.div(known, "floor"), best.remainder(known)};
}

/// Of each mask the mean probability inside it. logits [N,h,w] -> [N].
Tensor mask_scores(const Tensor& logits) {
  const auto inside = (logits > 0).to(torch::kFloat32).flatten(1);
  return (logits.sigmoid().flatten(1) * inside).sum(1) / (inside.sum(1) + 1e-6);
}

Tensor resized(const Tensor& masks, std::int64_t rows, std::int64_t columns) {
  return torch::upsample_bilinear2d(masks.unsqueeze(0), {rows, columns}, /*align_corners=*/false)[0];
}

std::array<std::int64_t, 4> box_of(const Tensor& mask) {
  const auto columns = mask.any(0).nonzero().flatten(), rows = mask.any(1).nonzero().flatten();
  if (rows.size(0) == 0) return {};
  const auto at = [](const Tensor& x, std::int64_t i) { return x[i].item<std::int64_t>(); };
  return {at(columns, 0), at(rows, 0), at(columns, -1) + 1, at(rows, -1) + 1};
}

/// scores [N] on the CPU, labels [N], masks [N,H,W] bool.
std::vector<DetectedObject> objects_of(const Tensor& scores, const Tensor& labels, const Tensor& masks) {
  std::vector<DetectedObject> objects;
  for (std::int64_t i = 0; i < scores.size(0); ++i) {
    const auto mask = masks[i];
    objects.push_back({labels[i].item<std::int64_t>(), scores[i].item<float>(), box_of(mask), mask});
  }
  std::ranges::stable_sort(objects, std::greater<>(), &DetectedObject::score);
  return objects;
}

}  // namespace

DetectorSize detector_size(const DetectionImageConfig& config, std::int64_t width, std::int64_t height) {
  const auto shorter = static_cast<double>(std::min(width, height));
  const auto longer = static_cast<double>(std::max(width, height));
  const double scale = std::min(static_cast<double>(config.longest_edge) / longer,
                                static_cast<double>(config.shortest_edge) / shorter);
  const auto scaled = [scale](std::int64_t side) {
    return static_cast<std::int64_t>(static_cast<double>(side) * scale + 0.5);
  };
  const auto filled = [&config](std::int64_t side) {
    return (side + config.size_divisor - 1) / config.size_divisor * config.size_divisor;
  };
  const auto rows = std::max<std::int64_t>(scaled(height), 1),
             columns = std::max<std::int64_t>(scaled(width), 1);
  return {rows, columns, filled(rows), filled(columns)};
}

Image opencv_resize(const Image& image, int width, int height) {
  const auto xs = between(image.width, width, true), ys = between(image.height, height, false);
  constexpr int kChannels = 3;
  const auto row_size = static_cast<std::size_t>(width) * kChannels;
  // Rows scaled along x, in 1/2048.
  const auto scaled_row = [&](int y) {
    const auto* pixels = image.rgb.data() + static_cast<std::size_t>(y) * image.width * kChannels;
    std::vector<int> row;
    row.reserve(row_size);
    for (const auto& x : xs) {
      for (int c = 0; c < kChannels; ++c) {
        row.push_back(pixels[x.first * kChannels + c] * x.first_weight +
                      pixels[x.second * kChannels + c] * x.second_weight);
      }
    }
    return row;
  };
  Image out{width, height, std::vector<std::uint8_t>(row_size * static_cast<std::size_t>(height))};
  int above_at = -1, below_at = -1;
  std::vector<int> above, below;
  for (int y = 0; y < height; ++y) {
    const auto& place = ys[static_cast<std::size_t>(y)];
    if (place.first == below_at) std::swap(above, below), above_at = below_at, below_at = -1;
    if (place.first != above_at) above = scaled_row(above_at = place.first);
    if (place.second != below_at) below = scaled_row(below_at = place.second);
    auto* to = out.rgb.data() + static_cast<std::size_t>(y) * row_size;
    for (std::size_t i = 0; i < row_size; ++i) {
      const int sum =
          ((place.first_weight * (above[i] >> 4)) >> 16) + ((place.second_weight * (below[i] >> 4)) >> 16);
      to[i] = static_cast<std::uint8_t>(std::clamp((sum + 2) >> 2, 0, 255));
    }
  }
  return out;
}

Tensor detector_pixel_values(const DetectionImageConfig& config, const Image& image, bool exchange) {
  const auto size = detector_size(config, image.width, image.height);
  const auto scaled = opencv_resize(image, static_cast<int>(size.columns), static_cast<int>(size.rows));
  auto pixels = torch::tensor(at::ArrayRef<std::uint8_t>(scaled.rgb), torch::kUInt8)
                    .view({size.rows, size.columns, 3})
                    .permute({2, 0, 1})
                    .to(torch::kFloat32);
  if (exchange) pixels = pixels.flip(0);
  pixels = torch::constant_pad_nd(
      pixels, {0, size.padded_columns - size.columns, 0, size.padded_rows - size.rows}, config.pad_value);
  const auto three = [](const std::array<double, 3>& values) {
    return torch::tensor(at::ArrayRef<double>(values), torch::kFloat32).view({3, 1, 1});
  };
  return (pixels - three(config.mean)) / three(config.std);
}

std::vector<DetectedObject> objects_as_mmdetection(const Tensor& classes, const Tensor& masks,
                                                   const DetectorSize& size, std::int64_t width,
                                                   std::int64_t height, double least) {
  constexpr std::int64_t kMost = 100;
  const auto best = best_pairs(classes, kMost);
  const auto count = (best.probabilities > least).sum().item<std::int64_t>();
  if (count == 0) return {};
  const auto chosen = masks.index_select(0, best.queries.narrow(0, 0, count));
  const auto of_input = resized(chosen, size.padded_rows, size.padded_columns)
                            .narrow(1, 0, size.rows)
                            .narrow(2, 0, size.columns);
  const auto logits = resized(of_input, height, width);
  const auto scores = best.probabilities.narrow(0, 0, count) * mask_scores(logits);
  return objects_of(scores.to(torch::kCPU), best.labels.to(torch::kCPU), (logits > 0).to(torch::kCPU));
}

std::vector<DetectedObject> objects_as_transformers(const Tensor& classes, const Tensor& masks,
                                                    std::int64_t width, std::int64_t height,
                                                    double threshold) {
  constexpr std::int64_t kJudgedAt = 384;
  const auto best = best_pairs(classes, classes.size(0));
  const auto logits = resized(masks.index_select(0, best.queries), kJudgedAt, kJudgedAt);
  const auto scores = best.probabilities * mask_scores(logits);
  const auto scaled =
      torch::upsample_nearest2d((logits > 0).to(torch::kFloat32).unsqueeze(0), {height, width})[0];
  auto objects =
      objects_of(scores.to(torch::kCPU), best.labels.to(torch::kCPU), (scaled > 0).to(torch::kCPU));
  std::erase_if(objects, [threshold](const DetectedObject& object) {
    return object.score < threshold || object.box[2] == 0;
  });
  return objects;
}

}  // namespace harness
