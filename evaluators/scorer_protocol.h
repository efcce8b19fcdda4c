#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

// The lines that a scorer process and its user exchange; PROTOCOL.md describes them for authors of scorers.
namespace harness {

inline constexpr int kScorerProtocol = 1;

struct ScorerData {
  std::string file;    ///< name without folder
  std::string sha256;  ///< of its bytes
};

/// What a scorer states about itself first. All of it is part of a job's identity.
struct ScorerHello {
  std::string name;
  std::string version;
  Json settings;
  std::vector<ScorerData> data;

  Json to_json() const;
};

/// Throws Error (where: `where`) for a line that is not a valid hello of this protocol, or with the scorer's
/// own reason if it cannot start. stated: what is known of the scorer beforehand; a field that
/// the line lacks is taken from it, and another name or version is an Error.
ScorerHello parse_hello(std::string_view line, const std::string& where, const ScorerHello* stated = nullptr);

/// What an image was asked to show.
struct ScorerText {
  std::string prompt, target;
};

struct ScorerRequest {
  std::uint64_t id;
  int width, height;
  std::string path = {};                ///< of a PNG file with the image; empty: the pixels follow the line
  std::optional<ScorerText> text = {};  ///< for scorers that ask for it
  std::size_t bytes() const { return static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3; }
};

/// One line with its newline.
std::string request_line(const ScorerRequest& request);

/// A request with pixels. Throws Error for a line that is not a valid request, or whose sizes do not fit
/// together (at most 16384 pixels a side).
ScorerRequest parse_request(std::string_view line);

/// What a scorer found in one image: a reading, named numbers, or why there is neither.
struct ScorerAnswer {
  std::optional<std::string> transcript_raw;         ///< the engine's text as it came
  std::optional<double> confidence;                  ///< the engine's own, 0 to 100
  std::map<std::string, double> values;              ///< finite ones
  std::map<std::string, std::string> unusable = {};  ///< by name, why what stood there is no value
  std::optional<std::string> error;                  ///< set: nothing else of the above is
  bool cost_a_process = false;  ///< set by whoever asked: the process failed on this image and was replaced
};

/// One line with its newline.
std::string answer_line(std::uint64_t id, const ScorerAnswer& answer);

/// Throws Error for a line that is not a valid answer, answers another id, or holds neither a transcript,
/// values nor an error. A value that is not a finite number (NaN and Infinity as Python's json writes them,
/// too), or beyond kLargestScore, is no Error: it is `unusable`.
ScorerAnswer parse_answer(std::string_view line, std::uint64_t id);

}  // namespace harness
