// Weight files and shard indexes; broken ones are each made from a valid one by one change.

#include "core/weights/safetensors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "core/error.h"
#include "core/json.h"
#include "core/weights/model_weights.h"
#include "core/weights/weights_folder.h"
#include "tests/error_of.h"
#include "tests/recorded_cases.h"
#include "tests/refusals.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

constexpr auto kFile = "model.safetensors", kIndex = "model.safetensors.index.json";
constexpr std::size_t kDataSize = 12;

/// a: 2 floats, b: 4 bytes.
const std::string kHeader =
    R"({"__metadata__":{"format":"pt"},"a":{"data_offsets":[0,8],"dtype":"F32","shape":[2]},)"
    R"("b":{"data_offsets":[8,12],"dtype":"U8","shape":[2,2]}})";

std::string with_length(std::uint64_t length, const std::string& rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + rest;
}

std::string file_bytes(const std::string& header, std::size_t data_size = kDataSize) {
  return with_length(header.size(), header + std::string(data_size, '\1'));
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void open_file_of(const fs::path& folder) {
  SafetensorsFile(folder / kFile);
}
void open_model_of(const fs::path& folder) {
  ModelWeights::open(folder, "model");
}

/// `text` with `from` replaced once.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

TEST(SafetensorsRefusals, OfWholeFiles) {
  const auto whole = file_bytes(kHeader);
  const auto rest = whole.substr(8);
  const auto short_by = [&](std::size_t bytes) { return whole.substr(0, whole.size() - bytes); };
  const std::vector<std::tuple<const char*, std::string, const char*>> rows = {
      {"LengthAboveTheLimit", with_length(100'000'001, rest), "longer than the allowed 100 MB"},
      {"LengthOfAllOnes", with_length(UINT64_MAX, rest), "longer than the allowed 100 MB"},
      {"LengthBeyondTheFile", with_length(rest.size() + 1, rest), "does not fit the file"},
      {"LengthAtTheLimitOfASmallFile", with_length(100'000'000, rest), "does not fit the file"},
      {"LengthZero", with_length(0, rest), "does not start with '{'"},
      {"LengthTooShort", with_length(40, rest), "not valid JSON near"},
      {"GitLfsPointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "is a Git LFS pointer"},
      {"EmptyFile", "", "at least 8 are needed"},
      {"SevenBytes", whole.substr(0, 7), "at least 8 are needed"},
      {"LengthOnly", whole.substr(0, 8), "does not fit the file"},
      {"CutInTheHeader", whole.substr(0, 60), "does not fit the file"},
      {"DataShort", short_by(1), "needs data up to byte"},
      {"DataAbsent", short_by(kDataSize), "needs data up to byte"},
      {"DataLong", whole + '\1', "1 bytes follow the last tensor"},
      {"DataWithoutTensors", file_bytes("{}"), "12 bytes follow the last tensor"},
      {"AList", file_bytes("[]"), "does not start with '{'"},
      {"LeadingSpace", file_bytes(" {}"), "does not start with '{'"},
      {"ByteOrderMark", file_bytes("\xef\xbb\xbf{}"), "does not start with '{'"},
      {"PickleInsteadOfJson", file_bytes("\x80\x02}q"), "does not start with '{'"},
      {"Utf16", file_bytes("{\0}\0"s), "a zero byte"},
      {"ZeroByteAfterTheEnd", file_bytes("{}\0more"s), "a zero byte"},
      {"TextAfterTheEnd", file_bytes("{} {}"), "not valid JSON near"},
      {"AnUnfinishedLongText", file_bytes("{\"" + std::string(100'000, 'x')), "not valid JSON near"}};
  std::vector<Refusal> table;
  for (const auto& [name, bytes, expected] : rows) {
    const auto make = [&bytes = bytes](const fs::path& folder) { write(folder / kFile, bytes); };
    table.push_back({name, make, expected});
  }
  expect_refusals(table, open_file_of);
}

constexpr auto kBadJson = "not valid JSON near", kBadText = "not UTF-8", kTwice = "occurs twice",
               kDtype = "unknown dtype", kUnsupported = "is not supported here",
               kWrongType = "has the wrong type", kNoInteger = "must be a whole number, not ",
               kOutOfRange = "is out of range", kOverflow = "the size that shape and dtype need overflows",
               kOffsets = "data_offsets must be [begin, end] with begin <= end",
               kSize = ", but its shape and dtype need ", kHole = "there is a hole of",
               kOverlap = "it overlaps";

TEST(SafetensorsRefusals, OfOneChangeOfTheHeader) {
  const std::string a = R"("a":{"data_offsets":[0,8],"dtype":"F32","shape":[2]})";
  const std::string empty = R"({"data_offsets":[AT,AT],"dtype":"F32","shape":[0]})";
  const std::vector<std::array<std::string, 3>> rows = {
      {"}}", "}", kBadJson},
      {"}}", "},}", kBadJson},
      {"{", "{/* */", kBadJson},
      {"\"b\"", "\"b\x1b[2J\"", kBadJson},
      {"\"b\"", "\"\\ud800\"", kBadJson},
      {"[2]", "[NaN]", kBadJson},
      {"[2]", "[0x2]", kBadJson},
      {"[2]", "[02]", kBadJson},
      {"[2]", "[1e999]", kBadJson},
      {"\"b\"", "\"b\xff\"", kBadText},
      {"\"b\"", "\"b\xc0\xaf\"", kBadText},
      {"\"pt\"", "\"\xed\xa0\x80\"", kBadText},
      {"\"b\"", "\"a\"", kTwice},
      {"\"b\"", "\"\\u0061\"", kTwice},
      {"{", "{\"__metadata__\":{},", kTwice},
      {"\"pt\"", "\"pt\",\"format\":\"np\"", kTwice},
      {"\"F32\"", "\"F32\",\"dtype\":\"F32\"", kTwice},
      {"[2]", "[[{\"x\":[{\"y\":1,\"y\":2}]}]]", kTwice},
      {"[2]", std::string(70, '[') + std::string(70, ']'), "nested deeper than 64"},
      {"{\"format\":\"pt\"}", "\"pt\"", "must be an object"},
      {"{\"format\":\"pt\"}", "null", "must be an object"},
      {"\"pt\"", "3", kWrongType},
      {"\"pt\"", "{}", kWrongType},
      {a, "\"a\":[1,2]", "must be an object"},
      {a, "\"a\":null", "must be an object"},
      {"\"dtype\":\"F32\",", "", "\"dtype\" is missing"},
      {",\"shape\":[2]", "", "\"shape\" is missing"},
      {"\"data_offsets\":[0,8],", "", "\"data_offsets\" is missing"},
      {"\"shape\":[2]", "\"shape\":[2],\"strides\":[1]", "unknown key"},
      {"\"shape\":[2]", "\"shape\":[2],\"Shape\":[2]", "unknown key"},
      {"\"F32\"", "7", kWrongType},
      {"F32", "F99", kDtype},
      {"F32", "f32", kDtype},
      {"F32", "torch.float32", kDtype},
      {"F32", "\\u001b]0;\\u0007\\n", kDtype},
      {"F32", "F8_E4M3", kUnsupported},
      {"F32", "F4", kUnsupported},
      {"F32", "C64", kUnsupported},
      {"F32", "U16", kUnsupported},
      {"[2]", "2", kWrongType},
      {"[2]", "null", kWrongType},
      {"[2]", "[-2]", "an extent of the shape is negative"},
      {"[2]", "[2.0]", kNoInteger},
      {"[2]", "[\"2\"]", kWrongType},
      {"[2]", "[true]", kWrongType},
      {"[2]", "[[2]]", kWrongType},
      {"[2]", "[18446744073709551616]", kNoInteger},
      {"[2]", "[9223372036854775808]", kOutOfRange},
      {"[2]", "[1099511627776,1099511627776]", kOverflow},
      {"[2]", "[2305843009213693952,2]", kOverflow},
      {"[2]", "[2305843009213693953,8]", kOverflow},
      {"[2]", "[0,1099511627776,1099511627776]", kOverflow},
      {"[2]", Json(std::vector<int>(65, 1)).dump(), "65 dimensions"},
      {"[0,8]", "[8]", kOffsets},
      {"[0,8]", "[0,4,8]", kOffsets},
      {"[0,8]", "[8,0]", kOffsets},
      {"[0,8]", "{\"begin\":0,\"end\":8}", kWrongType},
      {"[0,8]", "[-8,0]", kOutOfRange},
      {"[0,8]", "[0,8.0]", kNoInteger},
      {"[0,8]", "[\"0\",\"8\"]", kWrongType},
      {"[2]", "[3]", kSize},
      {"[2]", "[]", kSize},
      {"[2]", "[0]", kSize},
      {"F32", "F16", kSize},
      {"[0,8]", "[18446744073709551607,18446744073709551615]", kHole},
      {a + ",", "", kHole},
      {R"([0,8],"dtype":"F32","shape":[2])", R"([0,4],"dtype":"F32","shape":[1])", kHole},
      {a, a + ",\"e\":" + replaced(empty, "AT,AT", "13,13"), kHole},
      {a, a + ",\"e\":" + replaced(empty, "AT,AT", "4,4"), kOverlap},
      {"[8,12]", "[4,8]", kOverlap},
      {a, a + "," + replaced(a, "\"a\"", "\"c\""), kOverlap}};
  std::vector<Refusal> table;
  for (const auto& [from, to, expected] : rows) {
    const auto header = replaced(kHeader, from, to);
    const auto make = [header](const fs::path& folder) { write(folder / kFile, file_bytes(header)); };
    table.push_back({from + " -> " + to, make, expected});
  }
  expect_refusals(table, open_file_of);
}

TEST(SafetensorsRefusals, OfWhatIsNoFile) {
  const auto link = [](const char* target) {
    return [target](const fs::path& folder) { fs::create_symlink(target, folder / kFile); };
  };
  expect_refusals({{"Absent", [](const fs::path&) {}, "No such file"},
                   {"AFolder", [](const auto& folder) { fs::create_directory(folder / kFile); },
                    "is a folder, not a file"},
                   {"APipeWithoutAWriter",
                    [](const auto& folder) { ASSERT_EQ(::mkfifo((folder / kFile).c_str(), 0600), 0); },
                    "is a pipe, not a file"},
                   {"ADevice", link("/dev/zero"), "is a device, not a file"},
                   {"ALinkToItself", link(kFile), "Too many levels of symbolic links"},
                   {"ALinkToNothing", link("nothing"), "No such file"}},
                  open_file_of);
}

TEST(SafetensorsRefusals, OfAFileThatMayNotBeRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const auto make = [](const fs::path& folder) {
    write(folder / kFile, file_bytes(kHeader));
    fs::permissions(folder / kFile, fs::perms::none);
  };
  expect_refusals({{"NoPermission", make, "Permission denied"}}, open_file_of);
}

TEST(SafetensorsRefusals, AFileThatShrinksAfterItWasOpenedIsAnErrorAndNotASignal) {
  const auto make = [](const fs::path& folder) { write(folder / kFile, file_bytes(kHeader)); };
  expect_refusals({{"Shrunk", make, "and had"}}, [](const fs::path& folder) {
    const SafetensorsFile file(folder / kFile);
    fs::resize_file(folder / kFile, fs::file_size(folder / kFile) - 1);
    file.values<float>("a");  // whole still
    file.values<std::uint8_t>("b");
  });
}

TEST(SafetensorsRefusals, ABoolThatIsNoneIsRefusedWhenItIsRead) {
  const auto make = [](const fs::path& folder) {
    write(folder / kFile, file_bytes(R"({"x":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", 0) + '\2');
  };
  expect_refusals({{"BoolOfTwo", make, "a BOOL that is neither 0 nor 1"}}, [](const fs::path& folder) {
    std::byte value{};
    SafetensorsFile(folder / kFile).read("x", {&value, 1});
  });
}

TEST(SafetensorsRefusals, AValidFileIsAccepted) {
  const TemporaryFolder folder;
  write(folder.path() / kFile, file_bytes(kHeader + "   "));
  EXPECT_EQ(SafetensorsFile(folder.path() / kFile).values<std::uint8_t>("b").size(), 4U);
  EXPECT_EQ(ModelWeights::open(folder.path(), "model").bytes(), kDataSize);
}

SafetensorsFile file_of(const std::string& header, const std::string& data) {
  const TemporaryFolder folder;
  write(folder.path() / kFile, with_length(header.size(), header + data));
  return SafetensorsFile(folder.path() / kFile);
}

TEST(Safetensors, WrittenTensorsAreReadBack) {
  const std::vector<float> values = {1.5F, -2.F, 3.F};
  const TensorView view{Dtype::kF32, {3}, std::as_bytes(std::span(values))};
  const TemporaryFolder folder;
  write(folder.path() / kFile, safetensors_bytes({{"a", view}, {"b", view}}, {{"format", "pt"}}));
  const SafetensorsFile file(folder.path() / kFile);
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

/// Of shards: tensor a in the first, b in the second, 3 and 5 bytes.
const std::string kValidIndex =
    R"({"metadata":{"total_size":8},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})";

std::string one_tensor(const std::string& name, int count) {
  const Json document = {{name, {{"dtype", "U8"}, {"shape", {count}}, {"data_offsets", {0, count}}}}};
  return file_bytes(document.dump(), static_cast<std::size_t>(count));
}

void write_model(const fs::path& folder, const std::string& index = kValidIndex) {
  write(folder / "1.safetensors", one_tensor("a", 3));
  write(folder / "2.safetensors", one_tensor("b", 5));
  write(folder / kIndex, index);
}

TEST(ShardIndexRefusals, OfOneChangeOfTheIndex) {
  constexpr auto kBeside = "is not the name of a file beside it";
  const std::string map = R"({"a":"1.safetensors","b":"2.safetensors"})", b = "\"2.safetensors\"";
  const std::vector<std::array<std::string, 3>> rows = {
      {kValidIndex, "weights", "not valid JSON near"},
      {kValidIndex, "", "not valid JSON near"},
      {kValidIndex, "[]", "must be an object, not array"},
      {"\"b\"", "\"a\"", "occurs twice"},
      {",\"weight_map\":" + map, "", "\"weight_map\" is missing"},
      {map, "\"a\"", "must be an object, not string"},
      {map, "{}", "names no tensor"},
      {"{", "{\"weights\":1,", "unknown key"},
      {"{\"total_size\":8}", "8", "must be an object, not number"},
      {b, "2", "\"b\" has the wrong type"},
      {b, "\"\"", kBeside},
      {b, "\"../2.safetensors\"", kBeside},
      {b, "\"/etc/2.safetensors\"", kBeside},
      {b, "\".\"", kBeside},
      {b, "\"2\\u0000.safetensors\"", kBeside},
      {b, "\"2.bin\"", "is not the name of a .safetensors file"},
      {b, "\"3.safetensors\"", "which is not in the folder"},
      {"\"b\"", "\"c\"", "which the index does not name"},
      {map, R"({"a":"2.safetensors","b":"1.safetensors"})", "which the index puts into"},
      {map, R"({"a":"1.safetensors","b":"2.safetensors","c":"1.safetensors"})", "which does not hold it"}};
  std::vector<Refusal> table;
  for (const auto& [from, to, expected] : rows) {
    const auto index = replaced(kValidIndex, from, to);
    table.push_back(
        {from + " -> " + to, [index](const auto& folder) { write_model(folder, index); }, expected});
  }
  expect_refusals(table, open_model_of);
}

TEST(ShardIndexRefusals, OfOneChangeOfTheFolder) {
  const auto changed = [](const std::function<void(const fs::path& shard)>& change) {
    return [change](const fs::path& folder) {
      write_model(folder);
      change(folder / "2.safetensors");
    };
  };
  const auto in_place_of_a_shard = changed([](const auto& shard) {
    fs::remove(shard);
    fs::create_directory(shard);
  });
  expect_refusals(
      {{"NoWeightsAtAll", [](const fs::path&) {}, "holds neither"},
       {"IndexIsAFolder", [](const auto& folder) { fs::create_directory(folder / kIndex); }, "is a folder"},
       {"IndexIsADevice", [](const auto& folder) { fs::create_symlink("/dev/zero", folder / kIndex); },
        "is a device, not a file"},
       {"ShardAbsent", changed([](const auto& shard) { fs::remove(shard); }), "which is not in the folder"},
       {"ShardIsAFolder", in_place_of_a_shard, "is a folder"},
       {"ShardTruncated",
        changed([](const auto& shard) { fs::resize_file(shard, fs::file_size(shard) - 1); }),
        "needs data up to byte"},
       {"TensorInTwoShards", changed([](const auto& shard) { write(shard, one_tensor("a", 5)); }),
        "which the index puts into"}},
      open_model_of);
}

TEST(ShardIndexRefusals, AFolderOfAnotherFormatOrVariantIsToldSo) {
  for (const char* name : {"pytorch_model.bin", "model.fp16.safetensors"}) {
    const TemporaryFolder folder;
    write(folder.path() / name, "weights");
    const auto error = error_of([&] { open_model_of(folder.path()); });
    EXPECT_TRUE(error.hint().starts_with(fmt::format("\"{}\" is another format or variant", name)))
        << error.hint();
  }
}

TEST(ShardIndexRefusals, AValidIndexIsAccepted) {
  for (const char* total : {"8", "8.0", "16,\"total_parameters\":8"}) {  // nobody relies on it
    const TemporaryFolder folder;
    write_model(folder.path(), replaced(kValidIndex, "8", total));
    const auto weights = ModelWeights::open(folder.path(), "model");
    EXPECT_EQ(weights.bytes(), 8U);
    std::vector<std::byte> b(5);
    weights.read("b", b);
    EXPECT_EQ(b, std::vector<std::byte>(5, std::byte{1}));
  }
}

TEST(FiniteWeights, ANanOrAnInfinityIsNamedWithItsTensorWhateverTheType) {
  const auto problem_of = [](Dtype dtype, const auto& values) {
    const TemporaryFolder folder;
    const auto bytes = std::as_bytes(std::span(values));
    const std::map<std::string, TensorView> tensors = {
        {"decoder.bias", {dtype, {static_cast<std::int64_t>(values.size())}, bytes}}};
    write(folder.path() / "diffusion_pytorch_model.safetensors", safetensors_bytes(tensors));
    return message_of([&] { require_finite_weights(folder.path()); });
  };
  using Words = std::vector<std::uint16_t>;
  EXPECT_EQ(problem_of(Dtype::kF16, Words{0x3c00, 0x7bff, 0xfbff}), "");
  EXPECT_EQ(problem_of(Dtype::kBF16, Words{0x3f80, 0x7f7f, 0x7c00}), "");
  EXPECT_EQ(problem_of(Dtype::kF32, std::vector<float>{1, 3e38F, -0.0F}), "");
  EXPECT_EQ(problem_of(Dtype::kI32, std::vector<std::int32_t>{-1}), "");
  for (const auto& message :
       {problem_of(Dtype::kF16, Words{0x3c00, 0x7e00}), problem_of(Dtype::kBF16, Words{0xff80}),
        problem_of(Dtype::kF32, std::vector<float>{0, std::nanf("")}),
        problem_of(Dtype::kF64, std::vector<double>{HUGE_VAL})}) {
    EXPECT_PROBLEM(message, "diffusion_pytorch_model.safetensors: tensor decoder.bias (");
    EXPECT_PROBLEM(message, "holds values that are not finite");
  }
  EXPECT_NO_THROW(require_finite_weights("/nonexistent"));
}

}  // namespace
}  // namespace harness
