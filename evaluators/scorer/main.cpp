// harness-scorer: reads the text in images that come in on standard input (evaluators/PROTOCOL.md).

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "core/error.h"
#include "core/text.h"
#include "evaluators/scorer/tesseract_reader.h"

namespace harness {
namespace {

struct Options {
  std::string profile = "ocr-glyph";
  bool describe = false;
};

void check_profile(const std::string& profile) {
  const std::vector<std::string> profiles{"ocr-glyph"};
  if (profile != profiles[0]) {
    throw Error(fmt::format("unknown profile \"{}\"", profile), "--profile", suggestion(profile, profiles));
  }
}

void say(const std::string& line) {
  std::cout << line << std::flush;
}

/// Answers requests until standard input ends. Throws Error for a request that cannot be understood: what
/// follows it is unknown.
void serve(TesseractReader& reader) {
  std::string line;
  while (std::getline(std::cin, line)) {
    const ScorerRequest request = parse_request(line);
    Image image{request.width, request.height, std::vector<std::uint8_t>(request.bytes())};
    std::cin.read(reinterpret_cast<char*>(image.rgb.data()), static_cast<std::streamsize>(image.rgb.size()));
    if (!std::cin) throw Error("the pixels end early", "request", {}, Status::kFailed);
    say(answer_line(request.id, reader.read(image)));
  }
}

int run(const Options& options) {
  try {
    check_profile(options.profile);
    TesseractReader reader(find_tessdata());
    say(reader.hello().to_json().dump() + "\n");
    if (!options.describe) serve(reader);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "harness-scorer: {}\n", error.what());
    // Whoever started this process as a scorer reads the reason in place of the hello or of an answer.
    if (!options.describe) say(Json{{"protocol", kScorerProtocol}, {"error", error.what()}}.dump() + "\n");
    return static_cast<int>(error.status());
  }
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  CLI::App app("Reads the text in images: raw pixels on standard input, JSON lines on standard output.",
               "harness-scorer");
  harness::Options options;
  app.add_option("--profile", options.profile, "How images are prepared and read")->capture_default_str();
  app.add_flag("--describe", options.describe, "Print the hello line and exit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    return status == 0 ? 0 : static_cast<int>(harness::Status::kUsage);
  }
  std::ios::sync_with_stdio(false);
  return harness::run(options);
}
