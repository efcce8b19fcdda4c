// Broken weight files and shard indexes, each made from a valid one by one change.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "core/error.h"
#include "core/json.h"
#include "core/model_weights.h"
#include "core/safetensors.h"
#include "tests/refusals.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr auto kFile = "model.safetensors", kIndex = "model.safetensors.index.json";
constexpr std::size_t kDataSize = 12;

/// a: 2 floats, b: 4 bytes.
Json valid_header() {
  return {{"__metadata__", {{"format", "pt"}}},
          {"a", {{"dtype", "F32"}, {"shape", {2}}, {"data_offsets", {0, 8}}}},
          {"b", {{"dtype", "U8"}, {"shape", {2, 2}}, {"data_offsets", {8, 12}}}}};
}

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

using Make = std::function<void(const fs::path& folder)>;

/// One change of the header as a document.
Make header(const std::function<void(Json&)>& change) {
  return [=](const fs::path& folder) {
    Json document = valid_header();
    change(document);
    write(folder / kFile, file_bytes(document.dump()));
  };
}

/// One change of tensor a.
Make tensor(const std::function<void(Json&)>& change) {
  return header([=](Json& document) { change(document["a"]); });
}

Make field(const std::string& key, const Json& value) {
  return tensor([=](Json& a) { a[key] = value; });
}

/// The header's text, with `from` replaced.
Make text(const std::string& from, const std::string& to) {
  return [=](const fs::path& folder) {
    std::string document = valid_header().dump();
    document.replace(document.find(from), from.size(), to);
    write(folder / kFile, file_bytes(document));
  };
}

Make header_text(const std::string& document) {
  return [=](const fs::path& folder) { write(folder / kFile, file_bytes(document)); };
}

/// The whole file.
Make file(const std::function<std::string(std::string)>& change) {
  return [=](const fs::path& folder) { write(folder / kFile, change(file_bytes(valid_header().dump()))); };
}

Make cut_to(std::size_t size) {
  return file([=](const std::string& bytes) { return bytes.substr(0, size); });
}

