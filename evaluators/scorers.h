#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/geneval/target.h"
#include "evaluators/evaluator.h"

namespace harness {

/// Scorers side by side, each for metrics of its own.
class Scorers {
 public:
  void add(const std::string& name, std::unique_ptr<Scorer> scorer);

  /// nullptr for an unknown name.
  Scorer* find(const std::string& name) const;

  /// All metrics of an image of a prompt. The future may be waited for from any thread, and not longer than
  /// this object lives.
  std::future<SampleScore> score(const std::string& prompt, const Target& target, const Image& image) const;
  /// The same of the scorers that `is_asked` names.
  std::future<SampleScore> score(const std::string& prompt, const Target& target, const Image& image,
                                 const std::function<bool(const std::string& name)>& is_asked) const;

  /// Processes that had to be replaced.
  std::size_t replaced() const;

  /// Notes for a table on scorers that were given up, a sentence or two each.
  std::vector<std::string> notes() const;

  /// The state of failed scorers that a resumed job needs: {name: Scorer::state}.
  Json state() const;
  void restore(const Json& state, const std::string& where);

 private:
  std::vector<std::pair<std::string, std::unique_ptr<Scorer>>> scorers_;
};

}  // namespace harness
