#include "evaluators/jpeg_image.h"

#include <cstddef>
#include <cstdio>

// After <cstdio>: the header needs FILE.
#include <jpeglib.h>

#include "core/error.h"

namespace harness {
namespace {

/// The library's default handler ends the process.
[[noreturn]] void throw_message(j_common_ptr info) {
  char message[JMSG_LENGTH_MAX];
  info->err->format_message(info, message);
  throw Error(std::string("cannot be read as JPEG: ") + message,
              *static_cast<std::string*>(info->client_data));
}

/// Of a file that is damaged or ends too early the library warns, and goes on with grey.
void throw_warning(j_common_ptr info, int level) {
  if (level < 0) throw_message(info);
}

struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  std::string where;

  explicit Decoder(std::string place) : where(std::move(place)) {
    info.err = jpeg_std_error(&errors);
    errors.error_exit = throw_message;
    errors.emit_message = throw_warning;
    info.client_data = &where;
    jpeg_create_decompress(&info);
  }
  ~Decoder() { jpeg_destroy_decompress(&info); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
};

}  // namespace

Image decode_jpeg(const std::string& bytes, const std::string& where) {
  Decoder decoder(where);
  auto& info = decoder.info;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  if (std::size_t{info.image_width} * info.image_height > kMostPixels)
    throw Error("has more than 64 megapixels", where);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  Image image{static_cast<int>(info.output_width), static_cast<int>(info.output_height), {}};
  const auto stride = std::size_t{info.output_width} * 3;
  image.rgb.resize(stride * info.output_height);
  while (info.output_scanline < info.output_height) {
    auto* row = image.rgb.data() + info.output_scanline * stride;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return image;
}

}  // namespace harness
