#include "models/folder_prompt_encoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/sha256.h"
#include "models/loading.h"
#include "models/nn/device.h"
#include "models/tokenizers/clip_tokenizer.h"
#include "models/tokenizers/t5_tokenizer.h"
#include "models/tokenizers/text_limits.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

using torch::Tensor;

constexpr int kCacheVersion = 1;
const std::string kEmpty;

/// Token ids [1,N] of one text.
template <class Tokenizer>
Tensor token_ids(const Tokenizer& tokenizer, const std::string& text, std::int64_t length,
                 torch::Device device) {
  const auto tokens = tokenizer.encode_padded(std::vector<std::string>{text}, length);
  return torch::tensor(tokens.ids, torch::kInt64).view({1, length}).to(device);
}

/// Both CLIP encoders' states side by side, zeros up to T5's width, T5's tokens after them.
Tensor joined(const Tensor& l, const Tensor& g, const Tensor& t5) {
  const auto clip = torch::cat({l, g}, -1);
  if (clip.size(-1) > t5.size(-1)) {
    throw Error(
        fmt::format("the CLIP encoders' {} channels are more than T5's {}", clip.size(-1), t5.size(-1)),
        "text_encoder, text_encoder_2, text_encoder_3", "they are not of one model");
  }
  return torch::cat({torch::constant_pad_nd(clip, {0, t5.size(-1) - clip.size(-1)}), t5}, 0);
}

}  // namespace

FolderPromptEncoder::FolderPromptEncoder(TextSource source, const char* name,
                                         const std::vector<std::string>& parts)
    : source_(std::move(source)) {
  for (const auto& part : parts) {
    if (!fs::is_directory(source_.folder / part)) {
      throw Error(fmt::format("lacks {}/", part), source_.folder.string(),
                  fmt::format("{} needs its text encoders and tokenizers: {}", name, fmt::join(parts, ", ")));
    }
  }
}

std::vector<FolderPromptEncoder::ClipStates> FolderPromptEncoder::clip_states(
    const char* encoder, const char* tokenizer, const std::vector<std::string>& texts) const {
  const auto tokens = ClipTokenizer::load(source_.folder / tokenizer);
  auto model = load_clip_text_model(source_.folder / encoder, source_.placement);
  std::vector<ClipStates> states;
  for (const auto& text : texts) {
    const auto out = model->forward(token_ids(tokens, text, kClipTokens, source_.placement.device));
    const auto first = [](const Tensor& rows) { return rows.defined() ? rows[0].to(torch::kCPU) : rows; };
    states.push_back({first(out.penultimate), first(out.pooled), first(out.text_embeds)});
  }
  return states;
}

std::vector<Tensor> FolderPromptEncoder::t5_states(const char* encoder, const char* tokenizer,
                                                   const std::vector<std::string>& texts) const {
  const auto tokens = T5Tokenizer::load(source_.folder / tokenizer);
  auto model = load_t5_encoder(source_.folder / encoder, source_.placement);
  std::vector<Tensor> states;
  for (const auto& text : texts) {
    const auto ids = token_ids(tokens, text, source_.t5_tokens, source_.placement.device);
    states.push_back(model->forward(ids)[0].to(torch::kCPU));
  }
  return states;
}

std::string FolderPromptEncoder::key_of(const std::string& text) const {
  return sha256_hex(canonical_json({{"version", kCacheVersion},
                                    {"weights", source_.identity},
                                    {"t5_tokens", source_.t5_tokens},
                                    {"dtype", c10::toString(source_.placement.dtype)},
                                    {"device", source_.placement.device.is_cuda() ? "cuda" : "cpu"},
                                    {"text", text}}));
}

fs::path FolderPromptEncoder::cached_file(const std::string& key) const {
  return source_.cache / key.substr(0, 2) / (key + ".safetensors");
}

bool FolderPromptEncoder::is_known(const std::string& text) const {
  return kept_.contains(text) || (!source_.cache.empty() && fs::exists(cached_file(key_of(text))));
}

TextCondition FolderPromptEncoder::known(const std::string& text) const {
  const auto found = kept_.find(text);
  if (found != kept_.end()) return found->second;
  const auto file = cached_file(key_of(text));
  try {
    const auto tensors = load_tensors(file);
    return {tensors.at("text"), tensors.at("pooled")};
  } catch (const std::exception& error) {
    throw Error(fmt::format("is damaged: {}", error.what()), file.string(),
                "delete it, and repeat the command");
  }
}

