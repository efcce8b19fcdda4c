#include "core/pillow_resize.h"

#include <gtest/gtest.h>

#include "core/sha256.h"

namespace harness {
namespace {

/// Noise that a line of Python repeats: byte i is i * i * 2654435761 >> 16 modulo 256.
Image noise(int width, int height) {
  Image image{width, height, {}};
  for (std::uint64_t i = 0; i < 3ULL * static_cast<std::uint64_t>(width * height); ++i)
    image.rgb.push_back(static_cast<std::uint8_t>((i * i * 2654435761ULL) >> 16));
  return image;
}

std::string checksum(const Image& image) {
  return sha256_hex({reinterpret_cast<const char*>(image.rgb.data()), image.rgb.size()});
}

struct Recorded {
  int width, height, new_width, new_height;
  PillowFilter filter;
  const char* sha256;
};

// Image.fromarray(a).resize((W, H), 2 or 3).tobytes() of Pillow 13.0.0
const Recorded kRecorded[] = {
    {41, 97, 32, 75, PillowFilter::kBicubic,
     "4932664219a8fc79e61f8f5c9df71b20ef31e47db673b8cc5bf6fbe1747be19f"},
    {37, 50, 30, 40, PillowFilter::kBicubic,
     "83d3ad54594ae61a1f10c3a5feb0a2a06dece3aac08f5d198aa7ed96fad5353f"},
    {60, 120, 30, 60, PillowFilter::kBicubic,
     "0d472cb9db77d539434aa79ab4a0df194a0fd03559cc8e9e5f24d76a0a78df7e"},
    {60, 121, 30, 60, PillowFilter::kBicubic,
     "c58e0b4e4a02dbedf6e666867156a2fc46cae446b9a95532bc04d838a0db019e"},
    {60, 121, 30, 61, PillowFilter::kBilinear,
     "b7ca9b3981571543da73c3ced1eb747f20607e910ecbf961f08deb17b4c4d515"},
    {64, 64, 200, 40, PillowFilter::kBilinear,
     "7c78b9daa0c47ebfd30c0997ae4ee4d534a8eb9d97fea4bf4c40f98a9b6557fb"},
    {20, 33, 52, 80, PillowFilter::kBicubic,
     "647c58afe67a4e1c385def49cfca85517ef7174c2f926fca86317e8660c90f8a"},
    {96, 48, 64, 32, PillowFilter::kBicubic,
     "bdf23dd4426bae6e9a913c2d88ba99e646b7640a1f26aa35eb3a8c0a90f4d22f"},
    {96, 48, 48, 48, PillowFilter::kBilinear,
     "d5f953b897264cf6b68d6a2f7d1c31d2382cf07747cf6e5234adaff90ffa997a"},
    {5, 9, 1, 1, PillowFilter::kBicubic, "7a9492e6a17bcde0806dbec3c1ccb6ead697f9003625389ae39436d29eb55b58"}};

TEST(PillowResize, BytesAreThoseOfPillow13) {
  for (const auto& r : kRecorded) {
    const auto resized = pillow_resize(noise(r.width, r.height), r.new_width, r.new_height, r.filter);
    EXPECT_EQ(checksum(resized), r.sha256)
        << r.width << " x " << r.height << " -> " << r.new_width << " x " << r.new_height;
  }
}

TEST(PillowResize, AnImageOfTheWantedSizeIsItself) {
  EXPECT_EQ(pillow_resize(noise(7, 5), 7, 5, PillowFilter::kBicubic).rgb, noise(7, 5).rgb);
}

}  // namespace
}  // namespace harness
