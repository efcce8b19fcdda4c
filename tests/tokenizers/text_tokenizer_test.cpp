#include <gtest/gtest.h>

#include "models/tokenizers/load_tokenizer.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

using Ids = std::vector<std::int64_t>;

TEST(TextTokenizer, OfBytesCutsOffBeforeTheEndTokenAndRefusesInvalidUtf8) {
  const ModelCopy folder;
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "ByteTokenizer"})");
  const auto bytes = load_text_tokenizer(folder.folder());
  EXPECT_EQ(bytes->encode("A\xC3\xA9", 6), (Ids{256, 65, 195, 169, 257, 257}));
  EXPECT_EQ(bytes->encode("", 3), (Ids{256, 257, 257}));
  EXPECT_EQ(bytes->encode("ABCDEF", 4), (Ids{256, 65, 66, 257}));
  EXPECT_PROBLEM(message_of([&] { bytes->encode("\xFF", 4); }), "not UTF-8");
}

TEST(TextTokenizer, AFolderOfClipsGivesClipsTokens) {
  const ModelCopy copy("tokenizer_clip");
  const auto tokenizer = load_text_tokenizer(copy.folder());
  const auto ids = tokenizer->encode("a", 5);
  EXPECT_EQ(tokenizer->vocab_size(), 634);
  EXPECT_EQ(ids.front(), 632);
  EXPECT_EQ(ids[2], tokenizer->end_id());
  EXPECT_EQ(ids.size(), 5U);
}

}  // namespace
}  // namespace harness
