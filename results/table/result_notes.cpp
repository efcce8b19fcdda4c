#include <fmt/format.h>

#include <algorithm>

#include "core/score_limit.h"
#include "core/text.h"
#include "results/statistics/verdict_words.h"
#include "results/table/table_format.h"
#include "results/table/table_notes.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

std::string row_name(const TableModel& model, const TableRow& row) {
  const bool several = std::ranges::any_of(model.rows, [&](const TableRow& other) {
    return other.method == row.method && other.seed != row.seed;
  });
  const auto name = several && row.seed ? fmt::format("{} (seed {})", row.method, *row.seed) : row.method;
  return model.every_checkpoint ? fmt::format("{} at {}", name, row.checkpoint) : name;
}

/// The selected rows of a method.
std::vector<const TableRow*> selected_rows(const TableModel& model, const std::string& method) {
  std::vector<const TableRow*> rows;
  for (const auto& row : model.rows) {
    if (row.method == method && row.selected) rows.push_back(&row);
  }
  return rows;
}

bool has_paper_row(const TableModel& model) {
  return std::ranges::any_of(
      methods_of(model), [&](const std::string& method) { return paper_row_of(model, method) != nullptr; });
}

std::string backbone_note(const TableModel& model) {
  if (model.backbone_note.empty()) return {};
  return fmt::format("{}{}.", model.backbone_note,
                     has_paper_row(model) ? "; levels do not compare with the paper's" : "");
}

std::string paper_note(const TableModel& model) {
  if (!has_paper_row(model)) return {};
  return fmt::format(
      "\u21b3 paper: as printed in \"{}\" ({}, {}).{}", model.paper->paper, model.paper->label,
      model.paper->backbone,
      model.paper->task != "ocr"
          ? ""
          : " It reads text with PaddleOCR, this table with Tesseract, and training prompts are this "
            "project's own unless given: compare differences between methods, not levels.");
}

/// Another metric in a column of the paper's, so that it is not mistaken for the paper's.
std::string stand_in_note(const TableColumn& column) {
  if (column.stands_for.empty() || !column.std_of.empty()) return {};
  return fmt::format(
      "{0} replaces the paper's {1} here. It is a different scorer: its numbers do not compare with the "
      "paper's {1}, which is printed beside it.",
      column.title, column.paper_metric);
}

/// What a share of the budget is a share of.
std::string budget_text(const TableModel& model) {
  const bool is_shown = std::ranges::count(model.columns, "tau_share", &TableColumn::key) > 0;
  const auto known =
      std::ranges::find_if(model.rows, [](const TableRow& row) { return row.tau.has_value(); });
  if (!is_shown || known == model.rows.end()) return {};
  return fmt::format(
      "Share of tau: Lambda_late at that checkpoint divided by the late budget tau = {:.4g} (-ln(q) / number "
      "of late steps), for methods without a budget too.",
      *known->tau);
}

/// What columns are that say so of themselves.
std::vector<std::string> column_texts(const TableModel& model) {
  auto texts = texts_of(model.columns, [&](const TableColumn& column) {
    const bool is_hidden =
        !model.show.with_restated && model.show.columns.empty() && is_restated(model, column);
    return column.note.empty() || is_hidden ? "" : fmt::format("{}: {}.", column.title, column.note);
  });
  texts.push_back(budget_text(model));
  return texts;
}

std::string bold_text(const TableModel& model) {
  const bool has_bold = std::ranges::any_of(model.columns, [&](const TableColumn& column) {
    const auto best = best_of_column(model, column);
    return best && best->resolved;
  });
  if (!has_bold) return {};
  return fmt::format(
      "Bold: best mean of its column, where its difference to {} is resolved (if {} is best, those of all "
      "other methods to it). It need not differ from the other methods.",
      model.baseline, model.baseline);
}

std::string dagger_text(const TableModel& model) {
  const auto methods = methods_of(model);
  const bool has_dagger = std::ranges::any_of(model.columns, [&](const TableColumn& column) {
    return std::ranges::any_of(
        methods, [&](const std::string& method) { return differs_from_baseline(model, method, column); });
  });
  if (!has_dagger) return {};
  return fmt::format(
      "{} The difference to {} is resolved: its interval over training runs{} excludes 0{}, and the adjusted p is "
      "below {}.",
      kDiffersMark, model.baseline, model.over_training ? "" : " and prompts",
      model.over_training ? "" : kPromptsToo, format_significance(model.confidence));
}

/// What columns, plus-minus, bold cells and marks mean, of those that occur.
TableNote legend_note(const TableModel& model) {
  auto texts = column_texts(model);
  if (model.every_checkpoint)
    texts.push_back(fmt::format("{} Selected checkpoint of its run. Differences and bold concern only these.",
                                kSelectedMark));
  if (is_pooled(model))
    texts.push_back(
        fmt::format("\u00b1: standard deviation over training runs{}.",
                    model.reference.empty() ? "" : "; for the base model, over the noise of each seed"));
  texts.push_back(bold_text(model));
  texts.push_back(dagger_text(model));
  std::erase(texts, "");
  return {.text = join(texts, " "), .for_operator = is_pooled(model) ? "One row per run: --per-seed." : ""};
}

/// Methods whose training recorded no steps, with what stands in the place of Lambda_late.
std::string no_steps_note(const TableModel& model) {
  const auto methods = texts_of(methods_of(model), [&](const std::string& method) -> std::string {
    std::vector<std::optional<double>> movements;
    for (const auto* row : selected_rows(model, method)) {
      if (!row->has_steps) movements.push_back(row->velocity_movement);
    }
    if (movements.empty()) return {};
    const auto mean = summarize(movements).mean;
    return mean ? fmt::format("{} {:.3g}", method, *mean) : method;
  });
  return listed(
      "No recorded steps (trained on the forward process), so no Lambda_late and no law audit; mean "
      "||v \u2212 v_ref||^2 at the checkpoint in its place: ",
      methods);
}

