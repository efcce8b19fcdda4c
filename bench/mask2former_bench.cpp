// bench-mask2former: a detector's folder timed on a picture; the counterpart of mask2former_peer.py, whose
// `make` wrote both. Prints one JSON line: medians of seconds for a picture's way in, the network, the
// objects' way out, and all of them. "cpu": seconds of all threads together.
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <map>

#include "core/command_line/command_line.h"
#include "core/json.h"
#include "models/detection/detection_images.h"
#include "trainers/law/path_variance.h"

namespace harness {
namespace {

using torch::Tensor;

struct Options {
  std::string folder, outputs_file;
  int threads = 2, repeats = 3;
  double least = 0.3;  ///< GenEval's threshold of all tags but counting
};

Image image_of(const Tensor& pixels) {
  const auto* first = pixels.data_ptr<std::uint8_t>();
  return {
      static_cast<int>(pixels.size(1)), static_cast<int>(pixels.size(0)), {first, first + pixels.numel()}};
}

struct Seconds {
  double wall = 0, cpu = 0;
};

class Timing {
 public:
  explicit Timing(const Options& o) : o_(o) {
    const std::filesystem::path folder(o.folder);
    model_ = load_mask2former(folder);
    const auto file = folder / "preprocessor_config.json";
    config_ = DetectionImageConfig::from_json(read_json(file), file.string());
    image_ = image_of(load_tensors(folder / "inputs.safetensors").at("image").contiguous());
    size_ = detector_size(config_, image_.width, image_.height);
  }

  Json run() {
    const torch::NoGradGuard no_grad;
    for (int i = 0; i <= o_.repeats; ++i) {  // the first one warms up
      if (i == 1) taken_.clear();
      detect();
    }
    Json wall = Json::object(), cpu = Json::object();
    for (const auto& [name, seconds] : taken_) {
      wall[name] = median(seconds, &Seconds::wall);
      cpu[name] = median(seconds, &Seconds::cpu);
    }
    wall["cpu"] = cpu;
    wall["found"] = found_;
    return wall;
  }

 private:
  void detect() {
    Tensor pixels;
    QueryPredictions seen;
    const auto all = [&] {
      timed("pixel_values", [&] { pixels = detector_pixel_values(config_, image_, false).unsqueeze(0); });
      timed("forward", [&] { seen = model_->forward(pixels); });
      timed("objects", [&] {
        found_ = objects_as_mmdetection(seen.classes[0], seen.masks[0], size_, image_.width, image_.height,
                                        o_.least)
                     .size();
      });
    };
    timed("image", all);
    if (o_.outputs_file.empty()) return;
    save_tensors(o_.outputs_file,
                 {{"pixel_values", pixels}, {"classes", seen.classes}, {"masks", seen.masks}});
    o_.outputs_file.clear();
  }

  template <class Action>
  void timed(const char* name, const Action& action) {
    const auto start = std::chrono::steady_clock::now();
    const auto cpu = std::clock();
    action();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    taken_[name].push_back({wall.count(), static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC});
  }

  static double median(const std::vector<Seconds>& seconds, double Seconds::*part) {
    std::vector<double> values;
    for (const auto& taken : seconds) values.push_back(taken.*part);
    return median_of(std::move(values));
  }

  Options o_;
  Mask2Former model_{nullptr};
  DetectionImageConfig config_;
  Image image_;
  DetectorSize size_;
  std::map<std::string, std::vector<Seconds>> taken_;
  std::size_t found_ = 0;
};

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  harness::Options o;
  harness::Command program{"bench-mask2former", "A Mask2Former on one picture, timed"};
  program.add("FOLDER", &o.folder, "", {.required = true});
  program.add("--threads", &o.threads, "");
  program.add("--repeats", &o.repeats, "");
  program.add("--least", &o.least, "");
  program.add("--outputs", &o.outputs_file, "");
  program.run = [&] {
    torch::set_num_threads(o.threads);
    fmt::print("{}\n", harness::Timing(o).run().dump());
    return 0;
  };
  return harness::run_program(program, argc, argv);
}
