// harness-scorer: reads the text in images that come in on standard input (evaluators/PROTOCOL.md).

#include <fmt/format.h>

#include <iostream>

#include "core/command_line/command_line.h"
#include "core/error.h"
#include "core/streams.h"
#include "evaluators/scorer/characters.h"
#include "evaluators/scorer/reader.h"
#include "evaluators/scorer/tesseract_engine.h"

namespace harness {
namespace {

struct Options {
  std::string profile = "ocr-glyph", only;
  bool describe = false, characters = false;
};

void say(const std::string& line) {
  put_exactly(line);
  finish_output();
}

/// Answers requests until standard input ends. Throws Error for a request that cannot be understood: what
/// follows it is unknown.
void serve(Reader& reader) {
  std::string line;
  while (is_output_wanted() && std::getline(std::cin, line)) {
    const ScorerRequest request = parse_request(line);
    Image image{request.width, request.height, std::vector<std::uint8_t>(request.bytes())};
    std::cin.read(reinterpret_cast<char*>(image.rgb.data()), static_cast<std::streamsize>(image.rgb.size()));
    if (!std::cin) throw Error("the pixels end early", "request", {}, Status::kFailed);
    say(answer_line(request.id, reader.read(image)));
  }
}

int run(const Options& options) {
  try {
    if (options.characters) {
      put_exactly(Json{{"characters", readable_characters(find_tessdata() / "eng.traineddata")}}.dump() +
                  "\n");
      return 0;
    }
    const auto reader = make_reader(options.profile, find_tessdata(), options.only);
    say(reader->hello().to_json().dump() + "\n");
    if (!options.describe) serve(*reader);
    return 0;
  } catch (const Error& error) {
    tell("harness-scorer: {}\n", error.what());
    // Whoever started this process as a scorer reads the reason in place of the hello or of an answer.
    if (!options.describe)
      put_exactly(Json{{"protocol", kScorerProtocol}, {"error", error.what()}}.dump() + "\n");
    return static_cast<int>(error.status());
  }
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  harness::Options o;
  harness::Command program{
      "harness-scorer",
      "Reads the text in images: raw pixels on standard input, JSON lines on standard output."};
  program.add("--profile", &o.profile,
              "How images are prepared and read: ocr-glyph (96 x 48 pixels) or ocr-scene (512 x 512)");
  program.add("--only", &o.only,
              "One of ocr-scene's readings alone, for measurements: dark-letters, light-letters, half-size");
  program.add("--describe", &o.describe, "Print the hello line and exit");
  program.add("--characters", &o.characters,
              "Print the characters that a transcript can hold, as JSON, and exit");
  program.run = [&] { return harness::run(o); };
  return harness::run_program(program, argc, argv);
}
