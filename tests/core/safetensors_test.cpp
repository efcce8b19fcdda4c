#include "core/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "core/error.h"
#include "core/files.h"

namespace harness {
namespace {

class Safetensors : public testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::temp_directory_path() /
            (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".safetensors");
  }
  void TearDown() override { std::filesystem::remove(file_); }

  /// What reading a file with this header and `data_size` bytes of data complains about; empty if nothing.
  std::string problem(const std::string& header, std::size_t data_size) const {
    std::string bytes(8, '\0');
    const std::uint64_t size = header.size();
    std::memcpy(bytes.data(), &size, 8);
    return problem_of_bytes(bytes + header + std::string(data_size, '\1'));
  }

  std::string problem_of_bytes(const std::string& bytes) const {
    std::ofstream(file_, std::ios::binary) << bytes;
    try {
      SafetensorsFile file(file_);
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), std::string(error.what()));
      EXPECT_NE(std::string(error.what()).find(file_.string()), std::string::npos)
          << "the message must name the file";
      return error.what();
    }
    return "";
  }

  std::filesystem::path file_;
};

#define EXPECT_PROBLEM(text, expected) EXPECT_NE((text).find(expected), std::string::npos) << (text)

TEST_F(Safetensors, WrittenTensorsAreReadBack) {
  const std::vector<float> values = {1.5F, -2.F, 3.F};
  const TensorView view{Dtype::kF32, {3}, std::as_bytes(std::span(values))};
  write_file_atomically(file_, safetensors_bytes({{"a", view}, {"b", view}}, {{"format", "pt"}}));
  const SafetensorsFile file(file_);
  EXPECT_EQ(file.at("b").as<float>()[1], -2.F);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_THROW(file.at("c"), Error);
}

TEST_F(Safetensors, EveryBrokenRuleHasItsOwnMessage) {
  const auto one = [](const std::string& shape, const std::string& offsets,
                      const std::string& dtype = "F32") {
    return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  EXPECT_EQ(problem(one("[2]", "[0,8]"), 8), "");
  EXPECT_PROBLEM(problem(one("[2]", "[0,8]"), 7), "the file is truncated");
  EXPECT_PROBLEM(problem(one("[2]", "[0,8]"), 9), "1 bytes follow the last tensor");
  EXPECT_PROBLEM(problem(one("[2]", "[4,12]"), 12), "hole of 4 bytes");
  EXPECT_PROBLEM(problem(one("[3]", "[0,8]"), 8), "its shape and dtype need 12");
  EXPECT_PROBLEM(problem(one("[2]", "[8,0]"), 8), "run backwards");
  EXPECT_PROBLEM(problem(one("[2]", "[0,8]", "F99"), 8), "unknown dtype");
  EXPECT_PROBLEM(problem(one("[-1]", "[0,8]"), 8), "not a non-negative integer");
  EXPECT_PROBLEM(problem(one("[9223372036854775807,9223372036854775807]", "[0,8]"), 8), "overflows");
  EXPECT_PROBLEM(
      problem(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
          6),
      "overlaps");
  EXPECT_PROBLEM(
      problem(
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
          1),
      "occurs twice");
  EXPECT_PROBLEM(problem(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1), "unknown key");
  EXPECT_PROBLEM(problem("[]", 0), "does not start with '{'");
  EXPECT_PROBLEM(problem("{\"a\":", 0), "not valid JSON");
  EXPECT_PROBLEM(problem_of_bytes("abc"), "at least 8");
  EXPECT_PROBLEM(problem_of_bytes(std::string(7, '\xff') + "\x7f" + "{}"), "longer than the allowed 100 MB");
  EXPECT_PROBLEM(problem_of_bytes(std::string("\x40\0\0\0\0\0\0\0{}", 10)), "does not fit the file");
}

}  // namespace
}  // namespace harness
