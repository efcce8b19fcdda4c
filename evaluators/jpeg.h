#pragma once

#include <string>

#include "core/image.h"
#include "core/json.h"
#include "evaluators/sample_score.h"

namespace harness {

/// Colours at half the resolution (4:2:0), as most files have them, or at that of the image (4:4:4), with
/// Huffman tables of its own: small letters keep theirs.
enum class JpegColours { kHalved, kFull };

/// The image as a baseline JPEG file of quality 1 to 100. Throws Error if the image is empty or the library
/// fails.
std::string jpeg_bytes(const Image& image, int quality, JpegColours colours = JpegColours::kHalved);

/// Size of an image as a JPEG file of quality 95 in thousands of bytes (`jpeg_kb`), as the public reward
/// measures it: baseline, 4:2:0, standard Huffman tables, JFIF header; the stream that Pillow writes with its
/// defaults. Throws Error as jpeg_bytes.
double jpeg_kilobytes(const Image& image);

/// The public compressibility reward -kilobytes / 500 (E65).
double compressibility_reward(double kilobytes);

/// `jpeg_kb` of an image; empty with the reason where the encoder failed.
SampleScore jpeg_score(const Image& image);

/// What can change a value: version of the measure, quality, the library and its version.
Json jpeg_identity();

}  // namespace harness
