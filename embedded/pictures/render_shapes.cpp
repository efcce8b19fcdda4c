#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "embedded/pictures/shapes_scene.h"

// Pictures for training detectors and classifiers: render-shapes scenes|records ... (usage below).
// OUT/images.bin: bytes [N,64,64,3]; OUT/owners.bin: bytes [N,64,64], 0 the background, else 1 + index of the
// object; OUT/scenes.jsonl: a line of {"objects": [{"label", "color", "box"}]} for each picture, "box" null
// where nothing of an object is seen, and for records also "record" and "mistake".

namespace harness {
namespace {

constexpr auto kUsage =
    "usage: render-shapes scenes COUNT SEED OUT [SHARE of pictures with flawed shapes [MOST objects]]\n"
    "       render-shapes records FILE TIMES SEED OUT    right pictures and such with a mistake\n";

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  const auto* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, value).ptr != end || text.empty())
    throw Error("must be a whole number: " + text, "render-shapes");
  return value;
}

class Output {
 public:
  explicit Output(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    images_.open(folder / "images.bin", std::ios::binary);
    owners_.open(folder / "owners.bin", std::ios::binary);
    lines_.open(folder / "scenes.jsonl");
    if (!images_ || !owners_ || !lines_) throw Error("cannot be written", folder.string());
  }

  void add(const ShapesScene& scene, Json facts) {
    const auto picture = draw(scene);
    write(images_, picture.image.rgb);
    write(owners_, picture.owner);
    auto objects = Json::array();
    for (std::size_t i = 0; i < scene.objects.size(); ++i) {
      const auto& object = scene.objects[i];
      if (object.flaw) continue;
      const auto box = visible_box(picture, i);
      objects.push_back({{"label", object.label},
                         {"color", object.colour},
                         {"owner", i + 1},
                         {"box", box ? Json(*box) : Json()}});
    }
    facts["objects"] = std::move(objects);
    lines_ << facts.dump() << "\n";
  }

 private:
  static void write(std::ofstream& file, const std::vector<std::uint8_t>& bytes) {
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  std::ofstream images_, owners_, lines_;
};

void scenes(std::uint64_t count, std::uint64_t seed, const std::string& folder, double flawed, int most) {
  Output output(folder);
  DataEngine engine(seed);
  for (std::uint64_t i = 0; i < count; ++i) output.add(random_scene(engine, flawed, most), Json::object());
}

void records(const std::string& file, std::uint64_t times, std::uint64_t seed, const std::string& folder) {
  const auto all = load_geneval_records(file);
  Output output(folder);
  DataEngine engine(seed);
  for (std::uint64_t i = 0; i < times; ++i) {
    for (const auto& record : all) {
      const auto drawn = with_mistake(record, engine);
      const bool mistake = to_json(drawn) != to_json(record);
      output.add(scene_of(drawn, engine), {{"record", to_json(record)}, {"mistake", mistake}});
    }
  }
}

int run(const std::vector<std::string>& words) {
  const auto is = [&](const char* mode, std::size_t size) {
    return words.size() == size && words[0] == mode;
  };
  if (is("scenes", 4) || is("scenes", 5) || is("scenes", 6)) {
    scenes(number(words[1]), number(words[2]), words[3], words.size() > 4 ? std::stod(words[4]) : .5,
           words.size() > 5 ? std::stoi(words[5]) : 6);
  } else if (is("records", 5)) {
    records(words[1], number(words[2]), number(words[3]), words[4]);
  } else {
    std::fputs(kUsage, stderr);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  try {
    return harness::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
