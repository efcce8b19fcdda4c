#include "models/configs/clip_image_config.h"

#include <fmt/format.h>

#include "models/configs/config_fields.h"

namespace harness {
namespace {

constexpr Range kSide{1, 1 << 14};
constexpr int kPillowBilinear = 2, kPillowBicubic = 3;

/// transformers writes settings that are not set as null.
Json without_nulls(const Json& document) {
  if (!document.is_object()) return document;
  Json kept = Json::object();
  for (const auto& [key, value] : document.items()) {
    if (!value.is_null()) kept[key] = value;
  }
  return kept;
}

int side(ConfigFields& fields, const std::string& key) {
  return static_cast<int>(fields.integer(key, kSide));
}

/// Every key of a size counts.
ImageSize read_pair(ConfigFields size) {
  const ImageSize pair{side(size, "height"), side(size, "width")};
  size.Fields::finish();
  return pair;
}

void read_size(ConfigFields& fields, ClipImageConfig& config) {
  if (!fields.has("size")) return;
  if (fields.get("size").is_number()) {
    config.shortest_edge = side(fields, "size");
    return;
  }
  ConfigFields size(fields.object("size"));
  if (size.has("shortest_edge")) {
    config.shortest_edge = side(size, "shortest_edge");
    size.Fields::finish();
  } else {
    config.shortest_edge.reset();
    config.size = read_pair(size);
  }
}

void read_crop(ConfigFields& fields, ClipImageConfig& config) {
  if (!fields.has("crop_size")) return;
  if (fields.get("crop_size").is_number()) {
    const int both = side(fields, "crop_size");
    config.crop_size = {both, both};
  } else {
    config.crop_size = read_pair(ConfigFields(fields.object("crop_size")));
  }
}

void read_per_channel(ConfigFields& fields, const std::string& key, std::array<double, 3>& out) {
  fields.mark(key);
  if (!fields.has(key)) return;
  const auto values = fields.required<std::vector<double>>(key);
  if (values.size() != 3) fields.fail(key, fmt::format("has {} values, not one a channel", values.size()));
  std::copy(values.begin(), values.end(), out.begin());
}

}  // namespace

std::optional<ImageSize> ClipImageConfig::output_size() const {
  if (crop) return crop_size;
  if (resize && !shortest_edge) return size;
  return std::nullopt;
}

ClipImageConfig ClipImageConfig::from_json(const Json& document, const std::string& where) {
  const Json settings = without_nulls(document);
  ConfigFields fields(settings, where);
  ClipImageConfig c;
  for (const char* key : {"image_processor_type", "feature_extractor_type"}) {
    fields.only(key, {"CLIPImageProcessor", "CLIPImageProcessorFast", "CLIPImageProcessorPil",
                      "CLIPFeatureExtractor"});
  }
  c.resize = fields.optional("do_resize", c.resize);
  c.crop = fields.optional("do_center_crop", c.crop);
  c.rescale = fields.optional("do_rescale", c.rescale);
  c.normalize = fields.optional("do_normalize", c.normalize);
  for (const char* key : {"do_pad", "use_square_size"}) fields.only(key, {false});
  fields.ignore("size crop_size");
  read_size(fields, c);
  read_crop(fields, c);
  const auto filter = fields.only("resample", {kPillowBilinear, kPillowBicubic});
  c.filter = filter == kPillowBilinear ? PillowFilter::kBilinear : PillowFilter::kBicubic;
  c.rescale_factor = fields.optional("rescale_factor", c.rescale_factor);
  read_per_channel(fields, "image_mean", c.mean);
  read_per_channel(fields, "image_std", c.std);
  for (const auto value : c.std) {
    if (!(value > 0)) fields.fail("image_std", fmt::format("holds {}, not above 0", value));
  }
  fields.finish();
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
