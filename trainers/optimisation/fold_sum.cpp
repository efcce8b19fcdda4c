#include "trainers/optimisation/fold_sum.h"

#include <algorithm>
#include <string>

namespace harness {
namespace {

/// A range of elements of one parameter.
struct Segment {
  std::size_t parameter;
  std::int64_t first, count;
};

/// The elements of all parameters in buckets of at most `most`.
std::vector<std::vector<Segment>> buckets_of(const std::vector<torch::Tensor>& shapes, std::int64_t most) {
  std::vector<std::vector<Segment>> buckets(1);
  std::int64_t room = most;
  for (std::size_t p = 0; p < shapes.size(); ++p) {
    for (std::int64_t first = 0; first < shapes[p].numel();) {
      if (room == 0) {
        buckets.emplace_back();
        room = most;
      }
      const auto count = std::min(room, shapes[p].numel() - first);
      buckets.back().push_back({p, first, count});
      first += count;
      room -= count;
    }
  }
  return buckets;
}

torch::Tensor part(const torch::Tensor& whole, const Segment& segment) {
  return whole.view({-1}).narrow(0, segment.first, segment.count);
}

}  // namespace

FoldSum::FoldSum(std::size_t parameters, std::size_t tasks, std::size_t folds, const Ranks& ranks)
    : ranks_(ranks), own_(ranks.part_of(folds)), total_(parameters) {
  TORCH_CHECK(folds > 0 && tasks % folds == 0, "folds must be of equal size");
  tasks_of_a_fold_ = tasks / folds;
  for (std::size_t i = 0; i < own_.count(); ++i)
    folds_.push_back({.sum = std::make_unique<GradientSum>(parameters), .missing = tasks_of_a_fold_});
}

void FoldSum::add(std::size_t task, Gradients gradients, double weight) {
  auto& fold = folds_.at(task / tasks_of_a_fold_ - own_.first);
  fold.sum->add(task % tasks_of_a_fold_, std::move(gradients), weight);
  const std::lock_guard lock(mutex_);
  --fold.missing;
  if (ranks_.size() == 1) merge_complete();
}

void FoldSum::merge_complete() {
  const torch::NoGradGuard no_grad;
  for (; merged_ < folds_.size() && folds_[merged_].missing == 0; ++merged_) {
    const auto sum = std::move(folds_[merged_].sum);
    const auto& without_weights = sum->undamped();
    if (without_weights && !undamped_) undamped_ = copy_of(total_);
    if (undamped_) add_gradients(*undamped_, without_weights ? *without_weights : sum->total());
    add_gradients(total_, sum->total());
  }
}

void FoldSum::gather(const std::vector<torch::Tensor>& shapes) {
  TORCH_CHECK(std::ranges::all_of(folds_, [](const Fold& fold) { return fold.missing == 0; }),
              "a task's gradients are missing");
  if (ranks_.size() == 1) return;
  const torch::NoGradGuard no_grad;
  const bool has_weights =
      std::ranges::any_of(folds_, [](const Fold& fold) { return fold.sum->undamped().has_value(); });
  std::vector<Gradients> totals, without_weights;
  const bool any_weights = ranks_.any(has_weights);
  for (const auto& fold : folds_) {
    if (any_weights) without_weights.push_back(fold.sum->undamped().value_or(fold.sum->total()));
    totals.push_back(fold.sum->total());
  }
  total_ = sum_over_ranks(std::move(totals), shapes);
  if (any_weights) undamped_ = sum_over_ranks(std::move(without_weights), shapes);
  folds_.clear();
}

FoldSum::Gradients FoldSum::sum_over_ranks(std::vector<Gradients> own,
                                           const std::vector<torch::Tensor>& shapes) const {
  constexpr std::int64_t kBucket = 1 << 24;  // elements of a process: 64 MB of float32
  // Which folds have a gradient of which parameter: as in a single process, others add nothing.
  std::string defined;
  for (const auto& fold : own) {
    for (const auto& gradient : fold) defined += gradient.defined() ? '1' : '0';
  }
  std::string all_defined;
  for (const auto& text : ranks_.gather(defined)) all_defined += text;
  const auto has = [&](std::size_t fold, std::size_t parameter) {
    return all_defined[fold * shapes.size() + parameter] == '1';
  };
  const auto folds = own.size() * static_cast<std::size_t>(ranks_.size());
  Gradients sum(shapes.size());
  const auto rows = static_cast<std::int64_t>(own.size());
  for (const auto& bucket : buckets_of(shapes, std::max<std::int64_t>(1, kBucket / rows))) {
    std::int64_t width = 0;
    for (const auto& segment : bucket) width += segment.count;
    if (width == 0) continue;
    auto mine = torch::zeros({rows, width}, shapes[bucket.front().parameter].options());
    std::int64_t at = 0;
    for (const auto& segment : bucket) {
      for (std::size_t f = 0; f < own.size(); ++f) {
        const auto& gradient = own[f][segment.parameter];
        if (gradient.defined())
          mine[static_cast<std::int64_t>(f)].narrow(0, at, segment.count).copy_(part(gradient, segment));
      }
      at += segment.count;
    }
    const auto all = ranks_.gather(mine).view({static_cast<std::int64_t>(folds), width});
    at = 0;
    for (const auto& segment : bucket) {
      const auto p = segment.parameter;
      bool is_first = true;
      for (std::size_t f = 0; f < folds; ++f) {
        if (!has(f, p)) continue;
        if (!sum[p].defined()) sum[p] = torch::empty(shapes[p].sizes(), shapes[p].options());
        auto into = part(sum[p], segment);
        const auto added = all[static_cast<std::int64_t>(f)].narrow(0, at, segment.count);
        if (std::exchange(is_first, false)) {
          into.copy_(added);
        } else {
          into.add_(added);
        }
      }
      at += segment.count;
    }
  }
  return sum;
}

const FoldSum::Gradients& FoldSum::total() const {
  TORCH_CHECK(folds_.size() == merged_, "the folds were not gathered");
  return total_;
}

const FoldSum::Gradients& FoldSum::undamped() const {
  return undamped_.value();
}

}  // namespace harness
