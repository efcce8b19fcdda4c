#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// Tokens that CLIP's text encoders read, start and end token among them.
inline constexpr std::int64_t kClipTokens = 77;

/// How much of a text the encoders of a public folder read.
class TextLimits {
 public:
  /// The folder's tokenizers: tokenizer, tokenizer_2 and so on. CLIP's read kClipTokens, T5's `t5_tokens`.
  /// Without any, or a folder, every text is read whole. Throws Error at malformed files.
  TextLimits(const std::filesystem::path& folder, std::int64_t t5_tokens);

  enum class Reading { kWhole, kPartly, kCut };  ///< by every encoder, by the longest, by none
  Reading reading(std::string_view text) const;

  bool empty() const { return encoders_.empty(); }
  /// "the 128 tokens of T5", "the 77 tokens of CLIP".
  std::string longest() const;
  std::string shortest() const;

 private:
  struct Encoder {
    std::string name;
    std::int64_t tokens = 0;                                 ///< that it reads
    std::function<std::size_t(std::string_view)> tokens_of;  ///< that a text has
  };
  static std::string words_of(const Encoder& encoder);

  std::vector<Encoder> encoders_;  ///< the shortest first
};

}  // namespace harness
