#include "models/configs/clip_image_config.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr std::int64_t kLargestSide = 1 << 14;
constexpr int kPillowBilinear = 2, kPillowBicubic = 3;

constexpr const char* kKnownClasses[] = {"CLIPFeatureExtractor", "CLIPImageProcessor",
                                         "CLIPImageProcessorFast", "CLIPImageProcessorPil"};

/// Written by transformers, without a bearing on the pixels: images are RGB, and go in and out as arrays.
constexpr const char* kIrrelevantFlags[] = {
    "_commit_hash",      "_name_or_path",   "_processor_class", "_valid_processor_keys", "data_format",
    "default_to_square", "device",          "disable_grouping", "do_convert_rgb",        "image_seq_length",
    "input_data_format", "processor_class", "return_tensors",   "transformers_version"};

/// Reads the keys of one file; each problem names it and the key.
class Reader {
 public:
  Reader(const Json& document, const std::string& where) : document_(&document), fields_(document, where) {}

  bool flag(const std::string& key, bool fallback) {
    return present(key) ? fields_.required<bool>(key) : fallback;
  }

  double number(const std::string& key, double fallback) {
    return present(key) ? fields_.required<double>(key) : fallback;
  }

  std::array<double, 3> per_channel(const std::string& key, const std::array<double, 3>& fallback,
                                    bool divides) {
    if (!present(key)) return fallback;
    const auto values = fields_.required<std::vector<double>>(key);
    if (values.size() != 3) refuse(key, fmt::format("has {} values, not one a channel", values.size()));
    for (const auto value : values) {
      if (divides && !(value > 0)) refuse(key, fmt::format("holds {}, not above 0", value));
    }
    return {values[0], values[1], values[2]};
  }

  /// A number, or an object.
  bool is_number(const std::string& key) { return present(key) && fields_.get(key).is_number(); }
  int side(const std::string& key) { return checked_side(fields_, key); }
  Fields object(const std::string& key) { return fields_.object(key); }

  PillowFilter filter(PillowFilter fallback) {
    if (!present("resample")) return fallback;
    const auto code = fields_.required<int>("resample");
    if (code == kPillowBilinear) return PillowFilter::kBilinear;
    if (code == kPillowBicubic) return PillowFilter::kBicubic;
    refuse("resample", fmt::format("is {}, which is not implemented", code),
           "known: 2 (bilinear), 3 (bicubic)");
  }

  void expect_class(const std::string& key) {
    if (!present(key)) return;
    const auto name = fields_.required<std::string>(key);
    for (const char* known : kKnownClasses) {
      if (name == known) return;
    }
    refuse(key, fmt::format("is {}, which is not implemented", in_quotes(name)), "known: CLIPImageProcessor");
  }

  bool present(const std::string& key) {
    fields_.mark(key);
    return fields_.has(key) && !fields_.get(key).is_null();
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& problem,
                           const std::string& hint = "") const {
    throw Error(fmt::format("\"{}\" {}", key, problem), fields_.where(), hint);
  }

  void finish() {
    for (const char* key : kIrrelevantFlags) fields_.mark(key);
    for (const auto& key : fields_.keys()) mark_if_null(key);
    fields_.finish();
  }

  static int checked_side(Fields& fields, const std::string& key) {
    const auto value = fields.required<std::int64_t>(key);
    if (value < 1 || value > kLargestSide)
      throw Error(fmt::format("\"{}\" is {}, outside 1..{}", key, value, kLargestSide), fields.where());
    return static_cast<int>(value);
  }

 private:
  /// transformers writes settings that are not set as null.
  void mark_if_null(const std::string& key) {
    if (document_->at(key).is_null()) fields_.mark(key);
  }

  const Json* document_;
  Fields fields_;
};

ImageSize read_pair(Fields size) {
  const ImageSize pair{Reader::checked_side(size, "height"), Reader::checked_side(size, "width")};
  size.finish();
  return pair;
}

void read_size(Reader& reader, ClipImageConfig& config) {
  if (!reader.present("size")) return;
  if (reader.is_number("size")) {
    config.shortest_edge = reader.side("size");
    return;
  }
  auto size = reader.object("size");
  if (size.has("shortest_edge")) {
    config.shortest_edge = Reader::checked_side(size, "shortest_edge");
    size.finish();
  } else {
    config.shortest_edge.reset();
    config.size = read_pair(size);
  }
}

void read_crop(Reader& reader, ClipImageConfig& config) {
  if (!reader.present("crop_size")) return;
  if (reader.is_number("crop_size")) {
    const int side = reader.side("crop_size");
    config.crop_size = {side, side};
  } else {
    config.crop_size = read_pair(reader.object("crop_size"));
  }
}

}  // namespace

std::optional<ImageSize> ClipImageConfig::output_size() const {
  if (crop) return crop_size;
  if (resize && !shortest_edge) return size;
  return std::nullopt;
}

ClipImageConfig ClipImageConfig::from_json(const Json& document, const std::string& where) {
  Reader reader(document, where);
  ClipImageConfig c;
  reader.expect_class("image_processor_type");
  reader.expect_class("feature_extractor_type");
  c.resize = reader.flag("do_resize", c.resize);
  c.crop = reader.flag("do_center_crop", c.crop);
  c.rescale = reader.flag("do_rescale", c.rescale);
  c.normalize = reader.flag("do_normalize", c.normalize);
  for (const char* key : {"do_pad", "use_square_size"}) {
    if (reader.flag(key, false)) reader.refuse(key, "is true, which is not implemented");
  }
  read_size(reader, c);
  read_crop(reader, c);
  c.filter = reader.filter(c.filter);
  c.rescale_factor = reader.number("rescale_factor", c.rescale_factor);
  c.mean = reader.per_channel("image_mean", c.mean, /*divides=*/false);
  c.std = reader.per_channel("image_std", c.std, /*divides=*/true);
  reader.finish();
  return c;
}

ClipImageConfig ClipImageConfig::load(const std::filesystem::path& folder) {
  const auto file = folder / "preprocessor_config.json", whole = folder / "processor_config.json";
  if (std::filesystem::exists(file) || !std::filesystem::exists(whole))
    return from_json(read_json(file), file.string());
  const auto document = read_json(whole);
  Fields fields(document, whole.string());
  return from_json(fields.get("image_processor"), whole.string() + ": image_processor");
}

}  // namespace harness
