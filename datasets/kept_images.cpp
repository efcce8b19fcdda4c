#include "datasets/kept_images.h"

#include <fmt/format.h>

#include <sstream>

#include "core/files.h"
#include "core/json.h"
#include "core/sha256.h"

namespace harness {
namespace fs = std::filesystem;

std::string image_list_text(const std::vector<SummedImage>& images) {
  std::string text;
  for (const auto& image : images) {
    text += Json{{"position", image.position},
                 {"sample", image.sample},
                 {"file", image.name},
                 {"sha256", image.sha256}}
                .dump() +
            "\n";
  }
  return text;
}

std::string write_image_checkpoint(const fs::path& folder, int step, const std::vector<SummedImage>& images) {
  const auto text = image_list_text(images);
  const auto manifest =
      Json{{"step", step}, {"imported", "images"}, {"files", {{kImageListFile, sha256_hex(text)}}}}.dump(2) +
      "\n";
  make_folder(folder.parent_path());
  write_folder_atomically(folder, [&](const fs::path& aside) {
    write_file_atomically(aside / kImageListFile, text);
    write_file_atomically(aside / "manifest.json", manifest);
  });
  return sha256_hex(manifest);
}

std::vector<SummedImage> read_image_list(const fs::path& file) {
  std::vector<SummedImage> images;
  std::istringstream lines(read_file(file));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto where = fmt::format("{}:{}", file.string(), number);
    const auto value = parse_json_line(line, where);
    Fields fields(value, where);
    SummedImage image;
    image.position = fields.required<int>("position");
    image.sample = fields.required<int>("sample");
    image.name = fields.required<std::string>("file");
    image.sha256 = fields.required<std::string>("sha256");
    fields.finish();
    images.push_back(std::move(image));
  }
  return images;
}

std::string checksum_of(const std::vector<SummedImage>& images) {
  std::string text;
  for (const auto& image : images)
    text += fmt::format("{} {} {}\n", image.position, image.sample, image.sha256);
  return sha256_hex(text);
}

}  // namespace harness
