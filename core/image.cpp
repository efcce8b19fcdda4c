#include "core/image.h"

#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "core/error.h"
#include "core/files.h"

namespace harness {
namespace {

void append_bytes(png_structp png, png_bytep data, png_size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(data), size);
}

void take_bytes(png_structp png, png_bytep data, png_size_t size) {
  auto& bytes = *static_cast<std::string_view*>(png_get_io_ptr(png));
  if (bytes.size() < size) png_error(png, "the file ends too early");
  std::memcpy(data, bytes.data(), size);
  bytes.remove_prefix(size);
}

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  *static_cast<std::string*>(png_get_error_ptr(png)) = message;
  longjmp(png_jmpbuf(png), 1);
}

void on_warning(png_structp, png_const_charp) {}

constexpr png_uint_32 kMaxSide = 65535;

/// An interlaced picture comes in several passes over all rows, each of which adds pixels to those before.
void read_rows(png_structp png, int passes, Image& image) {
  const auto stride = static_cast<std::size_t>(image.width) * 3;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t at = 0; at < image.rgb.size(); at += stride)
      png_read_row(png, image.rgb.data() + at, nullptr);
  }
}

}  // namespace

std::string png_bytes(const Image& image) {
  std::string out, message;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &message, on_error, on_warning);
  png_infop info = png_create_info_struct(png);
  if (setjmp(png_jmpbuf(png))) {
    png_destroy_write_struct(&png, &info);
    throw Error(message, "PNG", "", Status::kFailed);
  }
  png_set_write_fn(png, &out, append_bytes, nullptr);
  png_set_compression_level(png, 4);
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height), 8,
               PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int y = 0; y < image.height; ++y) {
    png_write_row(png,
                  image.rgb.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) * 3);
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

Image read_png(const std::filesystem::path& path) {
  return decode_png(read_file(path), path);
}

Image decode_png(std::string_view bytes, const std::filesystem::path& path) {
  Image image;
  std::string message;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &message, on_error, on_warning);
  png_infop info = png_create_info_struct(png);
  if (setjmp(png_jmpbuf(png))) {
    png_destroy_read_struct(&png, &info, nullptr);
    throw Error(fmt::format("is not a readable PNG: {}", message), path.string());
  }
  png_set_user_limits(png, kMaxSide, kMaxSide);
  png_set_read_fn(png, &bytes, take_bytes);
  png_read_info(png, info);
  const auto width = png_get_image_width(png, info), height = png_get_image_height(png, info);
  if (static_cast<std::size_t>(width) * height > kMostPixels) png_error(png, "more than 64 megapixels");
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_gray_to_rgb(png);
  const png_color_16 white{.index = 0, .red = 255, .green = 255, .blue = 255, .gray = 255};
  png_set_background(png, &white, PNG_BACKGROUND_GAMMA_SCREEN, 0, 1.0);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != static_cast<std::size_t>(width) * 3)
    png_error(png, "an unknown pixel layout");
  image.width = static_cast<int>(width);
  image.height = static_cast<int>(height);
  image.rgb.resize(static_cast<std::size_t>(width) * height * 3);
  read_rows(png, passes, image);
  png_destroy_read_struct(&png, &info, nullptr);
  return image;
}

}  // namespace harness
