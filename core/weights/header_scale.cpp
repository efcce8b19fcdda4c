#include "core/weights/header_scale.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <cmath>
#include <locale>
#include <set>
#include <string_view>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr auto kHint =
    "save the adapter as peft does (adapter_config.json) or with alpha tensors, or take the key out of the header";

/// One value of the header, also of a JSON object in it.
struct Statement {
  std::string key;   ///< "network.linear_alpha"
  std::string leaf;  ///< "linear_alpha"
  std::string value;
  bool is_of_header = true;  ///< and not of an object in it
};

std::string leaf_of(const std::string& key) {
  auto leaf = key.substr(key.find_last_of('.') + 1);
  boost::algorithm::to_lower(leaf, std::locale::classic());
  return leaf;
}

const std::set<std::string> kAlphas = {"lora_alpha", "network_alpha", "ss_network_alpha", "linear_alpha"};
const std::set<std::string> kPatterns = {"alpha_pattern", "rank_pattern"};

/// The members of those objects that name an alpha: others use its words for other things.
void collect(const std::string& key, const Json& object, std::vector<Statement>& found) {
  const auto names_alpha = [](const auto& item) { return kAlphas.contains(leaf_of(item.key())); };
  const auto items = object.items();
  const bool is_of_adapter = std::any_of(items.begin(), items.end(), names_alpha);
  for (const auto& [name, value] : items) {
    const auto path = key + "." + name;
    if (value.is_object()) collect(path, value, found);
    const bool is_empty = value.is_structured() && value.empty();
    if (!is_of_adapter || is_empty || (value.is_structured() && !kPatterns.contains(leaf_of(path)))) continue;
    found.push_back({.key = path,
                     .leaf = leaf_of(path),
                     .value = value.is_string() ? value.get<std::string>() : value.dump(),
                     .is_of_header = false});
  }
}

/// Without those of text encoders, whose adapters are refused by their tensors.
std::vector<Statement> statements_of(const SafetensorsFile& file) {
  std::vector<Statement> found;
  for (const auto& [key, text] : file.metadata()) {
    if (key == kDiffusersMetadata) continue;
    found.push_back({.key = key, .leaf = leaf_of(key), .value = text});
    if (const auto document = Json::parse(text, nullptr, false); document.is_object())
      collect(key, document, found);
  }
  std::erase_if(found, [](const auto& one) { return one.key.find("text_encoder") != std::string::npos; });
  return found;
}

std::optional<double> number_of(std::string_view text) {
  return parse_number<double>(trim(text));
}

bool is_one_of(const std::string& word, const std::set<std::string>& words) {
  return words.contains(word);
}

bool is_null_text(const std::string& value) {
  return is_one_of(value, {"", "None", "none", "null"});
}

/// By its name, or in the header itself any number whose name speaks of alpha; conv_alpha is that of
/// convolutions, which no adapter has here.
bool is_alpha(const Statement& one) {
  if (is_null_text(one.value)) return false;
  if (kPatterns.contains(one.leaf)) return false;
  if (kAlphas.contains(one.leaf)) return true;
  return one.is_of_header && one.leaf.find("alpha") != std::string::npos && one.leaf != "conv_alpha" &&
         number_of(one.value).has_value();
}

bool is_rank(const Statement& one) {
  return is_one_of(one.leaf, {"r", "rank", "lora_rank", "lora_r", "lora_dim", "network_dim", "network_rank",
                              "ss_network_dim"}) &&
         number_of(one.value).has_value();
}

bool is_scale(const Statement& one) {
  return one.is_of_header &&
         is_one_of(one.leaf, {"scale", "lora_scale", "scaling", "lora_scaling", "multiplier",
                              "network_multiplier", "network_mul"}) &&
         number_of(one.value).has_value();
}

bool is_rslora(const Statement& one) {
  return is_one_of(one.leaf, {"use_rslora", "rslora", "rs_lora"}) &&
         is_one_of(one.value, {"true", "True", "1"});
}

std::string shown(const Statement& one) {
  return fmt::format("{} = {}", in_quotes(one.key), one.value);
}