TableNote not_run_note(const TableModel& model) {
  const auto metrics = texts_of(model.not_run, [](const auto& entry) {
    return fmt::format("{} was not run: {}", entry.first, entry.second);
  });
  return {.text = {}, .for_operator = listed(std::string(kDash) + " ", metrics, "; ")};
}

/// "ratio-norm (seed 42): ocr_reward 3 of 40 (mean over 37)"
std::string missing_text(const TableModel& model, const TableRow& row) {
  const auto metrics = texts_of(row.metrics, [&](const auto& entry) -> std::string {
    const auto& [metric, summary] = entry;
    const auto failed = missing_values(row, metric);
    if (failed == 0) return {};
    return fmt::format("{} {} of {} (mean over {})", metric, failed, summary.n + failed, summary.n);
  });
  return listed(row_name(model, row) + ": ", metrics, ", ", "");
}

std::vector<TableRow> all_rows(const TableModel& model) {
  auto rows = model.reference;
  rows.insert(rows.end(), model.rows.begin(), model.rows.end());
  return rows;
}

TableNote missing_note(const TableModel& model) {
  const auto rows = all_rows(model);
  const auto texts = texts_of(rows, [&](const TableRow& row) { return missing_text(model, row); });
  if (texts.empty()) return {};
  std::int64_t beyond = 0;
  for (const auto& row : rows) {
    for (const auto& [_, summary] : row.metrics) beyond += summary.n_beyond;
  }
  return {.text = fmt::format(
              "{} Missing values of {}. {}.{}", kIncompleteMark, join(texts, "; "),
              model.images_are_given ? "There was no image, or a scorer failed" : "A scorer failed there",
              beyond == 0 ? ""
                          : fmt::format(" {} of them {} beyond \u00b1{:g}: no standard deviation can be "
                                        "computed.",
                                        beyond, beyond == 1 ? "is" : "are", kLargestScore)),
          .for_operator = "Reasons: `harness query failures`."};
}

/// Text metrics are of the prompts that quote a text, and of no other.
std::string target_note(const TableModel& model) {
  for (const auto& row : all_rows(model)) {
    std::int64_t most = 0;
    for (const auto& [_, samples] : row.without_target) most = std::max(most, samples);
    if (most > 0)
      return fmt::format("Text metrics: over the {} prompts that quote a text; the other {} quote none.",
                         row.n - most, most);
  }
  return {};
}

/// By method: "dual", or "dual in 2 of 8 runs".
std::string clip_note(const TableModel& model) {
  const auto methods = texts_of(methods_of(model), [&](const std::string& method) -> std::string {
    const auto runs = selected_rows(model, method);
    const auto never = std::ranges::count(runs, true, &TableRow::never_clipped);
    if (never == 0 || never == std::ssize(runs)) return never == 0 ? "" : method;
    return fmt::format("{} in {} of {} runs", method, never, runs.size());
  });
  return listed("Never clipped: ", methods, ", ",
                " (no ratio left the clip range in any off-policy update of the run).");
}

/// "0.2 %", "3.9 to 4.6 % (3 runs)".
std::string range_text(const std::vector<double>& values) {
  const auto [low, high] = std::ranges::minmax(values);
  const auto first = fmt::format("{:.1f}", low), last = fmt::format("{:.1f}", high);
  return first + (first == last ? "" : " to " + last) + " %" +
         (values.size() > 1 ? fmt::format(" ({} runs)", values.size()) : "");
}

/// What a method damped, and what the norm clip left of that (lambda-controlled, E44).
std::string damping_note(const TableModel& model) {
  const auto shares = texts_of(methods_of(model), [&](const std::string& method) -> std::string {
    std::vector<double> of_runs;
    for (const auto* row : selected_rows(model, method)) {
      if (row->damp_share) of_runs.push_back(*row->damp_share * 100);
    }
    return of_runs.empty() ? "" : method + " " + range_text(of_runs);
  });
  const auto undone = texts_of(methods_of(model), [&](const std::string& method) {
    std::int64_t damped = 0, without_effect = 0;
    for (const auto* row : selected_rows(model, method)) {
      damped += row->damped_updates;
      without_effect += row->undone_updates;
    }
    return damped > 0 ? fmt::format("{} of {} damped updates of {}", without_effect, damped, method) : "";
  });
  auto note = listed("Share of off-policy steps damped (weight below 1), by shard: ", shares);
  if (undone.empty()) return note;
  return note + (note.empty() ? "" : " ") +
         listed("Gradient clipping: ", undone, "; ", " had the same length as without damping.");
}

}  // namespace

std::vector<TableNote> result_notes(const TableModel& model) {
  std::vector<TableNote> notes{
      {backbone_note(model)}, {paper_note(model)},  {join(texts_of(model.columns, stand_in_note), " ")},
      legend_note(model),     {by_tag_note(model)}, {no_steps_note(model)},
      not_run_note(model),    missing_note(model),  {target_note(model)},
      {clip_note(model)},     {damping_note(model)}};
  notes.insert(notes.end(), model.notes.begin(), model.notes.end());
  // That other verdicts are to be quoted stands below the differences where no results are shown.
  notes.push_back({.text = model.fuller_note,
                   .place = shows_part(model, "results") ? NotePlace::kResults : NotePlace::kDifferences});
  return notes;
}

}  // namespace harness
