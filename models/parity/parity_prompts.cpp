#include "core/error.h"
#include "models/diffusion/sd3_prompt_encoder.h"
#include "models/parity/parity_kinds.h"

namespace harness {
namespace {

std::vector<PromptText> prompts_of(const ParityCase& c, const char* list) {
  std::vector<PromptText> prompts;
  for (const auto& text : c.text_fields().required<std::vector<std::string>>(list))
    prompts.push_back({text, ""});
  return prompts;
}

}  // namespace

TensorMap run_encode_prompt_case(const ParityCase& c) {
  auto params = c.param_fields();
  if (params.required<std::string>("family") != "sd3")
    throw UnknownCase("this build knows the text side of sd3 alone", params.where() + ": family");
  Sd3TextSource source;
  source.folder = c.model();
  source.t5_tokens = params.required<std::int64_t>("max_sequence_length");
  Sd3PromptEncoder encoder(source);
  const auto positive = encoder.encode(prompts_of(c, "prompts"));
  const auto negative = encoder.encode(prompts_of(c, "negative_prompts"));
  return {{"prompt_embeds", positive.text},
          {"pooled_prompt_embeds", positive.pooled},
          {"negative_prompt_embeds", negative.text},
          {"negative_pooled_prompt_embeds", negative.pooled}};
}

}  // namespace harness
