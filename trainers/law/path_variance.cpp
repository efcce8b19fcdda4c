#include "trainers/law/path_variance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/require.h"

namespace harness {
namespace {

double median_ratio(std::vector<double> log_ratios) {
  for (double& y : log_ratios) y = std::exp(y);
  return median_of(std::move(log_ratios));
}

double clipped_share(const StepRecord& record) {
  if (!record.clipped.empty()) return mean_of(record.clipped);
  const auto outside =
      std::ranges::count_if(record.ratio, [&](double r) { return !(std::abs(r - 1) <= record.clip); });
  return static_cast<double>(outside) / static_cast<double>(record.ratio.size());
}

}  // namespace

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double sample_variance(std::span<const double> values) {
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const double center = mean_of(values);
  double sum = 0;
  for (const double v : values) sum += (v - center) * (v - center);
  return sum / static_cast<double>(values.size() - 1);
}

double effective_share(std::span<const double> log_weights) {
  const double largest = std::ranges::max(log_weights);
  double sum = 0, squares = 0;
  for (const double l : log_weights) {
    const double w = std::exp(l - largest);
    sum += w;
    squares += w * w;
  }
  return sum * sum / (static_cast<double>(log_weights.size()) * squares);
}

std::vector<StepLaw> step_laws(std::span<const StepRecord> records, std::int64_t latent_size,
                               bool are_paths) {
  std::vector<StepLaw> laws;
  std::vector<double> path;  // log of the product of exp(y) so far
  for (const auto& r : records) {
    require(!r.y.empty() && r.y.size() == r.lambda_center.size() && r.y.size() == r.ratio.size(),
            "a step has one value of each kind a sample");
    if (are_paths) {
      path.resize(r.y.size(), 0.0);
      require(path.size() == records.front().y.size(), "every step has the same samples");
      for (std::size_t i = 0; i < path.size(); ++i) path[i] += r.y[i];
    }
    const double center = mean_of(r.lambda_center);
    laws.push_back({.lambda_center = center,
                    .lambda_var = center / static_cast<double>(latent_size),
                    .log_ratio_mean = mean_of(r.y),
                    .log_ratio_var = sample_variance(r.y),
                    .ratio_median = median_ratio(r.y),
                    .step_ess = effective_share(r.y),
                    .path_ess = are_paths ? effective_share(path) : std::numeric_limits<double>::quiet_NaN(),
                    .clip_fraction = clipped_share(r)});
  }
  return laws;
}

double mean_over(std::span<const StepLaw> laws, double StepLaw::*statistic) {
  require(!laws.empty(), "a mean is over a step or more");
  double sum = 0;
  for (const auto& law : laws) sum += law.*statistic;
  return sum / static_cast<double>(laws.size());
}

}  // namespace harness
