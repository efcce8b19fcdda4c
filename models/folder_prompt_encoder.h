#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>

#include "models/diffusion/prompt_encoder.h"
#include "models/nn/weights_io.h"

namespace harness {

struct TextSource {
  std::filesystem::path folder;  ///< text_encoder/, tokenizer/, text_encoder_2/ ...
  Placement placement = {};      ///< where the encoders run, and their precision
  std::int64_t t5_tokens = 128;
  std::filesystem::path cache = {};  ///< encoded prompts are kept here; empty: in memory alone
  std::string identity = {};  ///< of the weights, in the cache's keys: a cache may hold several models'
};

/// The text encoders of a public folder, one after the other: each is in memory only while prompts that are
/// not in the cache are encoded.
class FolderPromptEncoder : public PromptEncoder {
 public:
  TextCondition encode(const std::vector<PromptText>& prompts) override;
  TextCondition encode_empty(std::int64_t count) override;
  void prepare(const std::vector<PromptText>& prompts) override;

 protected:
  /// Throws Error at a folder that lacks one of `parts`, of the model called `name`.
  FolderPromptEncoder(TextSource source, const char* name, const std::vector<std::string>& parts);

  /// Text [S,D] and pooled [P] of each text, on the CPU.
  virtual std::vector<TextCondition> encode_texts(const std::vector<std::string>& texts) const = 0;

  /// Penultimate states [77,C], pooled state [C] and, where there is one, projection [P] of a text.
  struct ClipStates {
    torch::Tensor penultimate, pooled, projection;
  };
  std::vector<ClipStates> clip_states(const char* encoder, const char* tokenizer,
                                      const std::vector<std::string>& texts) const;
  /// States [t5_tokens,C] of each text. Padding is attended to, as in diffusers' pipelines.
  std::vector<torch::Tensor> t5_states(const char* encoder, const char* tokenizer,
                                       const std::vector<std::string>& texts) const;

 private:
  std::string key_of(const std::string& text) const;
  std::filesystem::path cached_file(const std::string& key) const;
  bool is_known(const std::string& text) const;
  void encode_missing(const std::vector<std::string>& texts);
  TextCondition known(const std::string& text) const;
  TextCondition on_device(const std::vector<TextCondition>& rows) const;

  TextSource source_;
  mutable std::mutex mutex_;
  std::map<std::string, TextCondition> kept_;  ///< by text: all without a cache, else the empty prompt
  TextCondition empty_ = {};                   ///< on the device, a row; what guidance asks for at every step
};

/// Stable Diffusion 3's prompts (arXiv:2403.03206, diffusers' encode_prompt): penultimate states of two CLIP
/// encoders side by side, with zeros up to the width of T5, whose states follow as further tokens; pooled:
/// both CLIP projections. text [B,77 + t5_tokens,T5 width].
class Sd3PromptEncoder : public FolderPromptEncoder {
 public:
  explicit Sd3PromptEncoder(TextSource source);

 protected:
  std::vector<TextCondition> encode_texts(const std::vector<std::string>& texts) const override;
};

/// FLUX.1's: states of T5, [B,t5_tokens,T5 width]; pooled: CLIP's.
class FluxPromptEncoder : public FolderPromptEncoder {
 public:
  explicit FluxPromptEncoder(TextSource source);

 protected:
  std::vector<TextCondition> encode_texts(const std::vector<std::string>& texts) const override;
};

}  // namespace harness
