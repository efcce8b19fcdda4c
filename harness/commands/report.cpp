#include "results/report/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>

#include "core/error.h"
#include "core/files.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/show/report_model.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kName = "report.html";

struct ReportOptions {
  DbOptions db;
  std::string out;
  ReportImages images;
  bool json = false;
};

/// -o FILE, or a folder that is there; of a collection -o FOLDER; unset: in the experiment's folder.
fs::path output_file(const Store& store, const Experiment& experiment, const std::string& out,
                     bool is_one_of_several) {
  if (out.empty() || is_one_of_several)
    return output_folder(store, experiment, out, is_one_of_several) / kName;
  return fs::is_directory(out) ? fs::path(out) / kName : fs::path(out);
}

/// False if the page is not whole.
bool write_report(Store& store, const Experiment& experiment, const fs::path& file,
                  const ReportOptions& options) {
  require_no_record(file);
  const auto made = make_report(store, experiment, options.images);
  const auto page = report_html(made);
  if (file.has_parent_path() && !fs::exists(file.parent_path())) {
    make_folder(file.parent_path());
    tell("made the folder {}\n", file.parent_path().string());
  }
  write_file_atomically(file, page);
  tell("{}: {:.1f} MB, one file that needs no network\n", file.string(),
       static_cast<double>(page.size()) / 1e6);
  if (made.images_missing == 0) {
    for (const auto& sentence : made.missing) tell("note: {}\n", sentence);
    return true;
  }
  tell("error: the page is incomplete: {} {} names the files\n", join(made.missing, " "),
       with_place("`harness db check`", options.db.place.options()));
  return false;
}

int report(const ReportOptions& options) {
  require_range(options.images.longest, 16, 4096, "--image-size");
  Store store(find_workspace(options.db.place).db, OpenMode::kReadOnly);
  const auto chosen = chosen_experiments(store, options.db);
  const bool several = chosen.collection.has_value();
  const bool is_file = fs::is_regular_file(options.out) || fs::path(options.out).extension() == ".html";
  if (several && is_file) {
    throw Error(fmt::format("{} has one report per table, and this is a file", chosen.name()),
                "-o " + options.out, "name a folder");
  }
  bool all_whole = true;
  write_for_each(chosen, options.json, [&](const Experiment& experiment) {
    const auto file = output_file(store, experiment, options.out, several);
    all_whole &= write_report(store, experiment, file, options);
    return std::map<std::string, std::string>{{kName, file.string()}};
  });
  return all_whole ? 0 : 1;
}

Command make_report_command() {
  auto o = std::make_shared<ReportOptions>();
  Command command{"report", "Write one HTML file: tables, curves, audits, every prompt's images", R"(
The file opens without a network: images, style and script are inside. Prompts can be searched, filtered by wins, ties, losses and
failures of any method and metric, and sorted by any column; every prompt has a link of its own (report.html#prompt-POSITION).
An image that is gone, or no longer the one that was scored, is left out with the reason; the page is written, and exit
status 1 says that it is not whole.
Examples:
  harness report sd35-ocr
  harness report sd35-ocr --seeds 42,43 -o report.html)"};
  add_table_argument(command, o->db);
  command.add("-o,--output", &o->out, "file to write (default: report.html in the experiment's folder)",
              kFile);
  command.add("--image-size", &o->images.longest,
              "longer side of an image in pixels; larger ones are shrunk and stored as JPEG");
  command.add("--lossless", &o->images.lossless, "embed the image files themselves, not JPEG of quality 95");
  add_place_options(command, o->db.place);
  add_filter_options(command, o->db, true);
  return with_json(std::move(command), o, report);
}

const bool kRegistered = register_command(CommandGroup::kLook, 60, make_report_command);

}  // namespace
}  // namespace harness
