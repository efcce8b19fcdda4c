#include "evaluators/detection/geneval_scorer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "evaluators/evaluator.h"
#include "evaluators/jpeg.h"
#include "evaluators/jpeg_image.h"
#include "models/encoders/clip_image_processor.h"
#include "models/nn/one_thread.h"

namespace harness {

using torch::Tensor;

namespace {

constexpr int kRewardQuality = 75;           // Pillow's default
constexpr std::uint8_t kOutsideMask = 0x99;  // of every channel

Image reward_image(const Image& image) {
  return decode_jpeg(jpeg_bytes(image, kRewardQuality), "image");
}

/// NaN compares as nothing and would be a verdict like any other.
void require_finite(const Tensor& numbers, const char* what) {
  if (!numbers.isfinite().all().item<bool>())
    throw Error(fmt::format("{} are not finite", what), "geneval", "", Status::kFailed);
}

/// The picture inside an object's mask, grey around it, cut to the object's box.
Image masked_crop(const Image& image, const DetectedObject& object) {
  const auto [x0, y0, x1, y1] = object.box;
  Image crop{static_cast<int>(x1 - x0), static_cast<int>(y1 - y0), {}};
  const auto inside = object.mask.contiguous();
  const auto* mask = inside.const_data_ptr<bool>();
  for (auto y = y0; y < y1; ++y) {
    for (auto x = x0; x < x1; ++x) {
      const auto at = static_cast<std::size_t>(y * image.width + x);
      for (std::size_t c = 0; c < 3; ++c) crop.rgb.push_back(mask[at] ? image.rgb[3 * at + c] : kOutsideMask);
    }
  }
  return crop;
}

/// The detector's finds as the rules take them, and which of the finds each one is.
struct FoundObjects {
  GenevalDetections detections;
  std::map<int, std::vector<const DetectedObject*>> sources;
};

/// Of each class no more than can count.
FoundObjects found_objects(const std::vector<DetectedObject>& objects, const GenevalRule& rule) {
  FoundObjects found;
  for (const auto& object : objects) {
    const auto label = static_cast<int>(object.label);
    auto& sources = found.sources[label];
    if (object.score <= rule.threshold || sources.size() == rule.most) continue;
    sources.push_back(&object);
    GenevalObject one{.score = object.score};
    std::ranges::copy(object.box, one.box.begin());
    found.detections[label].push_back(one);
  }
  return found;
}

std::vector<Detection> stored(const GenevalVocabulary& vocabulary, const GenevalDetections& all,
                              const GenevalDetections& kept) {
  std::vector<Detection> list;
  for (const auto& [label, objects] : all) {
    const auto counted = kept.find(label);
    for (std::size_t i = 0; i < objects.size(); ++i) {
      Detection one;
      one.name = vocabulary.classes[static_cast<std::size_t>(label)];
      one.score = objects[i].score;
      one.box = objects[i].box;
      one.counted = counted != kept.end() && i < counted->second.size();
      if (one.counted && counted->second[i].colour)
        one.colour = kGenevalColours.at(static_cast<std::size_t>(*counted->second[i].colour));
      list.push_back(std::move(one));
    }
  }
  return list;
}

}  // namespace

GenevalScorer::GenevalScorer(const std::filesystem::path& folder, const GenevalScorerInfo& scorer,
                             const GenevalProfile& profile, torch::Device device, std::size_t batch)
    : scorer_(scorer),
      profile_(profile),
      device_(device),
      parts_(GenevalFolder::load(folder, scorer, profile, {.device = device})),
      batch_(batch),
      batches_(
          batch, [this](const auto& pictures) { return judged(pictures); },
          [](const std::string& reason) { return without_values(geneval_metrics(), reason); }) {}

std::future<SampleScore> GenevalScorer::submit(const ScorerText& text, const Image& image) {
  const auto failed = [](const std::string& reason) {
    std::promise<SampleScore> none;
    none.set_value(without_values(geneval_metrics(), reason));
    return none.get_future();
  };
  try {
    auto record = record_of_target(text.prompt, text.target, "target");
    if (&record.vocabulary() != &scorer_.vocabulary)
      return failed(
          fmt::format("the prompt asks for classes of the vocabulary \"{}\", and the detector knows "
                      "those of \"{}\"",
                      record.vocabulary().name, scorer_.vocabulary.name));
    const OneThread one_thread;
    auto seen = profile_.reward_path ? reward_image(image) : image;
    auto pixels = detector_pixel_values(parts_.pictures, seen, profile_.reward_path);
    return batches_.submit({std::move(record), std::move(seen), std::move(pixels)});
  } catch (const Error& error) {
    return failed(error.what());
  }
}

std::vector<SampleScore> GenevalScorer::judged(const std::vector<Picture>& pictures) {
  std::map<std::vector<std::int64_t>, Pictures> by_shape;
  for (const auto& picture : pictures) by_shape[picture.pixels.sizes().vec()].push_back(&picture);
  std::map<const Picture*, SampleScore> scores;
  for (const auto& [_, alike] : by_shape) {
    auto found = judged(alike);
    for (std::size_t i = 0; i < alike.size(); ++i) scores[alike[i]] = std::move(found[i]);
  }
  std::vector<SampleScore> in_order;
  for (const auto& picture : pictures) in_order.push_back(std::move(scores.at(&picture)));
  return in_order;
}

std::vector<SampleScore> GenevalScorer::judged(const Pictures& pictures) {
  const torch::NoGradGuard no_grad;
  const OneThread one_thread;
  std::vector<Tensor> pixels;
  for (const auto* picture : pictures) pixels.push_back(picture->pixels);
  pixels.resize(batch_, pixels.back());
  std::unique_lock lock(device_mutex_, std::defer_lock);
  if (device_.is_cuda()) lock.lock();
  const auto found = parts_.detector->forward(torch::stack(pixels).to(device_));
  std::vector<SampleScore> scores;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    // One picture's numbers are no reason against those beside it.
    try {
      scores.push_back(judged(*pictures[i], found.classes[row], found.masks[row]));
    } catch (const Error& error) {
      scores.push_back(without_values(geneval_metrics(), error.what()));
    }
  }
  return scores;
}

