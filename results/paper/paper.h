#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/statistics/statistics.h"

namespace harness {

/// One cell of the paper: its number, in the unit of its column (percentages in percent), and its text as
/// printed.
struct PaperValue {
  double value = 0;
  std::string printed;
};

struct PaperColumn {
  std::string key, unit;
};

struct PaperRow {
  std::string method, task;       ///< task is empty unless the table holds several
  std::optional<int> checkpoint;  ///< nothing where the paper prints none
  bool selected = false;
  std::map<std::string, PaperValue> values;  ///< by column key
};

/// A difference method - baseline; what the paper does not state is absent.
struct PaperComparison {
  std::string baseline, method, metric, task;
  std::optional<double> delta, t, relative_percent;
  std::optional<Interval> ci;
  std::optional<std::int64_t> n, wins, ties, losses;
  bool printed = false;  ///< false: computed from the paper's cells
};

/// One table of the paper (results/paper/README.md).
struct PaperTable {
  std::string id, paper, label, backbone, task, split;
  std::optional<std::int64_t> n;
  std::vector<PaperColumn> columns;
  std::vector<PaperRow> rows;
  std::vector<PaperComparison> comparisons;

  const PaperColumn* column(std::string_view key) const;

  /// The row of a method (and task, in tables of several): the given checkpoint's, or without one the
  /// selected row, or the only one.
  const PaperRow* row(std::string_view method, std::string_view task = {},
                      std::optional<int> checkpoint = {}) const;
  const PaperComparison* comparison(std::string_view baseline, std::string_view method,
                                    std::string_view metric, std::string_view task = {}) const;
};

/// Reads paper/ID.json of the data folders (find_data_file). Throws Error if there is none of that id, or at
/// the first field that does not fit.
PaperTable load_paper_table(const std::string& id);
PaperTable read_paper_table(const std::filesystem::path& file);

/// A paper's value in the unit of this project's DB: percent becomes a fraction, exact to the printed digit.
double paper_value_in_db_unit(const PaperColumn& column, const PaperValue& value);

/// One prompt of a gallery in the paper.
struct GalleryPrompt {
  int index = 0;  ///< as printed
  /// First 16 digits of the SHA-256 of the text that the image should contain; empty where the task has none.
  std::string target_sha256 = {};
};

/// What the printed indices count: positions of the whole prompt set from 0, or of its test split from 1.
enum class GalleryIndex { kPromptSetFrom0, kTestSplitFrom1 };

struct PaperGallery {
  GalleryIndex index = GalleryIndex::kPromptSetFrom0;
  std::string prompt_set = {};  ///< that the indices were found to count; empty: told by the targets
  bool other_sets = true;       ///< the same places of another set say something
  std::vector<GalleryPrompt> prompts = {};  ///< in the paper's order
};

/// Reads paper/galleries/TASK.json of the data folders; nothing if the paper has none for the task. Throws
/// Error at the first field that does not fit.
std::optional<PaperGallery> load_paper_gallery(const std::string& task);

/// The position in the whole set of one of its prompts, `test` being the positions of the test split in
/// ascending order; nothing if the split lacks it.
std::optional<int> gallery_position(const PaperGallery& gallery, const GalleryPrompt& prompt,
                                    std::span<const int> test);

}  // namespace harness
