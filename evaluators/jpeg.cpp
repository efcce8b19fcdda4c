#include "evaluators/jpeg.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

// After <cstdio>: the header needs FILE.
#include <jpeglib.h>

#include "core/error.h"

namespace harness {
namespace {

constexpr int kQuality = 95;

#define HARNESS_TEXT_OF(x) #x
#define HARNESS_VERSION_TEXT(x) HARNESS_TEXT_OF(x)
constexpr const char* kLibrary = "libjpeg-turbo " HARNESS_VERSION_TEXT(LIBJPEG_TURBO_VERSION);
#undef HARNESS_VERSION_TEXT
#undef HARNESS_TEXT_OF

/// The library's default handler ends the process.
[[noreturn]] void throw_error(j_common_ptr info) {
  char message[JMSG_LENGTH_MAX];
  info->err->format_message(info, message);
  throw Error(std::string("cannot be encoded as JPEG: ") + message, "image", {}, Status::kFailed);
}

struct Encoder {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;

  Encoder() {
    info.err = jpeg_std_error(&errors);
    errors.error_exit = throw_error;
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &bytes, &size);
  }
  ~Encoder() {
    jpeg_destroy_compress(&info);
    std::free(bytes);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
};

}  // namespace

std::string jpeg_bytes(const Image& image, int quality, JpegColours colours) {
  if (image.width < 1 || image.height < 1) throw Error("is empty", "image", {}, Status::kFailed);
  Encoder encoder;
  auto& info = encoder.info;
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  if (colours == JpegColours::kFull) {
    info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
    info.optimize_coding = TRUE;
  }
  jpeg_start_compress(&info, TRUE);
  const auto stride = static_cast<std::size_t>(image.width) * 3;
  while (info.next_scanline < info.image_height) {
    // The library only reads the row, but takes a pointer to mutable bytes.
    auto* row = const_cast<JSAMPLE*>(image.rgb.data() + info.next_scanline * stride);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return {reinterpret_cast<const char*>(encoder.bytes), encoder.size};
}

double jpeg_kilobytes(const Image& image) {
  return static_cast<double>(jpeg_bytes(image, kQuality).size()) / 1000;
}

double compressibility_reward(double kilobytes) {
  return -kilobytes / 500;
}

SampleScore jpeg_score(const Image& image) {
  SampleScore score;
  try {
    score.metrics["jpeg_kb"] = jpeg_kilobytes(image);
  } catch (const Error& error) {
    score.metrics["jpeg_kb"] = std::nullopt;
    score.reasons["jpeg_kb"] = error.what();
  }
  return score;
}

Json jpeg_identity() {
  return {{"name", "jpeg"},
          {"version", "1"},
          {"settings", {{"quality", kQuality}, {"subsampling", "4:2:0"}, {"engine", kLibrary}}},
          {"data", Json::array()}};
}

}  // namespace harness
