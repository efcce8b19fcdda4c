#include "models/sd3_prompt_encoder.h"

#include <fmt/format.h>

#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/sha256.h"
#include "models/loading.h"
#include "models/tokenizers/clip_tokenizer.h"
#include "models/tokenizers/t5_tokenizer.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

using torch::Tensor;

constexpr std::int64_t kClipTokens = 77;
constexpr int kCacheVersion = 1;
const std::string kEmpty;

/// Token ids [1,N] of one text.
template <class Tokenizer>
Tensor token_ids(const Tokenizer& tokenizer, const std::string& text, std::int64_t length,
                 torch::Device device) {
  const auto tokens = tokenizer.encode_padded(std::vector<std::string>{text}, length);
  return torch::tensor(tokens.ids, torch::kInt64).view({1, length}).to(device);
}

/// Penultimate states [N,C] and projections [P] of each text.
std::vector<TextCondition> clip_states(const Sd3TextSource& source, const char* encoder,
                                       const char* tokenizer, const std::vector<std::string>& texts) {
  const auto tokens = ClipTokenizer::load(source.folder / tokenizer);
  auto model = load_clip_text_model(source.folder / encoder, source.placement);
  std::vector<TextCondition> states;
  for (const auto& text : texts) {
    const auto out = model->forward(token_ids(tokens, text, kClipTokens, source.placement.device));
    states.push_back({out.penultimate[0].to(torch::kCPU), out.text_embeds[0].to(torch::kCPU)});
  }
  return states;
}

/// States [N,C] of each text.
std::vector<Tensor> t5_states(const Sd3TextSource& source, const std::vector<std::string>& texts) {
  const auto tokens = T5Tokenizer::load(source.folder / "tokenizer_3");
  auto model = load_t5_encoder(source.folder / "text_encoder_3", source.placement);
  std::vector<Tensor> states;
  for (const auto& text : texts) {
    const auto ids = token_ids(tokens, text, source.t5_tokens, source.placement.device);
    states.push_back(model->forward(ids)[0].to(torch::kCPU));
  }
  return states;
}

/// Both CLIP encoders' states side by side, zeros up to T5's width, T5's tokens after them.
TextCondition joined(const TextCondition& l, const TextCondition& g, const Tensor& t5) {
  const auto clip = torch::cat({l.text, g.text}, -1);
  if (clip.size(-1) > t5.size(-1)) {
    throw Error(
        fmt::format("the CLIP encoders' {} channels are more than T5's {}", clip.size(-1), t5.size(-1)),
        "text_encoder, text_encoder_2, text_encoder_3", "they are not of one model");
  }
  return {torch::cat({torch::constant_pad_nd(clip, {0, t5.size(-1) - clip.size(-1)}), t5}, 0),
          torch::cat({l.pooled, g.pooled}, -1)};
}

}  // namespace

Sd3PromptEncoder::Sd3PromptEncoder(Sd3TextSource source) : source_(std::move(source)) {
  for (const char* part :
       {"text_encoder", "text_encoder_2", "text_encoder_3", "tokenizer", "tokenizer_2", "tokenizer_3"}) {
    if (!fs::is_directory(source_.folder / part))
      throw Error(fmt::format("lacks {}/", part), source_.folder.string(),
                  "Stable Diffusion 3 needs its three text encoders and tokenizers");
  }
}

std::string Sd3PromptEncoder::key_of(const std::string& text) const {
  return sha256_hex(canonical_json({{"version", kCacheVersion},
                                    {"weights", source_.identity},
                                    {"t5_tokens", source_.t5_tokens},
                                    {"dtype", c10::toString(source_.placement.dtype)},
                                    {"device", source_.placement.device.is_cuda() ? "cuda" : "cpu"},
                                    {"text", text}}));
}

fs::path Sd3PromptEncoder::cached_file(const std::string& key) const {
  return source_.cache / key.substr(0, 2) / (key + ".safetensors");
}

bool Sd3PromptEncoder::is_known(const std::string& text) const {
  return kept_.contains(text) || (!source_.cache.empty() && fs::exists(cached_file(key_of(text))));
}

TextCondition Sd3PromptEncoder::known(const std::string& text) const {
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

void Sd3PromptEncoder::encode_missing(const std::vector<std::string>& texts) {
  const torch::NoGradGuard no_grad;
  const auto l = clip_states(source_, "text_encoder", "tokenizer", texts);
  const auto g = clip_states(source_, "text_encoder_2", "tokenizer_2", texts);
  const auto t5 = t5_states(source_, texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto condition = joined(l[i], g[i], t5[i]);
    if (source_.cache.empty()) {
      kept_[texts[i]] = std::move(condition);
    } else {
      const auto file = cached_file(key_of(texts[i]));
      make_folder(file.parent_path());
      save_tensors(file, {{"text", condition.text}, {"pooled", condition.pooled}});
    }
  }
}

void Sd3PromptEncoder::prepare(const std::vector<PromptText>& prompts) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> wanted{kEmpty};
  for (const auto& prompt : prompts) wanted.insert(prompt.text);
  std::erase_if(wanted, [this](const std::string& text) { return is_known(text); });
  if (!wanted.empty()) encode_missing({wanted.begin(), wanted.end()});
  // Asked for at every step of a guided sampler.
  if (!kept_.contains(kEmpty)) kept_[kEmpty] = known(kEmpty);
}

TextCondition Sd3PromptEncoder::encode(const std::vector<PromptText>& prompts) {
  prepare(prompts);
  std::vector<Tensor> text, pooled;
  for (const auto& prompt : prompts) {
    const auto one = [&] {
      const std::lock_guard lock(mutex_);
      return known(prompt.text);
    }();
    text.push_back(one.text);
    pooled.push_back(one.pooled);
  }
  return {torch::stack(text).to(source_.placement.device), torch::stack(pooled).to(source_.placement.device)};
}

TextCondition Sd3PromptEncoder::encode_empty(std::int64_t count) {
  const auto one = encode({{}});
  return {one.text.expand({count, -1, -1}), one.pooled.expand({count, -1})};
}

}  // namespace harness
