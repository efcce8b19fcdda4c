#include "worker/outside_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "worker/outside_weights.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr double kOneTraining = 0.5;
constexpr std::size_t kFewLayers = 8;  // that show which of many checkpoints to compare over all layers

using Parameters = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;  ///< names and shapes

struct Checkpoint {
  std::int64_t run = 0, seed = 0, step = 0;  ///< run: its index in the row
  fs::path place;
  OutsideMovement movement;
  bool is_end = false;  ///< the first or last of its run

  std::string name() const { return fmt::format("{} (seed {}, step {})", place.string(), seed, step); }
};

/// The base model. Small backbones are loaded; of large ones one tensor at a time is read.
class Base {
 public:
  explicit Base(BackboneSource source) : folder_(source.folder) {
    source.headers_only = true;
    backbone_ = Backbone::load(source);
    for (const auto& item : backbone_->velocity_network().named_parameters())
      parameters_.emplace_back(item.key(), item.value().sizes().vec());
    const auto read = state_of(backbone_->velocity_network());
    const auto has_memory = [](const auto& one) { return one.second.is_contiguous(); };
    if (std::ranges::all_of(read, has_memory)) {
      for (const auto& [name, tensor] : read) tensors_[name] = tensor.detach().clone();
    }
  }

  Backbone& backbone() { return *backbone_; }
  const Parameters& parameters() const { return parameters_; }

  /// Float32.
  torch::Tensor tensor(const std::string& name) {
    if (!tensors_.empty()) return tensors_.at(name).to(torch::kFloat32);
    return read_tensor(stored(), name, stored().at(name).shape);
  }

  torch::ScalarType type(const std::string& name) {
    return tensors_.empty() ? stored_type(stored().at(name)) : tensors_.at(name).scalar_type();
  }

 private:
  const ModelWeights& stored() {
    if (!stored_) stored_ = ModelWeights::open(folder_ / "transformer", "diffusion_pytorch_model");
    return *stored_;
  }

  fs::path folder_;
  std::unique_ptr<Backbone> backbone_;
  Parameters parameters_;
  TensorMap tensors_;
  std::optional<ModelWeights> stored_;
};

/// Inner products of updates s B A of one layer, [K,K].
torch::Tensor products_of(const std::vector<LowRank>& updates) {
  std::vector<torch::Tensor> as, bs;
  std::vector<std::int64_t> ranks;
  for (const auto& update : updates) {
    as.push_back(update.a * update.scale);
    bs.push_back(update.b.t());
    ranks.push_back(update.a.size(0));
  }
  const auto a = torch::cat(as), b = torch::cat(bs);
  const auto both = (a.mm(a.t()) * b.mm(b.t())).to(torch::kFloat64);
  const auto count = std::ssize(updates);
  auto products = torch::empty({count, count}, torch::kFloat64);
  const auto rows = both.split_with_sizes(ranks);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto blocks = rows[static_cast<std::size_t>(i)].split_with_sizes(ranks, 1);
    for (std::int64_t j = 0; j < count; ++j) products[i][j] = blocks[static_cast<std::size_t>(j)].sum();
  }
  return products;
}

/// float32 values rounded to all these types, so that rounding alone is no common movement of two
/// checkpoints.
torch::Tensor rounded(torch::Tensor values, const std::set<torch::ScalarType>& types) {
  for (const auto type : types) values = values.to(type).to(torch::kFloat32);
  return values;
}

torch::Tensor products_of(const std::vector<torch::Tensor>& differences) {
  std::vector<torch::Tensor> flat;
  for (const auto& one : differences) flat.push_back(one.flatten());
  const auto all = torch::stack(flat);
  return all.mm(all.t()).to(torch::kFloat64);
}

