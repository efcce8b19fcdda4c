#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datasets/prompt.h"
#include "results/chart/chart.h"
#include "results/store/records.h"
#include "results/table/table_view.h"

namespace harness {

/// One column of the list of prompts: the selected checkpoint of a method and seed, or the base model.
struct ReportColumn {
  std::string method;
  std::int64_t seed = 0;
  int checkpoint = 0;
  bool is_base = false;
};

/// An object that a scorer found in an image.
struct ReportObject {
  std::string name;  ///< of its class
  double score = 0;
  std::array<double, 4> box{};  ///< x0, y0, x1, y1 in pixels of the scored image, y down
  std::optional<std::string> colour = {};
  bool counted = false;
};

/// One image of a prompt with what the scorers made of it.
struct ReportCell {
  std::string image = {};                                    ///< data URI; empty: there is none
  std::string image_note = {};                               ///< why there is none
  std::optional<std::string> transcript = {};                ///< nothing where no scorer read one
  std::map<std::string, std::optional<double>> values = {};  ///< by metric; no entry: not measured
  std::map<std::string, std::string> reasons = {};           ///< by metric: why a scorer failed
  std::optional<std::string> judgement = {};  ///< what is wrong with it, one line each; empty: nothing
  std::vector<ReportObject> objects = {};
  int width = 0, height = 0;  ///< pixels of the scored image; 0: it cannot be read
};

struct ReportPrompt {
  Prompt prompt = {};
  std::int64_t sample = 0;
  std::vector<ReportCell> cells = {};  ///< one per column
};

/// One training run at the foot of the page.
struct ReportRun {
  std::string method;
  std::int64_t seed = 0;
  std::string id, checkpoint = {}, selection = {}, build = {}, finished = {};
};

/// What the trainings of a method had spent at their ends.
struct ReportCost {
  std::string method;
  std::vector<Budget> runs = {};
};

/// All data of the page of `harness report`.
struct Report {
  TableModel table;
  std::string highlighted;  ///< the method that the list of prompts starts with, against table.baseline
  std::string metric;       ///< the metric that it starts with, and of the verdicts at the top
  std::vector<ChartGroup> training = {};  ///< curves by update, and metrics by checkpoint
  std::vector<ChartGroup> law = {};       ///< the path-variance law, predicted and measured
  std::vector<ReportColumn> columns = {};
  std::vector<TableColumn> metrics = {};  ///< those that the prompts' cells hold
  std::vector<ReportPrompt> prompts = {};
  std::string noise_note = {};            ///< what the images of a prompt have in common, a sentence
  std::string image_note = {};            ///< how images are embedded
  std::vector<std::string> missing = {};  ///< what the page lacks, a sentence each
  std::int64_t images_missing = 0;        ///< cells of the list of prompts without their image
  std::vector<ReportCost> costs = {};
  std::vector<ReportRun> runs = {};
  std::vector<std::pair<std::string, std::string>> facts = {};  ///< versions, seeds, dates: name and text
};

/// One HTML file that loads nothing from anywhere (its Content-Security-Policy forbids it): the table, what
/// becomes of the paper's figures, paired differences, training curves and what they cost, the law audit, and
/// every prompt with its images, sortable and filterable. Texts of prompts, transcripts and errors are
/// escaped.
std::string report_html(const Report& report);

// Parts of the page.

/// A row a printed figure of the paper: paper, here, difference; and a row a printed difference with its
/// verdict. Empty where the paper prints none.
std::string report_paper_html(const TableModel& model, const TableView& view);

/// Paired differences with their intervals as pictures, a group a baseline and a panel a metric.
std::string report_forest_html(const Report& report);

/// A tile a method: its difference to the baseline in `report.metric`, with a verdict.
std::string report_verdicts_html(const Report& report);

/// A row a method: images, network evaluations, time and memory of its trainings, the median with the lowest
/// and the highest. Empty where nothing was trained.
std::string report_cost_html(const Report& report);

/// The prompts as the page's script reads them: one JSON document without images, and one array of data URIs
/// a column.
std::string report_data_json(const Report& report);
std::string report_images_json(const Report& report, std::size_t column);

/// report_page/page.css and page.js, embedded by the build.
extern const char* const kReportStyle;
extern const char* const kReportScript;

}  // namespace harness
