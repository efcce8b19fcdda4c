#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/base64.h"
#include "core/sha256.h"
#include "core/text.h"
#include "results/chart/forest.h"
#include "results/report/report.h"
#include "results/statistics/verdict_words.h"
#include "results/table/markup.h"
#include "results/table/notation.h"
#include "results/table/table_html.h"

namespace harness {
namespace {

/// The bytes of hexadecimal digits.
std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

/// How a Content-Security-Policy names a text that may run or style.
std::string policy_hash(std::string_view text) {
  return fmt::format("'sha256-{}'", base64(from_hex(sha256_hex(text))));
}

/// The page may use its own style, script and embedded images, and reach nothing.
std::string policy() {
  return fmt::format(
      "default-src 'none'; img-src data:; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
      policy_hash(kReportStyle), policy_hash(kReportScript));
}

struct Section {
  const char *id, *title;
  std::string body;
};

std::string notes_html(const std::vector<std::string>& notes) {
  return notes.empty() ? "" : list_html(notes, " class=\"notes\"");
}

std::string results_html(const Report& report, const TableView& view) {
  const auto board =
      view.leaderboard.rows.empty()
          ? std::string()
          : view_table_html(view.leaderboard) +
                notes_html(view.notes_at({NotePlace::kLeaderboard, NotePlace::kEqualEvaluations}));
  return notes_html(view.notes_at({NotePlace::kTestSplit})) + board + view_table_html(view.results) +
         notes_html(view.notes_at({NotePlace::kResults})) +
         (report.missing.empty() ? "" : list_html(report.missing, " class=\"missing-list\""));
}

/// What the colours of differences mean, where there are any.
std::string colours_text(const TableModel& model) {
  if (!model.scale_warning.empty())
    return "All are grey: at this scale differences are between checkpoints, not methods.";
  if (has_claim(model, Claim::kMethods) && model.families.methods.empty())
    return "All are grey: exploratory, nothing is claimed.";
  if (!has_claim(model, Claim::kMethods)) {
    return fmt::format(
        "All are grey: with fewer than {} training runs per method, differences are between checkpoints, not "
        "methods.",
        kFewestRuns);
  }
  return fmt::format(
      "Green: the method is better; red: worse. The interval over training runs excludes 0{}, and the adjusted p "
      "is below 0.05, as in the table. Grey: not resolved.",
      model.over_training ? "" : kPromptsToo);
}

std::string comparisons_html(const Report& report, const TableView& view) {
  if (view.comparisons.rows.empty()) return {};
  const bool has_printed = std::ranges::any_of(forests_of(report.table), [](const Forest& forest) {
    return std::ranges::any_of(forest.rows, [](const ForestRow& row) { return row.printed.has_value(); });
  });
  return fmt::format("<p>A point is the mean paired difference, the bar its interval. {}{}</p>\n",
                     colours_text(report.table),
                     has_printed ? " A hollow diamond is the paper's printed difference." : "") +
         report_forest_html(report) +
         "<details><summary>As a table, with wins, ties, losses and p</summary>\n" +
         view_table_html(view.comparisons) + "</details>\n" +
         (view.by_tag.rows.empty() ? "" : view_table_html(view.by_tag)) +
         notes_html(view.notes_at({NotePlace::kDifferences, NotePlace::kSingleDifferences}));
}

/// What a legend explains of a series.
using LegendEntry = std::tuple<std::string, std::size_t, ChartLook>;

std::vector<LegendEntry> legend_of(const std::vector<Chart>& charts) {
  std::vector<LegendEntry> entries;
  for (const auto& chart : charts) {
    for (const auto& series : chart.series) {
      const LegendEntry entry(series.label, series.color, series.look);
      if (!series.behind && std::ranges::count(entries, entry) == 0) entries.push_back(entry);
    }
  }
  return entries;
}

std::string legend_html(const std::vector<Chart>& charts) {
  std::string entries;
  for (const auto& [label, color, look] : legend_of(charts))
    entries += fmt::format("<li>{}{}</li>", page_svg(key_drawing(color, look), ""), html_notation(label));
  return "<ul class=\"legend\">" + entries + "</ul>\n";
}

/// Whether all charts have the same series, so that one legend is true of each; small panels differ in theirs
/// by what they are of alone.
bool share_legend(const std::vector<Chart>& charts) {
  const auto& axes = charts.front().axes;
  if (!axes.empty() && std::ranges::all_of(charts, [&](const Chart& one) { return one.axes == axes; }))
    return true;
  return std::ranges::all_of(
      charts, [&](const Chart& chart) { return is_empty(chart) || legend_of({chart}) == legend_of(charts); });
}

std::string chart_group_html(const ChartGroup& group, std::size_t& next_chart) {
  std::string panels;
  std::vector<std::string> empty;
  const bool shares = !group.charts.empty() && share_legend(group.charts);
  for (const auto& chart : group.charts) {
    if (is_empty(chart)) {
      empty.push_back(plain_notation(chart.title));
      continue;
    }
    panels +=
        fmt::format("<figure class=\"readout\" data-chart=\"{}\"><figcaption>{}</figcaption>{}{}</figure>\n",
                    next_chart++, html_notation(chart.title), shares ? "" : legend_html({chart}),
                    page_svg(chart_drawing(chart), "chart"));
  }
  auto out = group.title.empty() ? std::string() : fmt::format("<h3>{}</h3>\n", html_text(group.title));
  for (const auto& note : group.notes) out += fmt::format("<p>{}</p>\n", html_prose(note));
  if (!panels.empty())
    out += (shares ? legend_html(group.charts) : "") + "<div class=\"panels\">\n" + panels + "</div>\n";
  if (!empty.empty()) {
    out += fmt::format("<p class=\"none\">No values of: {}.</p>\n", html_text(join(empty, ", ")));
  }
  return out;
}

/// `next_chart` numbers the charts of the page, as the script knows them.
std::string charts_html(const std::vector<ChartGroup>& groups, std::size_t& next_chart) {
  std::string out;
  for (const auto& group : groups) out += chart_group_html(group, next_chart);
  return out;
}

/// What stands beneath the images.
std::string beneath_html(const Report& report) {
  const bool is_judged = std::ranges::any_of(report.prompts, [](const ReportPrompt& prompt) {
    return std::ranges::any_of(prompt.cells,
                               [](const ReportCell& cell) { return cell.judgement.has_value(); });
  });
  if (is_judged)
    return "what a rule over the detected objects finds wrong with it, and the score. Solid boxes: objects "
           "that the rule counts; dashed: those that it does not.";
  return "what was read, and the score. <span class=\"wrong\">Marked</span> characters are not in the "
         "target, <span class=\"gap\">\u2038</span> marks where some are missing; case and blanks are "
         "ignored.";
}

/// The list itself is made by the script; without one the page has a note.
std::string prompts_html(const Report& report) {
  if (report.prompts.empty()) return {};
  return fmt::format(
      "<p>{} prompts of the {} split. {} Beneath each image: {} {}</p>\n<noscript><p class=\"none\">The list of prompts needs JavaScript, which runs only inside this "
      "file.</p></noscript>\n<div id=\"browser\"></div>\n",
      report.prompts.size(), html_text(report.table.split), html_text(report.noise_note),
      beneath_html(report), html_text(report.image_note));
}

ViewTable runs_view(const Report& report) {
  ViewTable view{{{"Run", false},
                  {"Method", false},
                  {"Seed"},
                  {"Checkpoint", false},
                  {"Selected by", false},
                  {"Worker build", false},
                  {"Finished (UTC)", false}},
                 {}};
  for (const auto& run : report.runs) {
    view.rows.push_back({RowKind::kOurs,
                         {{run.id},
                          {run.method},
                          {fmt::format("{}", run.seed)},
                          {run.checkpoint},
                          {run.selection},
                          {run.build},
                          {run.finished}}});
  }
  return view;
}

std::string provenance_html(const Report& report, const TableView& view) {
  std::string out = "<dl>\n";
  for (const auto& [name, text] : report.facts) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_text(name), html_text(text));
  }
  out += "</dl>\n" + signature_html(view);
  return report.runs.empty() ? out : out + view_table_html(runs_view(report));
}

