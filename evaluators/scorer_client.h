#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/image.h"
#include "evaluators/scorer_process.h"
#include "evaluators/scorer_protocol.h"

namespace harness {

struct ScorerPoolSettings {
  std::vector<std::string> command;  ///< program and arguments
  int workers = 1;
  int deadline_ms = 20000;        ///< for one image, from sending to answer
  int start_deadline_ms = 60000;  ///< for a child's hello
  ScorerProcessOptions child = {};
  std::string name = {};                   ///< in messages; empty: the program
  std::optional<ScorerHello> stated = {};  ///< parse_hello
  std::filesystem::path image_folder =
      {};  ///< there: images go through PNG files in this folder; else as pixels
};

/// Scorer processes (harness-scorer, or any program that speaks PROTOCOL.md) that work on images side by
/// side.
///
/// An image that a child crashes on, answers with garbage, or does not answer within the deadline costs that
/// image alone: its answer holds the reason in `error`, and the child is replaced. What a child does between
/// images, such as a second answer, an answer before its request, or an exit, costs none: the next image goes
/// to a new child. No answer is taken for another image's, as requests have ids that cannot be guessed. The
/// answer to an image depends on that image only, and futures keep the order of submission, so results do not
/// depend on timing or on the number of workers (the deadline itself aside: choose it far above the usual).
class ScorerPool {
 public:
  /// Starts the children. Throws Error naming the program if it is missing, says that it cannot work, or
  /// fails to start three times in a row.
  explicit ScorerPool(ScorerPoolSettings settings);
  ScorerPool(std::vector<std::string> command, int workers, int deadline_ms, int start_deadline_ms = 60000);

  /// Closes the children's input, which ends them. Images not answered yet get an answer with `error`.
  ~ScorerPool();
  ScorerPool(const ScorerPool&) = delete;
  ScorerPool& operator=(const ScorerPool&) = delete;

  /// What the scorer said about itself; every child said the same.
  const ScorerHello& hello() const;

  /// Thread-safe. The future, or a later call, throws Error if, meanwhile, the scorer could not be started
  /// again (see the constructor), or a replacement described itself differently. image.rgb must hold width x
  /// height x 3 bytes.
  std::future<ScorerAnswer> submit(Image image, std::optional<ScorerText> text = {});

  /// Ends the children at once. Images not answered yet get an answer with `error`, at the latest when the
  /// pool is destroyed.
  void stop();

  /// Children that were replaced so far.
  std::size_t replaced() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace harness
