#include "core/weights/safetensors.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "core/files.h"

namespace harness {
namespace {

SafetensorsFile file_of(const std::string& header, const std::string& data) {
  const auto path = std::filesystem::path(testing::TempDir()) / "made.safetensors";
  const std::string length{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};  // short headers only
  write_file(path, length + header + data);
  return SafetensorsFile(path);
}

TEST(Safetensors, WrittenTensorsAreReadBack) {
  const std::vector<float> values = {1.5F, -2.F, 3.F};
  const TensorView view{Dtype::kF32, {3}, std::as_bytes(std::span(values))};
  const auto path = std::filesystem::path(testing::TempDir()) / "written.safetensors";
  write_file_atomically(path, safetensors_bytes({{"a", view}, {"b", view}}, {{"format", "pt"}}));
  const SafetensorsFile file(path);
  EXPECT_EQ(file.values<float>("b"), values);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_THROW(file.at("c"), Error);
  EXPECT_THROW(file.values<double>("a"), Error);
}

TEST(Safetensors, ScalarsAndEmptyTensorsAreTensors) {
  const auto file = file_of(R"({"s":{"dtype":"I16","shape":[],"data_offsets":[0,2]},)"
                            R"("e":{"dtype":"F32","shape":[3,0],"data_offsets":[2,2]},)"
                            R"("f":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
                            "\x05\x01");
  EXPECT_EQ(file.values<std::int16_t>("s"), std::vector<std::int16_t>{0x105});
  EXPECT_TRUE(file.values<float>("e").empty());
  EXPECT_EQ(file.at("e").shape, (std::vector<std::int64_t>{3, 0}));
}

TEST(Safetensors, DataThatIsNotAlignedIsReadAsItStands) {
  std::string data = "\x07";
  for (const double value : {1.25, -3.5}) data.append(reinterpret_cast<const char*>(&value), sizeof value);
  const auto file = file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                            R"("b":{"dtype":"F64","shape":[2],"data_offsets":[1,17]}} )",
                            data);
  EXPECT_EQ(file.values<double>("b"), (std::vector{1.25, -3.5}));
}

TEST(Safetensors, AFileWithoutTensorsIsValid) {
  EXPECT_TRUE(file_of("{}", "").tensors().empty());
}

}  // namespace
}  // namespace harness