void FolderPromptEncoder::encode_missing(const std::vector<std::string>& texts) {
  const torch::NoGradGuard no_grad;
  auto conditions = encode_texts(texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto& condition = conditions[i];
    if (source_.cache.empty()) {
      kept_[texts[i]] = std::move(condition);
    } else {
      const auto file = cached_file(key_of(texts[i]));
      make_folder(file.parent_path());
      save_tensors(file, {{"text", condition.text}, {"pooled", condition.pooled}});
    }
  }
}

void FolderPromptEncoder::prepare(const std::vector<PromptText>& prompts) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> wanted{kEmpty};
  for (const auto& prompt : prompts) wanted.insert(prompt.text);
  std::erase_if(wanted, [this](const std::string& text) { return is_known(text); });
  if (!wanted.empty()) encode_missing({wanted.begin(), wanted.end()});
  // Asked for at every step of a guided sampler.
  if (!kept_.contains(kEmpty)) kept_[kEmpty] = known(kEmpty);
}

TextCondition FolderPromptEncoder::on_device(const std::vector<TextCondition>& rows) const {
  std::vector<Tensor> text, pooled;
  for (const auto& row : rows) {
    text.push_back(row.text);
    pooled.push_back(row.pooled);
  }
  const auto& device = source_.placement.device;
  const auto all_text = torch::stack(text), all_pooled = torch::stack(pooled);
  return {sent(all_text, all_text.options().device(device)),
          sent(all_pooled, all_pooled.options().device(device))};
}

TextCondition FolderPromptEncoder::encode(const std::vector<PromptText>& prompts) {
  prepare(prompts);
  // The images of a group have one text, which is read once.
  std::map<std::string, std::int64_t> place;
  std::vector<TextCondition> texts;
  std::vector<std::int64_t> rows;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& prompt : prompts) {
      const auto [at, is_new] = place.try_emplace(prompt.text, std::ssize(texts));
      if (is_new) texts.push_back(known(prompt.text));
      rows.push_back(at->second);
    }
  }
  auto condition = on_device(texts);
  if (texts.size() == prompts.size()) return condition;
  const auto index = sent(torch::tensor(rows, torch::kInt64), condition.text.options().dtype(torch::kInt64));
  return {condition.text.index_select(0, index), condition.pooled.index_select(0, index)};
}

TextCondition FolderPromptEncoder::encode_empty(std::int64_t count) {
  prepare({});
  const std::lock_guard lock(mutex_);
  if (!empty_.text.defined()) empty_ = on_device({known(kEmpty)});
  return {empty_.text.expand({count, -1, -1}), empty_.pooled.expand({count, -1})};
}

Sd3PromptEncoder::Sd3PromptEncoder(TextSource source)
    : FolderPromptEncoder(
          std::move(source), "Stable Diffusion 3",
          {"text_encoder", "text_encoder_2", "text_encoder_3", "tokenizer", "tokenizer_2", "tokenizer_3"}) {}

std::vector<TextCondition> Sd3PromptEncoder::encode_texts(const std::vector<std::string>& texts) const {
  const auto l = clip_states("text_encoder", "tokenizer", texts);
  const auto g = clip_states("text_encoder_2", "tokenizer_2", texts);
  const auto t5 = t5_states("text_encoder_3", "tokenizer_3", texts);
  std::vector<TextCondition> conditions;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    conditions.push_back({joined(l[i].penultimate, g[i].penultimate, t5[i]),
                          torch::cat({l[i].projection, g[i].projection}, -1)});
  }
  return conditions;
}

FluxPromptEncoder::FluxPromptEncoder(TextSource source)
    : FolderPromptEncoder(std::move(source), "FLUX.1",
                          {"text_encoder", "text_encoder_2", "tokenizer", "tokenizer_2"}) {}

std::vector<TextCondition> FluxPromptEncoder::encode_texts(const std::vector<std::string>& texts) const {
  const auto clip = clip_states("text_encoder", "tokenizer", texts);
  const auto t5 = t5_states("text_encoder_2", "tokenizer_2", texts);
  std::vector<TextCondition> conditions;
  for (std::size_t i = 0; i < texts.size(); ++i) conditions.push_back({t5[i], clip[i].pooled});
  return conditions;
}

}  // namespace harness
