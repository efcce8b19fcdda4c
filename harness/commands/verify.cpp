#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "core/files.h"
#include "core/streams.h"
#include "harness/checks/verification.h"
#include "harness/commands/command.h"
#include "harness/commands/db_options.h"
#include "harness/commands/offers.h"
#include "harness/terminal/output.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kDifferencesPrinted = 5;

struct VerifyOptions {
  DbOptions db;
  std::string run;
  VerificationSettings settings;
  bool training = false, all = false, keep = false, json = false;
};

/// A folder for the repeated jobs, beside the DB; gone afterwards unless it is to be kept.
class Scratch {
 public:
  Scratch(const fs::path& db, bool keep)
      : folder_(fs::absolute(db).parent_path() / fmt::format("verify-{}", ::getpid())), keep_(keep) {
    make_folder(folder_);
  }
  ~Scratch() {
    std::error_code ignored;
    if (!keep_) fs::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
  bool keep_;
};

void print_results(const std::vector<Verification>& results) {
  std::vector<Json> rows;
  for (const auto& r : results) {
    rows.push_back(
        {{"job", r.job.label},
         {"id", r.job.id},
         {"compared",
          fmt::format("{} {}", r.compared, r.job.kind == "train" ? "updates and checkpoints" : "images")},
         {"result", r.same() ? "same bits" : fmt::format("{} DIFFERENCES", r.differences.size())}});
  }
  print_rows(rows, {"job", "id", "compared", "result"});
  for (const auto& r : results) {
    if (r.same()) continue;
    put("\n{}:\n", r.job.label);
    const auto shown = std::min(kDifferencesPrinted, r.differences.size());
    for (std::size_t i = 0; i < shown; ++i) put("  {}\n", r.differences[i]);
    if (r.differences.size() > shown) put("  and {} more\n", r.differences.size() - shown);
    if (r.machine) put("  {}\n", *r.machine);
  }
}

int verify(const VerifyOptions& o) {
  if (o.settings.images == 0) throw Error("must be 1 or more", "--images", "--all takes all of them");
  const auto db = database_of(o.db);
  Store store(db, OpenMode::kReadOnly);
  auto settings = o.settings;
  if (o.all) settings.images = 0;
  const auto jobs = o.run.empty() ? jobs_of_experiment(store, chosen_experiment(store, o.db).id, o.training)
                                  : jobs_of_run(store, o.run, o.training);
  const Scratch scratch(db, o.keep);
  const auto results = verify_jobs(store, jobs, settings, scratch.folder());
  Json list = Json::array();
  for (const auto& r : results) list.push_back(r.to_json());
  const auto print_words = [&] {
    print_results(results);
    if (o.keep) put("\nkept: {}\n", scratch.folder().string());
  };
  return print_answer(o.json, {{"jobs", std::move(list)}}, print_words,
                      std::ranges::all_of(results, &Verification::same) ? 0 : 1);
}

Command make_verify() {
  auto o = std::make_shared<VerifyOptions>();
  Command command{"verify", "Run a part of what is recorded again and compare bit for bit", R"(
Without RUN: some images of every tested checkpoint of the last completed reproduce (--table and the like choose
another). With RUN, an id of `harness list runs` or its first digits: some images of each of its evaluations.
Images, transcripts and scores are drawn and read again and compared with the DB; --training also trains again
and compares every statistic and checkpoint; stored image files are held against their checksums. Nothing that is stored changes. Exit status 1 at any difference; where
build or processor differ from those that recorded the run, the difference is named.
Examples:
  harness verify
  harness verify --table sd35-ocr --images 100
  harness verify 0562654b --all --training)"};
  command.add("run", &o->run, "run; unset: the tested checkpoints of an experiment",
              {.offers = [&db = o->db] { return run_ids(db.place); }});
  add_workspace_options(command, o->db.place);
  add_filter_options(command, o->db, true);
  command.add("--images", &o->settings.images, "images of each evaluation");
  command.add("--all", &o->all, "all images");
  command.add("--sample-seed", &o->settings.seed, "which images");
  command.add("--training", &o->training, "train again too");
  command.add("--keep", &o->keep, "keep the folder of the repeated jobs, beside the DB");
  return with_json(std::move(command), o, verify);
}

const bool kRegistered = register_command(130, make_verify);

}  // namespace
}  // namespace harness
