#include <gtest/gtest.h>

#include "backbones/backbone.h"

namespace harness {
namespace {

LoraConfig tiny_lora() {
  return {.rank = 2, .alpha = 4, .target_modules = {"attn.to_q", "attn.to_v"}};
}

TEST(Adapter, IsAllThatIsTrainedOnceTheBackboneHasOne) {
  const auto backbone = Backbone::load({.name = "tiny-sd3"});
  const auto whole = backbone->trainable().size();
  auto& adapter = backbone->add_adapter(tiny_lora(), 7, "lora_targets");
  const auto weights = backbone->trainable();
  ASSERT_EQ(weights.size(), 4U);
  EXPECT_LT(weights.size(), whole);
  EXPECT_EQ(weights[0].name, "transformer_blocks.0.attn.to_q.lora_A.weight");
  EXPECT_TRUE(weights[0].tensor.is_same(adapter.parameters()[0].tensor));
  for (const auto& p : backbone->velocity_network().parameters()) EXPECT_FALSE(p.requires_grad());
}

TEST(Adapter, ReplacesAnEarlierOne) {
  const auto backbone = Backbone::load({.name = "tiny-sd3"});
  backbone->add_adapter(tiny_lora(), 7, "lora_targets");
  auto config = tiny_lora();
  config.rank = 3;
  backbone->add_adapter(config, 7, "lora_targets");
  EXPECT_EQ(backbone->trainable()[0].tensor.size(0), 3);
}

}  // namespace
}  // namespace harness