/// The one alpha of the header.
std::optional<Statement> alpha_of(const std::vector<Statement>& statements, const std::string& where) {
  std::optional<Statement> found;
  for (const auto& one : statements) {
    if (!is_alpha(one)) continue;
    const auto alpha = number_of(one.value);
    if (!alpha || !std::isfinite(*alpha) || *alpha <= 0)
      throw Error(fmt::format("its header names {}, which is not a number above 0", shown(one)), where,
                  kHint);
    if (found && number_of(found->value) != alpha)
      throw Error(fmt::format("its header names {} and {}: which one counts?", shown(*found), shown(one)),
                  where, kHint);
    if (!found) found = one;
  }
  return found;
}

/// Of all matrices A, and whether the file has tensors of alpha.
struct Shapes {
  std::set<std::int64_t> ranks;
  bool has_alphas = false;
};

Shapes shapes_of(const SafetensorsFile& file) {
  Shapes shapes;
  for (const auto& [name, entry] : file.tensors()) {
    shapes.has_alphas |= name.ends_with(".alpha");
    const bool is_a = name.ends_with(".lora_A.weight") || name.ends_with(".lora_down.weight");
    if (is_a && !entry.shape.empty()) shapes.ranks.insert(entry.shape[0]);
  }
  return shapes;
}

}  // namespace

std::optional<HeaderScale> deciding_header_scale(const SafetensorsFile& file, const std::string& where) {
  const auto shapes = shapes_of(file);
  if (shapes.ranks.empty() || shapes.has_alphas || file.metadata().contains(kDiffusersMetadata))
    return std::nullopt;
  const auto statements = statements_of(file);
  const auto alpha = alpha_of(statements, where);
  const bool use_rslora = std::ranges::any_of(statements, is_rslora);
  const auto rank = static_cast<double>(*shapes.ranks.begin());
  const double value = alpha ? number_of(alpha->value).value() : rank;
  const double scale = value / (use_rslora ? std::sqrt(rank) : rank);
  for (const auto& one : statements) {
    if (is_scale(one) && number_of(one.value) != scale && number_of(one.value) != 1.0) {
      throw Error(fmt::format("its header names {}, and a scale of {:g} follows from its {}", shown(one),
                              scale, alpha ? "alpha" : "matrices, which have no alpha"),
                  where, kHint);
    }
    if (kPatterns.contains(one.leaf) && one.value != "{}" && !is_null_text(one.value))
      throw Error(fmt::format("its header names {}, which is not read there", shown(one)), where, kHint);
    if (!alpha || !is_rank(one)) continue;
    if (number_of(one.value) != rank || shapes.ranks.size() > 1) {
      throw Error(fmt::format("its header names {} and {}, and its matrices have rank{} {}", shown(*alpha),
                              shown(one), shapes.ranks.size() > 1 ? "s" : "", fmt::join(shapes.ranks, ", ")),
                  where, kHint);
    }
  }
  if (alpha && shapes.ranks.size() > 1)
    throw Error(
        fmt::format("its header names {} for matrices of ranks {}: the scale of each layer is not known",
                    shown(*alpha), fmt::join(shapes.ranks, ", ")),
        where, kHint);
  if (!alpha && use_rslora) throw Error("its header sets use_rslora, but alpha is missing", where, kHint);
  if (!alpha || scale == 1) return std::nullopt;
  return HeaderScale{.key = alpha->key, .alpha = value, .use_rslora = use_rslora};
}

void expect_header_agrees(const SafetensorsFile& file, const std::vector<double>& alphas,
                          const std::string& where) {
  constexpr double kTolerance = 1e-3;  // alphas may be bfloat16
  for (const auto& one : statements_of(file)) {
    if (!is_alpha(one)) continue;
    const auto alpha = number_of(one.value);
    if (!alpha) continue;  // "Dynamic", which kohya's resize writes: the tensors say it
    const bool agrees = std::ranges::any_of(
        alphas, [&](double other) { return std::abs(other - *alpha) <= kTolerance * std::abs(other); });
    if (agrees) continue;
    const auto [least, most] = std::ranges::minmax(alphas);
    throw Error(
        fmt::format("its header names {}, and alpha is {}", shown(one),
                    least == most ? fmt::format("{:g}", least) : fmt::format("{:g} to {:g}", least, most)),
        where, "take out the one that the adapter was not trained with");
  }
}

}  // namespace harness
