#include "models/configs/clip_text_config.h"

#include <gtest/gtest.h>

#include "tests/recorded_cases.h"

namespace harness {
namespace {

ClipTextConfig config_with(const Json& patch) {
  auto document = read_json(case_folder("clip_text_pooled") / "model/config.json");
  document.merge_patch(patch);
  return ClipTextConfig::from_json(document, "config.json");
}

TEST(ClipTextConfig, FlagsOfTextConfigsWithinOldClipModelsAreAccepted) {
  const auto config = config_with(Json::parse(R"({"_name_or_path": "", "add_cross_attention": false,
      "architectures": [], "bad_words_ids": [], "chunk_size_feed_forward": 0, "diversity_penalty": 0.0,
      "do_sample": false, "dropout": 0.0, "early_stopping": false, "encoder_no_repeat_ngram_size": 0,
      "id2label": {"0": "LABEL_0"}, "is_decoder": false, "is_encoder_decoder": false,
      "label2id": {"LABEL_0": 0}, "length_penalty": 1.0, "max_length": 20, "min_length": 0,
      "no_repeat_ngram_size": 0, "num_beam_groups": 1, "num_beams": 1, "num_return_sequences": 1,
      "output_attentions": false, "output_hidden_states": false, "output_scores": false, "pruned_heads": {},
      "remove_invalid_values": false, "repetition_penalty": 1.0, "return_dict": true,
      "return_dict_in_generate": false, "temperature": 1.0, "tf_legacy_loss": false,
      "tie_encoder_decoder": false, "tie_word_embeddings": true, "top_k": 50, "top_p": 1.0,
      "torch_dtype": "float16", "torchscript": false, "typical_p": 1.0, "use_bfloat16": false})"));
  EXPECT_FALSE(config.with_projection);
  EXPECT_EQ(config.max_position_embeddings, 77);
}

TEST(ClipTextConfig, EveryFlagThatIsNotImplementedHasItsOwnMessage) {
  const auto problem = [](const Json& patch) { return message_of([&] { config_with(patch); }); };
  EXPECT_EQ(problem(Json::object()), "");
  EXPECT_PROBLEM(problem({{"quantization_config", 1}}), "unknown key \"quantization_config\"");
  EXPECT_PROBLEM(problem({{"use_attention_mask", true}}), "unknown key \"use_attention_mask\"");
  EXPECT_PROBLEM(problem({{"hidden_act", "relu"}}), "hidden_act \"relu\" is not known");
  EXPECT_PROBLEM(problem({{"model_type", "clip"}}), "is a \"clip\", not a clip_text_model");
  EXPECT_PROBLEM(problem({{"architectures", {"CLIPModel"}}}), "architectures [\"CLIPModel\"] is not known");
  EXPECT_PROBLEM(problem({{"is_decoder", true}}), "is_decoder is not implemented");
  EXPECT_PROBLEM(problem({{"add_cross_attention", true}}), "add_cross_attention is not implemented");
  EXPECT_PROBLEM(problem({{"pruned_heads", {{"0", {1}}}}}), "pruned_heads is not implemented");
  EXPECT_PROBLEM(problem({{"eos_token_id", {2, 3}}}), "\"eos_token_id\" has the wrong type");
  EXPECT_PROBLEM(problem({{"num_attention_heads", 7}}), "is not a multiple of num_attention_heads 7");
  EXPECT_PROBLEM(problem({{"hidden_size", 0}}), "\"hidden_size\" = 0 is out of range");
  EXPECT_PROBLEM(problem({{"layer_norm_eps", 0.0}}), "\"layer_norm_eps\" = 0 is out of range");
}

}  // namespace
}  // namespace harness
