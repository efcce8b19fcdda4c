#include "models/configs/t5_config.h"

#include <gtest/gtest.h>

#include "tests/recorded_cases.h"

namespace harness {
namespace {

Json small_config() {
  return read_json(case_folder("t5_encoder") / "model/config.json");
}

TEST(T5Config, PublishedConfigsOfBothVersionsAreRead) {
  const auto xxl = T5Config::from_json(
      Json::parse(R"({"_name_or_path": "google/t5-v1_1-xxl", "architectures": ["T5EncoderModel"],
        "classifier_dropout": 0.0, "d_ff": 10240, "d_kv": 64, "d_model": 4096, "decoder_start_token_id": 0,
        "dense_act_fn": "gelu_new", "dropout_rate": 0.1, "eos_token_id": 1, "feed_forward_proj": "gated-gelu",
        "initializer_factor": 1.0, "is_encoder_decoder": true, "is_gated_act": true, "layer_norm_epsilon": 1e-06,
        "model_type": "t5", "num_decoder_layers": 24, "num_heads": 64, "num_layers": 24, "output_past": true,
        "pad_token_id": 0, "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.43.3",
        "use_cache": true, "vocab_size": 32128})"),
      "config.json");
  EXPECT_TRUE(xxl.gated);
  EXPECT_EQ(xxl.inner_dim(), 4096);
  const auto base = T5Config::from_json(
      Json::parse(R"({"architectures": ["T5EncoderModel"], "d_ff": 3072, "d_kv": 64, "d_model": 768,
        "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1, "initializer_factor": 1.0,
        "is_encoder_decoder": true, "layer_norm_epsilon": 1e-06, "model_type": "t5", "n_positions": 512,
        "num_heads": 12, "num_layers": 12, "output_past": true, "pad_token_id": 0,
        "relative_attention_num_buckets": 32, "task_specific_params": {"summarization": {"max_length": 200}},
        "vocab_size": 32128})"),
      "config.json");
  EXPECT_FALSE(base.gated);
  EXPECT_EQ(base.d_ff, 3072);
}

TEST(T5Config, AFlagThatIsNotImplementedIsRefused) {
  const std::vector<std::pair<Json, std::string>> changes = {
      {{{"feed_forward_proj", "gated-silu"}}, "feed_forward_proj \"gated-silu\" is not known"},
      {{{"feed_forward_proj", "gelu\x7f"}}, "feed_forward_proj \"gelu\\u007f\" is not known"},
      {{{"dense_act_fn", "relu"}}, "\"dense_act_fn\" = \"relu\" is not known"},
      {{{"is_gated_act", false}}, "\"is_gated_act\" = false is not known"},
      {{{"is_decoder", true}}, "\"is_decoder\" = true is not known"},
      {{{"model_type", "umt5"}}, "\"model_type\" = \"umt5\" is not known"},
      {{{"quantization_config", {{"bits", 8}}}}, "unknown key \"quantization_config\""},
      {{{"num_layers", 0}}, "\"num_layers\" = 0 is out of range"},
      {{{"d_model", "wide"}}, "\"d_model\""},
      {{{"layer_norm_epsilon", 0.0}}, "\"layer_norm_epsilon\" is not positive"},
      {{{"relative_attention_num_buckets", 2}}, "2 position buckets do not fit"},
  };
  for (const auto& [change, expected] : changes) {
    auto document = small_config();
    document.update(change);
    const auto message = message_of([&] { T5Config::from_json(document, "config.json"); });
    EXPECT_NE(message.find("config.json: "), std::string::npos) << message;
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace harness