/// Inner products of the movements over these parameters; bases: one, or one per run.
torch::Tensor inner_products(const std::vector<const Checkpoint*>& chosen, std::vector<Base>& bases,
                             const Parameters& parameters) {
  const auto count = std::ssize(chosen);
  auto sum = torch::zeros({count, count}, torch::kFloat64);
  const auto base_of = [&](const Checkpoint& one) -> Base& {
    return bases[bases.size() > 1 ? static_cast<std::size_t>(one.run) : 0];
  };
  for (const auto& [parameter, shape] : parameters) {
    const auto moves = [&, &name = parameter](const auto* one) { return one->movement.moves(name); };
    if (std::ranges::none_of(chosen, moves)) continue;
    const auto is_adapter = [](const auto* one) { return one->movement.is_adapter(); };
    if (std::ranges::all_of(chosen, is_adapter) && std::ranges::all_of(chosen, moves)) {
      std::vector<LowRank> updates;
      for (const auto* one : chosen) updates.push_back(one->movement.update(parameter));
      sum += products_of(updates);
      continue;
    }
    const bool needs_base = !std::ranges::all_of(chosen, is_adapter);
    std::set<torch::ScalarType> types;
    for (const auto* one : chosen) {
      if (needs_base) types.insert({one->movement.type(parameter), base_of(*one).type(parameter)});
    }
    std::vector<torch::Tensor> differences;
    for (const auto* one : chosen) {
      const auto base = needs_base ? base_of(*one).tensor(parameter) : torch::zeros(shape);
      differences.push_back(rounded(one->movement.moved(parameter, base), types) - rounded(base, types));
    }
    sum += products_of(differences);
  }
  return sum;
}

std::vector<Checkpoint> open_row(const Json& row, const std::string& backbone, bool uses_ema, Base& base) {
  std::vector<Checkpoint> checkpoints;
  std::int64_t number = 0;
  for (const auto& run : row.at("runs")) {
    const auto& list = run.at("checkpoints");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const fs::path place = list[i].at("place").get<std::string>();
      checkpoints.push_back(
          {.run = number,
           .seed = run.at("seed").get<std::int64_t>(),
           .step = list[i].at("step").get<std::int64_t>(),
           .place = place,
           .movement = OutsideMovement(find_outside_checkpoint(place), backbone, uses_ema, base.backbone()),
           .is_end = i == 0 || i + 1 == list.size()});
    }
    ++number;
  }
  return checkpoints;
}

/// Adapters are small: each is read completely before anything runs.
void read_all(const Checkpoint& checkpoint, const Base& base) {
  if (!checkpoint.movement.is_adapter()) return;
  for (const auto& [parameter, _] : base.parameters())
    if (checkpoint.movement.moves(parameter)) checkpoint.movement.update(parameter);
}

/// A sentence on the similarity of a row's runs, and on checkpoints that equal the base model.
std::string compare_runs(const std::string& row, const std::vector<const Checkpoint*>& ends,
                         std::vector<Base>& bases) {
  const torch::NoGradGuard no_grad;
  const auto products = inner_products(ends, bases, bases.front().parameters());
  const auto at = [&](std::size_t i, std::size_t j) {
    return products[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(j)].item<double>();
  };
  double least = 1, most = -1;
  std::string still;
  std::set<std::int64_t> trained;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (at(i, i) > 0)
      trained.insert(ends[i]->run);
    else
      still += fmt::format(" {} equals the base model: nothing in it is trained.", ends[i]->name());
  }
  const bool has_runs = ends.front()->run != ends.back()->run;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (has_runs && !trained.contains(ends[i]->run))
      throw Error(fmt::format("the run of seed {} is not trained: {} equals the base model", ends[i]->seed,
                              ends[i]->name()),
                  "--adapter " + row, "give checkpoints that were trained");
    for (std::size_t j = 0; j < i; ++j) {
      if (ends[i]->run == ends[j]->run || at(i, i) == 0 || at(j, j) == 0) continue;
      const double cosine = at(i, j) / std::sqrt(at(i, i) * at(j, j));
      least = std::min(least, cosine);
      most = std::max(most, cosine);
      if (!(cosine > kOneTraining)) continue;
      throw Error(
          fmt::format("the runs of seeds {} and {} are one training, not two: what {} and {} change of the "
                      "base model has a cosine of {:.3f}, above {} (measured: 0.79 to 0.98 between "
                      "checkpoints of one training, at most 0.30 between trainings)",
                      ends[j]->seed, ends[i]->seed, ends[j]->name(), ends[i]->name(), cosine, kOneTraining),
          "--adapter " + row,
          "give each seed the run that was trained with it, or choose one of the --seeds");
    }
  }
  if (most < least) return still;
  const auto first = fmt::format("{:.2f}", least), last = fmt::format("{:.2f}", most);
  return fmt::format(" Between runs, what they change of the base model has {}.{}",
                     first == last ? "a cosine of " + first : fmt::format("cosines of {} to {}", first, last),
                     still);
}

