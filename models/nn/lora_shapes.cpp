#include "models/nn/lora_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

bool is_name(std::string_view text) {
  return std::ranges::all_of(text,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
}

/// Whether Python's expressions and ECMAScript's, which is what is read here, may mean different things by
/// it.
bool is_of_python_alone(std::string_view key) {
  constexpr std::string_view kSameClasses = "dDsSwWbB";
  for (std::size_t i = 0; i + 1 < key.size(); ++i) {
    const char next = key[i + 1];
    if (key[i] == '\\') {
      if (std::isalnum(static_cast<unsigned char>(next)) != 0 &&
          kSameClasses.find(next) == std::string_view::npos)
        return true;
      ++i;
    } else if (key[i] == '(' && next == '?') {
      const auto kind = key.substr(i + 2, 1);
      if (kind != ":" && kind != "=" && kind != "!") return true;
    } else if (key[i] == '[' && (next == ']' || key.substr(i + 1, 2) == "^]")) {
      return true;
    }
  }
  return false;
}

/// The value of the first key that matches, as peft finds it.
template <class T>
T value_of(const std::vector<std::pair<LayerPattern, T>>& values, const std::string& layer, T otherwise) {
  const auto found =
      std::ranges::find_if(values, [&](const auto& value) { return value.first.matches(layer); });
  return found == values.end() ? otherwise : found->second;
}

}  // namespace

LayerPattern::LayerPattern(const std::string& key, const std::string& where) {
  is_whole_ = key.starts_with('^');
  name_ = is_whole_ ? key.substr(1) : key;
  if (is_name(name_)) return;
  try {
    if (!is_of_python_alone(key)) expression_.emplace("(.*\\.)?(" + key + ")");
  } catch (const std::regex_error&) {
  }
  if (!expression_)
    throw Error(fmt::format("unsupported regular expression {}", in_quotes(key)), where,
                "name the layers, or use ., *, +, ?, |, [...], (...) and \\d alone");
}

bool LayerPattern::matches(const std::string& layer) const {
  if (expression_) return std::regex_match(layer, *expression_);
  if (layer.size() < name_.size()) return false;
  const auto rest = layer.size() - name_.size();
  if (rest > 0 && (is_whole_ || layer[rest - 1] != '.')) return false;
  return std::equal(name_.begin(), name_.end(), layer.begin() + static_cast<std::ptrdiff_t>(rest),
                    [](char ours, char theirs) { return ours == '.' || ours == theirs; });
}

LoraShapes::LoraShapes(const LoraConfig& config, const std::string& where)
    : shape_of_others_{config.rank, config.alpha, 0}, use_rslora_(config.use_rslora) {
  for (const auto& [key, rank] : config.rank_pattern)
    ranks_.emplace_back(LayerPattern(key, where + ": rank_pattern"), rank);
  for (const auto& [key, alpha] : config.alpha_pattern)
    alphas_.emplace_back(LayerPattern(key, where + ": alpha_pattern"), alpha);
}

LoraShape LoraShapes::of(const std::string& layer) const {
  LoraShape shape{.rank = value_of(ranks_, layer, shape_of_others_.rank),
                  .alpha = value_of(alphas_, layer, shape_of_others_.alpha)};
  const auto rank = static_cast<double>(shape.rank);
  shape.scale = shape.alpha / (use_rslora_ ? std::sqrt(rank) : rank);
  return shape;
}

}  // namespace harness