const std::vector<Refusal> kHeaders = {
    {"LengthAboveTheLimit", file([](auto bytes) { return with_length(100'000'001, bytes.substr(8)); }),
     "longer than the allowed 100 MB"},
    {"LengthOfAllOnes", file([](auto bytes) { return with_length(UINT64_MAX, bytes.substr(8)); }),
     "longer than the allowed 100 MB"},
    {"LengthBeyondTheFile", file([](auto bytes) { return with_length(bytes.size() - 7, bytes.substr(8)); }),
     "does not fit the file"},
    {"LengthAtTheLimitOfASmallFile",
     file([](auto bytes) { return with_length(100'000'000, bytes.substr(8)); }), "does not fit the file"},
    {"LengthZero", file([](auto bytes) { return with_length(0, bytes.substr(8)); }),
     "does not start with '{'"},
    {"LengthTooShort", file([](auto bytes) { return with_length(40, bytes.substr(8)); }),
     "not valid JSON near"},
    {"GitLfsPointer", file([](const auto&) {
       return "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4967\n";
     }),
     "is a Git LFS pointer"},
    {"EmptyFile", cut_to(0), "at least 8 are needed"},
    {"SevenBytes", cut_to(7), "at least 8 are needed"},
    {"LengthOnly", cut_to(8), "does not fit the file"},
    {"CutInTheHeader", cut_to(60), "does not fit the file"},
    {"AList", header_text("[]"), "does not start with '{'"},
    {"LeadingSpace", header_text(" {}"), "does not start with '{'"},
    {"ByteOrderMark", header_text("\xef\xbb\xbf{}"), "does not start with '{'"},
    {"PickleInsteadOfJson", header_text("\x80\x02}q"), "does not start with '{'"},
    {"Utf16", header_text(std::string("{\0}\0", 4)), "a zero byte"},
    {"ZeroByteAfterTheEnd", header_text(std::string("{}\0more", 7)), "a zero byte"},
    {"TextAfterTheEnd", header_text("{} {}"), "not valid JSON near"},
    {"NoClosingBrace", text("}}", "}"), "not valid JSON near"},
    {"TrailingComma", text("}}", "},}"), "not valid JSON near"},
    {"Comment", text("{", "{/* */"), "not valid JSON near"},
    {"RawControlCharacterInAName", text("\"b\"", "\"b\x1b[2J\""), "not valid JSON near"},
    {"LoneSurrogate", text("\"b\"", "\"\\ud800\""), "not valid JSON near"},
    {"NotANumber", text("[2]", "[NaN]"), "not valid JSON near"},
    {"Hexadecimal", text("[2]", "[0x2]"), "not valid JSON near"},
    {"LeadingZero", text("[2]", "[02]"), "not valid JSON near"},
    {"AnEndlessNumber", text("[2]", "[1e999]"), "not valid JSON near"},
    {"AnUnfinishedLongText", header_text("{\"" + std::string(100'000, 'x')), "not valid JSON near"},
    {"BadUtf8InAName", text("\"b\"", "\"b\xff\""), "not UTF-8"},
    {"OverlongUtf8InAName", text("\"b\"", "\"b\xc0\xaf\""), "not UTF-8"},
    {"BadUtf8InTheMetadata", text("\"pt\"", "\"\xed\xa0\x80\""), "not UTF-8"},
    {"TensorTwice", text("\"b\"", "\"a\""), "\"a\" occurs twice"},
    {"TensorTwiceByEscape", text("\"b\"", "\"\\u0061\""), "\"a\" occurs twice"},
    {"MetadataTwice", text("{", "{\"__metadata__\":{},"), "\"__metadata__\" occurs twice"},
    {"MetadataKeyTwice", text("\"pt\"", "\"pt\",\"format\":\"np\""), "\"format\" occurs twice"},
    {"FieldTwice", text("\"F32\"", "\"F32\",\"dtype\":\"F32\""), "\"dtype\" occurs twice"},
    {"FieldTwiceInADeepObject", text("[2]", "[[{\"x\":[{\"y\":1,\"y\":2}]}]]"), "\"y\" occurs twice"},
    {"NestedTooDeep", text("[2]", std::string(70, '[') + std::string(70, ']')), "nested deeper than 64"},
    {"MetadataIsAText", header([](Json& d) { d["__metadata__"] = "pt"; }), "__metadata__ is not an object"},
    {"MetadataIsNull", header([](Json& d) { d["__metadata__"] = nullptr; }), "__metadata__ is not an object"},
    {"MetadataHoldsANumber", header([](Json& d) { d["__metadata__"]["step"] = 3; }),
     "__metadata__ may hold strings only"},
    {"MetadataHoldsAnObject", header([](Json& d) { d["__metadata__"]["x"] = Json::object(); }),
     "__metadata__ may hold strings only"},
    {"TensorIsNotAnObject", header([](Json& d) {
       d["a"] = Json::array({1, 2});
     }),
     "must be an object"},
    {"TensorIsNull", header([](Json& d) { d["a"] = nullptr; }), "must be an object"},
    {"NoDtype", tensor([](Json& a) { a.erase("dtype"); }), "\"dtype\" is missing"},
    {"NoShape", tensor([](Json& a) { a.erase("shape"); }), "\"shape\" is missing"},
    {"NoOffsets", tensor([](Json& a) { a.erase("data_offsets"); }), "\"data_offsets\" is missing"},
    {"FieldThatNobodyReads", field("strides", {1}), "unknown key \"strides\""},
    {"MisspeltField", tensor([](Json& a) { a["Shape"] = a["shape"]; }), "unknown key \"Shape\""},
    {"DtypeIsANumber", field("dtype", 7), "\"dtype\" has the wrong type"},
    {"DtypeUnknown", field("dtype", "F99"), "unknown dtype"},
    {"DtypeInLowerCase", field("dtype", "f32"), "unknown dtype"},
    {"DtypeOfTorch", field("dtype", "torch.float32"), "unknown dtype"},
    {"DtypeWithControlCharacters", field("dtype", "\x1b]0;\x07\n"), "unknown dtype"},
    {"DtypeFloat8", field("dtype", "F8_E4M3"), "dtype F8_E4M3 is not supported here"},
    {"DtypeFloat4", field("dtype", "F4"), "dtype F4 is not supported here"},
    {"DtypeComplex", field("dtype", "C64"), "dtype C64 is not supported here"},
    {"DtypeU16", field("dtype", "U16"), "dtype U16 is not supported here"},
    {"ShapeIsANumber", field("shape", 2), "shape is not a list"},
    {"ShapeIsNull", field("shape", nullptr), "shape is not a list"},
    {"ExtentNegative", field("shape", {-2}), "an extent of the shape is not a non-negative integer"},
    {"ExtentFractional", field("shape", {2.0}), "an extent of the shape is not a non-negative integer"},
    {"ExtentIsAText", field("shape", {"2"}), "an extent of the shape is not a non-negative integer"},
    {"ExtentIsTrue", field("shape", {true}), "an extent of the shape is not a non-negative integer"},
    {"ExtentIsAList", field("shape", {{2}}), "an extent of the shape is not a non-negative integer"},
    {"ExtentBeyond64Bits", text("[2]", "[18446744073709551616]"),
     "an extent of the shape is not a non-negative integer"},
    {"ExtentBeyond63Bits", field("shape", {std::uint64_t{1} << 63}), "an extent of the shape is above"},
    {"SizeOverflows", field("shape", {1LL << 40, 1LL << 40}), "the size that shape and dtype need overflows"},
    {"SizeOverflowsByTheDtype", field("shape", {1LL << 61, 2}),
     "the size that shape and dtype need overflows"},
    {"SizeOverflowsToEight", field("shape", {(1LL << 61) + 1, 8}),
     "the size that shape and dtype need overflows"},
    {"StridesOverflowBehindAZero", tensor([](Json& a) {
       a["shape"] = {0, 1LL << 40, 1LL << 40};
       a["data_offsets"] = {0, 0};
     }),
     "the size that shape and dtype need overflows"},
    {"TooManyDimensions", field("shape", std::vector<int>(65, 1)), "65 dimensions"},
    {"OffsetsAreOne", field("data_offsets", {8}), "data_offsets is not a pair"},
    {"OffsetsAreThree", field("data_offsets", {0, 4, 8}), "data_offsets is not a pair"},
    {"OffsetsAreAnObject", field("data_offsets", {{"begin", 0}, {"end", 8}}), "data_offsets is not a pair"},
    {"OffsetNegative", field("data_offsets", {-8, 0}), "data_offsets[0] is not a non-negative integer"},
    {"OffsetFractional", field("data_offsets", {0, 8.0}), "data_offsets[1] is not a non-negative integer"},
    {"OffsetIsAText", field("data_offsets", {"0", "8"}), "data_offsets[0] is not a non-negative integer"},
    {"OffsetsBackwards", field("data_offsets", {8, 0}), "data_offsets run backwards"},
    {"SizeTooSmallForTheShape", field("shape", {3}), "holds 8 bytes, but its shape and dtype need 12"},
    {"SizeTooLargeForTheShape", field("shape", Json::array()),
     "holds 8 bytes, but its shape and dtype need 4"},
    {"SizeOfAnEmptyTensor", field("shape", {0}), "holds 8 bytes, but its shape and dtype need 0"},
    {"SizeOfAnotherDtype", field("dtype", "F16"), "holds 8 bytes, but its shape and dtype need 4"},
    {"DataShort", cut_to(8 + valid_header().dump().size() + kDataSize - 1), "needs data up to byte"},
    {"DataAbsent", cut_to(8 + valid_header().dump().size()), "needs data up to byte"},
    {"OffsetsFarBeyondTheFile", field("data_offsets", {UINT64_MAX - 8, UINT64_MAX}), "a hole of"},
    {"DataLong", file([](auto bytes) { return bytes + '\1'; }), "1 bytes follow the last tensor"},
    {"DataWithoutTensors", header_text("{}"), "12 bytes follow the last tensor"},
    {"HoleAtTheBeginning", header([](Json& d) { d.erase("a"); }), "a hole of"},
    {"HoleBetween", tensor([](Json& a) {
       a["shape"] = {1};
       a["data_offsets"] = {0, 4};
     }),
     "a hole of"},
    {"HoleBeforeAnEmptyTensor", header([](Json& d) {
       d["e"] = {{"dtype", "F32"}, {"shape", {0}}, {"data_offsets", {13, 13}}};
     }),
     "a hole of"},
    {"Overlap", header([](Json& d) {
       d["b"]["data_offsets"] = {4, 8};
     }),
     "overlaps the tensor before it"},
    {"TwoTensorsOfTheSameBytes", header([](Json& d) { d["c"] = d["a"]; }), "overlaps the tensor before it"},
    {"EmptyTensorInsideAnother", header([](Json& d) {
       d["e"] = {{"dtype", "F32"}, {"shape", {0}}, {"data_offsets", {4, 4}}};
     }),
     "overlaps the tensor before it"},
};

TEST(SafetensorsRefusals, EveryBrokenFileIsRefusedWithTheMessageOfItsRule) {
  expect_refusals(kHeaders, [](const fs::path& folder) { SafetensorsFile(folder / kFile); });
}

TEST(SafetensorsRefusals, BytesInMemoryAreRefusedAlike) {
  for (const auto& entry : kHeaders) {
    const auto read = [](const fs::path& folder) {
      std::ifstream stream(folder / kFile, std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
      SafetensorsFile::from_bytes(bytes, (folder / kFile).string());
    };
    EXPECT_NE(refusal_message(entry, read).find(entry.expected), std::string::npos) << entry.name;
  }
}

const std::vector<Refusal> kPlaces = {
    {"Absent", [](const fs::path&) {}, "No such file"},
    {"AFolder", [](const fs::path& folder) { fs::create_directory(folder / kFile); },
     "is a folder, not a file"},
    {"ADevice", [](const fs::path& folder) { fs::create_symlink("/dev/zero", folder / kFile); },
     "is a device, not a file"},
    {"APipeWithoutAWriter",
     [](const fs::path& folder) { ASSERT_EQ(::mkfifo((folder / kFile).c_str(), 0600), 0); },
     "is a pipe or a socket, not a file"},
    {"ALinkToItself", [](const fs::path& folder) { fs::create_symlink(kFile, folder / kFile); },
     "Too many levels of symbolic links"},
    {"ALinkToNothing", [](const fs::path& folder) { fs::create_symlink("nothing", folder / kFile); },
     "No such file"},
};

TEST(SafetensorsRefusals, WhatIsNoFileIsRefusedForWhatItIs) {
  expect_refusals(kPlaces, [](const fs::path& folder) { SafetensorsFile(folder / kFile); });
}

TEST(SafetensorsRefusals, AFileThatMayNotBeReadIsRefused) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const auto make = [](const fs::path& folder) {
    write(folder / kFile, file_bytes(valid_header().dump()));
    fs::permissions(folder / kFile, fs::perms::none);
  };
  expect_refusals({{"NoPermission", make, "Permission denied"}},
                  [](const fs::path& folder) { SafetensorsFile(folder / kFile); });
}

TEST(SafetensorsRefusals, AFileThatShrinksAfterItWasOpenedIsAnErrorAndNotASignal) {
  const auto make = [](const fs::path& folder) { write(folder / kFile, file_bytes(valid_header().dump())); };
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

TEST(SafetensorsRefusals, AValidFileAndValidShardsAreAccepted) {
  const TemporaryFolder folder;
  write(folder.path() / kFile, file_bytes(valid_header().dump() + "   "));
  EXPECT_EQ(SafetensorsFile(folder.path() / kFile).values<std::uint8_t>("b").size(), 4U);
  EXPECT_EQ(ModelWeights::open(folder.path(), "model").bytes(), kDataSize);
}

// ---- shards

std::string one_tensor(const std::string& name, int count) {
  const Json document = {{name, {{"dtype", "U8"}, {"shape", {count}}, {"data_offsets", {0, count}}}}};
  return file_bytes(document.dump(), static_cast<std::size_t>(count));
}

/// Tensor a in the first shard, b in the second, 3 and 5 bytes.
void write_shards(const fs::path& folder) {
  write(folder / "1.safetensors", one_tensor("a", 3));
  write(folder / "2.safetensors", one_tensor("b", 5));
}

Json valid_index() {
  return {{"metadata", {{"total_size", 8}}},
          {"weight_map", {{"a", "1.safetensors"}, {"b", "2.safetensors"}}}};
}

/// Valid shards, and one change of their index.
Make index(const std::function<void(Json&)>& change) {
  return [=](const fs::path& folder) {
    write_shards(folder);
    Json document = valid_index();
    change(document);
    write(folder / kIndex, document.dump());
  };
}

Make shard_name(const Json& name) {
  return index([=](Json& d) { d["weight_map"]["b"] = name; });
}

/// A valid index, and one change of its shards.
Make shards(const std::function<void(const fs::path& folder)>& change) {
  return [=](const fs::path& folder) {
    write_shards(folder);
    write(folder / kIndex, valid_index().dump());
    change(folder);
  };
}

Make index_text(const std::string& document) {
  return [=](const fs::path& folder) {
    write_shards(folder);
    write(folder / kIndex, document);
  };
}

const std::vector<Refusal> kShards = {
    {"NoWeightsAtAll", [](const fs::path&) {}, "holds neither"},
    {"IndexIsNotJson", index_text("weights"), "not valid JSON near"},
    {"IndexIsEmpty", index_text(""), "not valid JSON near"},
    {"IndexIsAList", index_text("[]"), "must be an object, not array"},
    {"IndexIsAFolder", [](const fs::path& folder) { fs::create_directory(folder / kIndex); },
     "is a folder, not a file"},
    {"IndexIsADevice", [](const fs::path& folder) { fs::create_symlink("/dev/zero", folder / kIndex); },
     "is a device, not a file"},
    {"TensorTwice", index_text(R"({"weight_map":{"a":"1.safetensors","a":"2.safetensors"}})"),
     "occurs twice"},
    {"NoWeightMap", index([](Json& d) { d.erase("weight_map"); }), "\"weight_map\" is missing"},
    {"WeightMapIsAText", index([](Json& d) { d["weight_map"] = "a"; }), "must be an object, not string"},
    {"WeightMapIsEmpty", index([](Json& d) { d["weight_map"] = Json::object(); }), "names no tensor"},
    {"KeyThatNobodyReads", index([](Json& d) { d["weights"] = 1; }), "unknown key"},
    {"MetadataIsANumber", index([](Json& d) { d["metadata"] = 8; }), "must be an object, not number"},
    {"ShardIsANumber", shard_name(2), "\"b\" has the wrong type"},
    {"ShardIsEmpty", shard_name(""), "is not the name of a file beside it"},
    {"ShardOutsideTheFolder", shard_name("../2.safetensors"), "is not the name of a file beside it"},
    {"ShardByAnAbsolutePath", shard_name("/etc/2.safetensors"), "is not the name of a file beside it"},
    {"ShardIsTheFolder", shard_name("."), "is not the name of a file beside it"},
    {"ShardNameWithAZeroByte", shard_name(std::string("2\0.safetensors", 14)),
     "is not the name of a file beside it"},
    {"ShardOfPickles", shard_name("2.bin"), "is not the name of a .safetensors file"},
    {"ShardAbsent", shards([](const fs::path& folder) { fs::remove(folder / "2.safetensors"); }),
     "which is not in the folder"},
    {"ShardIsAFolder", shards([](const fs::path& folder) {
       fs::remove(folder / "2.safetensors");
       fs::create_directory(folder / "2.safetensors");
     }),
     "is a folder, not a file"},
    {"ShardTruncated", shards([](const fs::path& folder) {
       fs::resize_file(folder / "2.safetensors", fs::file_size(folder / "2.safetensors") - 1);
     }),
     "needs data up to byte"},
    {"TensorThatTheIndexDoesNotName", index([](Json& d) {
       d["weight_map"] = {{"a", "1.safetensors"}, {"c", "2.safetensors"}};
     }),
     "which the index does not name"},
    {"TensorInAnotherShard", index([](Json& d) {
       d["weight_map"] = {{"a", "2.safetensors"}, {"b", "1.safetensors"}};
     }),
     "which the index puts into"},
    {"TensorInTwoShards",
     shards([](const fs::path& folder) { write(folder / "2.safetensors", one_tensor("a", 5)); }),
     "which the index puts into"},
    {"TensorInNoShard", index([](Json& d) { d["weight_map"]["c"] = "1.safetensors"; }),
     "which does not hold it"},
};

TEST(ShardIndexRefusals, EveryDisagreementIsRefusedWithTheMessageOfItsRule) {
  expect_refusals(kShards, [](const fs::path& folder) { ModelWeights::open(folder, "model"); });
}

TEST(ShardIndexRefusals, AFolderOfAnotherFormatOrVariantIsToldSo) {
  for (const char* name : {"pytorch_model.bin", "model.fp16.safetensors"}) {
    const TemporaryFolder folder;
    write(folder.path() / name, "weights");
    try {
      ModelWeights::open(folder.path(), "model");
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_TRUE(error.hint().starts_with(fmt::format("\"{}\" is another format or variant", name)))
          << error.hint();
    }
  }
}

TEST(ShardIndexRefusals, AValidIndexIsAccepted) {
  for (const char* total : {"8", "8.0", "16"}) {  // nobody relies on it
    const TemporaryFolder folder;
    write_shards(folder.path());
    auto document = valid_index();
    document["metadata"]["total_size"] = Json::parse(total);
    document["metadata"]["total_parameters"] = 8;
    write(folder.path() / kIndex, document.dump());
    const auto weights = ModelWeights::open(folder.path(), "model");
    EXPECT_EQ(weights.bytes(), 8U);
    std::vector<std::byte> b(5);
    weights.read("b", b);
    EXPECT_EQ(b, std::vector<std::byte>(5, std::byte{1}));
  }
}

}  // namespace
}  // namespace harness