/// A few of the parameters that all checkpoints change. What only some change makes no cosine larger.
Parameters few_of(const Parameters& all, const std::vector<const Checkpoint*>& chosen) {
  Parameters common, few;
  for (const auto& parameter : all) {
    const auto moves = [&](const auto* one) { return one->movement.moves(parameter.first); };
    if (std::ranges::all_of(chosen, moves)) common.push_back(parameter);
  }
  const auto apart = std::max<std::size_t>(1, common.size() / kFewLayers);
  for (std::size_t i = 0; i < common.size(); i += apart) few.push_back(common[i]);
  return few;
}

/// The same for checkpoints between a run's first and last: over a few layers, and over all where these are
/// alike.
void compare_between(const std::string& row, const std::vector<const Checkpoint*>& adapters,
                     std::vector<Base>& bases) {
  const torch::NoGradGuard no_grad;
  const auto products = inner_products(adapters, bases, few_of(bases.front().parameters(), adapters));
  const auto sizes = products.diagonal().sqrt();
  const auto cosines = products / sizes.outer(sizes);  // not a number where nothing is trained
  const auto at = cosines.accessor<double, 2>();
  for (std::int64_t i = 0; i < std::ssize(adapters); ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      const auto *one = adapters[static_cast<std::size_t>(j)], *other = adapters[static_cast<std::size_t>(i)];
      if (one->run != other->run && at[i][j] > kOneTraining) compare_runs(row, {one, other}, bases);
    }
  }
}

std::string check_row(const Json& row, const BackboneSource& source, bool uses_ema) {
  const auto name = row.at("row").get<std::string>();
  std::vector<Base> bases;
  for (const auto& run : row.at("runs")) {
    auto own = source;
    own.seed = run.at("seed").get<std::uint64_t>();
    bases.emplace_back(own);
    if (!source.folder.empty()) break;  // else weights are random, by the run's seed
  }
  std::vector<Checkpoint> checkpoints;
  try {
    checkpoints = open_row(row, source.name, uses_ema, bases.front());
    for (const auto& one : checkpoints) read_all(one, bases.front());
  } catch (const Error& error) {
    throw Error(error.problem(), fmt::format("--adapter {}: {}", name, error.where()), error.hint(),
                error.status());
  }
  std::set<std::string> forms;
  std::vector<const Checkpoint*> all, ends;
  bool has_networks = false;
  for (const auto& one : checkpoints) {
    forms.insert(one.movement.form());
    has_networks |= !one.movement.is_adapter();
    all.push_back(&one);
    if (one.is_end) ends.push_back(&one);
  }
  const auto runs = std::ssize(row.at("runs"));
  // For one run of whole networks this would read gigabytes in vain.
  const auto more = runs > 1 || !has_networks ? compare_runs(name, ends, bases) : std::string();
  if (runs > 1 && !has_networks && all.size() > ends.size()) compare_between(name, all, bases);
  const std::vector<std::string> names(forms.begin(), forms.end());
  return fmt::format("{}: {} of {}, fit for {}: {}.{}", name, counted(std::ssize(checkpoints), "checkpoint"),
                     counted(runs, "run"), source.name, join(names, "; "), more);
}

}  // namespace

std::vector<std::string> check_outside(const Json& rows, const BackboneSource& source, bool uses_ema) {
  std::vector<std::string> sentences;
  for (const auto& row : rows) sentences.push_back(check_row(row, source, uses_ema));
  return sentences;
}

}  // namespace harness
