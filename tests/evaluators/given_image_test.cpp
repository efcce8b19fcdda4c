#include "evaluators/given/given_image.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "evaluators/jpeg.h"
#include "tests/painted_image.h"
#include "tests/png_chunk.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

Image gradient(int width, int height) {
  return painted(width, height, [](int x, int y) { return std::array{x * 3, y * 5, (x + y) * 2}; });
}

std::string problem_of(const std::string& bytes) {
  try {
    read_given_image(bytes, "image");
    return "";
  } catch (const Error& error) {
    return error.problem();
  }
}

/// A JPEG with a segment behind its first marker.
std::string with_segment(const std::string& jpeg, char marker, const std::string& body) {
  const auto size = body.size() + 2;
  return jpeg.substr(0, 2) + '\xFF' + marker + static_cast<char>(size >> 8) + static_cast<char>(size & 255) +
         body + jpeg.substr(2);
}

TEST(GivenImages, APngIsKeptAsItIs) {
  const auto image = gradient(20, 10);
  const auto bytes = png_bytes(image);
  const auto given = read_given_image(bytes, "image");
  EXPECT_EQ(given.image.rgb, image.rgb);
  EXPECT_EQ(given.png, bytes);
  EXPECT_EQ(given.remark, "");
}

TEST(GivenImages, AJpegIsKeptAsThePixelsThatWereRead) {
  const auto given = read_given_image(jpeg_bytes(gradient(40, 24), 95), "image");
  EXPECT_EQ(given.image.width, 40);
  EXPECT_EQ(decode_png(given.png, "kept").rgb, given.image.rgb);
}

TEST(GivenImages, ARotationByExifIsRemarkedAndNotApplied) {
  const auto jpeg = jpeg_bytes(gradient(40, 24), 95);
  const auto exif = [](char orientation) {
    return std::string("Exif\0\0", 6) + std::string("MM\0\x2A\0\0\0\x08", 8) + std::string("\0\x01", 2) +
           std::string("\x01\x12\0\x03\0\0\0\x01\0", 9) + orientation + std::string("\0\0\0\0\0\0", 6);
  };
  const auto turned = read_given_image(with_segment(jpeg, '\xE1', exif('\x06')), "image");
  EXPECT_EQ(turned.remark, "are JPEG files with a rotation by Exif, which is not applied");
  EXPECT_EQ(turned.image.width, 40);
  EXPECT_EQ(read_given_image(with_segment(jpeg, '\xE1', exif('\x01')), "image").remark, "are JPEG files");
}

TEST(GivenImages, ARotationOfAPngIsRemarkedWhereverItIsWritten) {
  const auto png = png_bytes(gradient(20, 10));
  const auto exif = [](char orientation) {
    return std::string("II\x2A\0\x08\0\0\0", 8) + std::string("\x01\0", 2) +
           std::string("\x12\x01\x03\0\x01\0\0\0", 8) + orientation + std::string("\0\0\0\0\0\0\0", 7);
  };
  const auto profile = [&](const std::string& bytes) {
    return fmt::format("\nexif\n{:8}\n{}\n", bytes.size(), hexadecimal(bytes));
  };
  const std::string xmp = "<rdf:Description tiff:Orientation=\"8\"/>",
                    rotated = "have a rotation by Exif, which is not applied";
  const auto remark = [&](const std::string& type, const std::string& body, bool at_end = false) {
    return read_given_image(with_chunk(png, type, body, at_end), "image").remark;
  };
  EXPECT_EQ(remark("eXIf", exif('\x06')), rotated);
  EXPECT_EQ(remark("eXIf", exif('\x06'), true), rotated);
  EXPECT_EQ(remark("eXIf", exif('\x01')), "");
  const std::string key("Raw profile type exif\0", 22);
  EXPECT_EQ(remark("tEXt", key + profile(std::string("Exif\0\0", 6) + exif('\x03'))), rotated);
  EXPECT_EQ(remark("tEXt", key + profile(exif('\x01'))), "");
  const auto text = profile(exif('\x06'));
  std::string compressed(1000, '\0');
  auto size = static_cast<uLongf>(compressed.size());
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(compressed.data()), &size,
                     reinterpret_cast<const Bytef*>(text.data()), static_cast<uLong>(text.size())),
            Z_OK);
  compressed.resize(size);
  EXPECT_EQ(remark("zTXt", key + std::string(1, '\0') + compressed), rotated);
  EXPECT_EQ(remark("zTXt", key + std::string(1, '\0') + "damaged"), "");
  EXPECT_EQ(remark("iTXt", std::string("XML:com.adobe.xmp\0\0\0\0\0", 22) + xmp), rotated);
  EXPECT_EQ(remark("tEXt", std::string("Comment\0", 8) + xmp), "");
  for (const char* torn : {"", "II", "MM\0\x2A\xFF\xFF\xFF\xFF"}) EXPECT_EQ(remark("eXIf", torn), "");
}

TEST(GivenImages, WhatIsNoImageOfARowSaysWhy) {
  const auto png = png_bytes(gradient(20, 10)), jpeg = jpeg_bytes(gradient(40, 24), 95);
  EXPECT_EQ(problem_of(""), "is empty");
  EXPECT_EQ(problem_of("hello"), "is neither PNG nor JPEG");
  EXPECT_EQ(problem_of(std::string("RIFF\0\0\0\0WEBPVP8 ", 16)), "is a WebP file");
  EXPECT_EQ(problem_of("GIF89a..."), "is a GIF file");
  EXPECT_PROBLEM(problem_of(png.substr(0, png.size() / 2)), "is not a readable PNG");
  EXPECT_PROBLEM(problem_of(jpeg.substr(0, jpeg.size() / 2)), "cannot be read as JPEG");
  EXPECT_PROBLEM(problem_of(jpeg.substr(0, 3)), "cannot be read as JPEG");
  // An animation's chunk behind the header.
  const std::string animated = png.substr(0, 33) +
                               std::string(
                                   "\0\0\0\x08"
                                   "acTL",
                                   8) +
                               std::string(12, '\0') + png.substr(33);
  EXPECT_EQ(problem_of(animated), "is animated");
  // The header of a frame of four channels, and one of 60000 x 60000 pixels.
  const auto frame = [](const std::string& body) {
    return std::string("\xFF\xD8\xFF\xC0", 4) + '\0' + static_cast<char>(body.size() + 2) + body;
  };
  EXPECT_EQ(problem_of(frame(std::string("\x08\x00\x10\x00\x10\x04", 6))), "is a CMYK JPEG");
  const auto huge = frame(std::string("\x08\xEA\x60\xEA\x60\x03", 6));
  EXPECT_EQ(problem_of(huge), "has more than 64 megapixels");
  EXPECT_EQ(problem_of(huge.substr(0, 2) + "\xFF\xFF" + huge.substr(2)), "has more than 64 megapixels")
      << "markers may be filled";
}

}  // namespace
}  // namespace harness