SampleScore GenevalScorer::judged(const Picture& picture, const Tensor& classes, const Tensor& masks) {
  require_finite(classes, "the detector's classes");
  require_finite(masks, "the detector's masks");
  const auto& image = picture.image;
  const auto objects =
      objects_as_mmdetection(classes, masks, detector_size(parts_.pictures, image.width, image.height),
                             image.width, image.height, profile_.rule.threshold);
  const auto found = found_objects(objects, profile_.rule);
  auto kept = kept_objects(picture.record, found.detections, profile_.rule);
  for (const auto& [label, count] : objects_to_colour(picture.record, kept)) {
    for (std::size_t i = 0; i < count; ++i)
      kept.at(label)[i].colour = colour_of(picture, *found.sources.at(label)[i]);
  }
  const auto verdict = judge(picture.record, kept, profile_.rule);
  SampleScore score;
  score.metrics = {{"geneval_score", verdict.score},
                   {"geneval_correct", verdict.correct ? 1.0 : 0.0},
                   {"geneval_strict", verdict.strict ? 1.0 : 0.0}};
  score.judgement = verdict.reason;
  score.detections = stored(scorer_.vocabulary, found.detections, kept);
  return score;
}

int GenevalScorer::colour_of(const Picture& picture, const DetectedObject& object) {
  const auto& texts = colour_texts(static_cast<int>(object.label));
  // open_clip crops with torchvision.
  const auto pixels =
      clip_pixel_values(parts_.clip.images, masked_crop(picture.image, object), CropBegin::kEven);
  const auto embed = parts_.clip.model->image_embeds(pixels.unsqueeze(0).to(device_)).to(torch::kCPU);
  require_finite(embed, "CLIP's numbers of an object");
  return static_cast<int>(texts.mv(unit_rows(embed)[0]).argmax().item<std::int64_t>());
}

const Tensor& GenevalScorer::colour_texts(int label) {
  const std::lock_guard lock(mutex_);
  if (const auto known = colours_.find(label); known != colours_.end()) return known->second;
  const auto name = scorer_.vocabulary.classes[static_cast<std::size_t>(label)];
  auto& clip = parts_.clip;
  const auto length = clip.model->config().text.max_position_embeddings;
  std::vector<Tensor> rows;
  for (const auto colour : kGenevalColours) {
    std::vector<Tensor> ids;
    for (const auto& text : {fmt::format("a photo of a {} {}", colour, name),
                             fmt::format("a photo of a {}-colored {}", colour, name),
                             fmt::format("a photo of a {} object", colour)})
      ids.push_back(torch::tensor(clip.tokenizer->encode(text, length), torch::kInt64));
    const auto embeds = clip.model->text_embeds(torch::stack(ids).to(device_)).to(torch::kCPU);
    rows.push_back(unit_rows(unit_rows(embeds).mean(0, /*keepdim=*/true))[0]);
  }
  return colours_.emplace(label, torch::stack(rows)).first->second;
}

}  // namespace harness