std::string navigation_html(const std::vector<Section>& sections) {
  std::string out = "<nav aria-label=\"Sections\"><ul>";
  for (const auto& section : sections) {
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>", section.id, section.title);
  }
  return out + "</ul></nav>\n";
}

std::string data_html(const Report& report) {
  const auto block = [](const std::string& id, const std::string& json) {
    return fmt::format("<script type=\"application/json\" id=\"{}\">", id) + json + "</script>\n";
  };
  auto out = block("report-data", report_data_json(report));
  if (report.prompts.empty()) return out;
  for (std::size_t i = 0; i < report.columns.size(); ++i) {
    out += block(fmt::format("report-images-{}", i), report_images_json(report, i));
  }
  return out;
}

std::string body_html(const Report& report, const TableView& view) {
  std::size_t next_chart = 0;
  std::vector<Section> sections{{"results", "Results", results_html(report, view)},
                                {"paper", "Paper", report_paper_html(report.table, view)},
                                {"comparisons", "Differences", comparisons_html(report, view)},
                                {"guardrails", "Guardrails", guardrail_panel_html(view)},
                                {"training", "Training", charts_html(report.training, next_chart)},
                                {"cost", "Cost", report_cost_html(report)},
                                {"law", "Law audit", charts_html(report.law, next_chart)},
                                {"prompts", "Prompts", prompts_html(report)},
                                {"provenance", "Provenance", provenance_html(report, view)}};
  std::erase_if(sections, [](const Section& section) { return section.body.empty(); });
  auto out = "<header>" + heading_html(view) + report_verdicts_html(report) + "</header>\n" +
             navigation_html(sections) + "<main>\n";
  for (const auto& section : sections) {
    out += fmt::format("<section id=\"{}\"><h2>{}</h2>\n", section.id, section.title);
    out += section.body;
    out += "</section>\n";
  }
  return out + "</main>\n";
}

}  // namespace

std::string report_html(const Report& report) {
  const auto view = table_view(report.table);
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
             "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>",
             html_text(policy()), html_text(view.heading)) +
         kReportStyle + "</style>\n</head>\n<body>\n" + body_html(report, view) + data_html(report) +
         "<script>" + kReportScript + "</script>\n</body>\n</html>\n";
}

}  // namespace harness
