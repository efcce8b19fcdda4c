#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>

#include "models/diffusion/prompt_encoder.h"
#include "models/nn/weights_io.h"

namespace harness {

struct Sd3TextSource {
  std::filesystem::path folder;  ///< text_encoder{,_2,_3}/, tokenizer{,_2,_3}/
  Placement placement;           ///< where the encoders run, and their precision
  std::int64_t t5_tokens = 128;
  std::filesystem::path cache = {};  ///< encoded prompts are kept here; empty: in memory alone
  std::string identity = {};  ///< of the weights, in the cache's keys: a cache may hold several models'
};

/// Stable Diffusion 3's prompts (arXiv:2403.03206, diffusers' encode_prompt): penultimate states of two CLIP
/// encoders side by side, with zeros up to the width of T5, whose states follow as further tokens; pooled:
/// both CLIP projections. An encoder is in memory only while prompts that are not in the cache are encoded.
class Sd3PromptEncoder : public PromptEncoder {
 public:
  /// Throws Error at a folder that lacks a part.
  explicit Sd3PromptEncoder(Sd3TextSource source);

  /// text [B,77 + t5_tokens,T5 width], pooled [B,both projections].
  TextCondition encode(const std::vector<PromptText>& prompts) override;
  TextCondition encode_empty(std::int64_t count) override;
  void prepare(const std::vector<PromptText>& prompts) override;

 private:
  std::string key_of(const std::string& text) const;
  std::filesystem::path cached_file(const std::string& key) const;
  bool is_known(const std::string& text) const;
  void encode_missing(const std::vector<std::string>& texts);
  TextCondition known(const std::string& text) const;

  Sd3TextSource source_;
  mutable std::mutex mutex_;
  std::map<std::string, TextCondition> kept_;  ///< by text: all without a cache, else the empty prompt
};

}  // namespace harness
