#include <fmt/format.h>

#include <memory>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/runs/rebuild.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

struct Options {
  WorkspaceChoice place;
  bool journal = false, force = false, json = false;
};

void put_kept(const Json& made) {
  if (!made.at("kept").is_null()) put("the old file is {}\n", made.at("kept").get<std::string>());
}

int write_journal(const Options& options) {
  if (options.force)
    throw Error("--force has no meaning with --journal: nothing is left out", "harness db rebuild");
  const auto made = rebuild_journal(find_workspace(options.place));
  return print_answer(options.json, made, [&] {
    put("{}: written from the results DB\n", made.at("journal").get<std::string>());
    put_kept(made);
  });
}

int rebuild(const Options& options) {
  if (options.journal) return write_journal(options);
  const auto made = rebuild_database(find_workspace(options.place, Joining::kAllowed), options.force);
  return print_answer(options.json, made, [&] {
    for (const auto& text : made.at("left_out")) tell("left out: {}\n", text.get<std::string>());
    put("{}: {}, {}, {}, from the logs\n", made.at("db").get<std::string>(),
        counted(made.at("runs").get<int>(), "run"),
        counted(made.at("evaluations").get<int>(), "finished evaluation"),
        counted(made.at("experiments").get<int>(), "experiment"));
    put_kept(made);
  });
}

int check(const Options& options) {
  const auto checked = check_database(find_workspace(options.place));
  const auto& findings = checked.at("findings");
  const auto print_words = [&] {
    for (const auto& note : checked.at("notes")) tell("note: {}\n", note.get<std::string>());
    for (const auto& finding : findings) put("{}\n", finding.get<std::string>());
    const auto db = checked.at("db").get<std::string>();
    if (findings.empty()) {
      const bool compared = checked.at("notes").empty();
      return put("{}: sound (schema version {}): file, foreign keys, evaluations, images{}\n", db,
                 checked.at("version").get<int>(), compared ? ", every row as in the logs" : "");
    }
    tell("{}: {}{}\n", db, counted(std::ssize(findings), "finding"),
         checked.at("hint").is_null() ? std::string() : "; " + checked.at("hint").get<std::string>());
  };
  return print_answer(options.json, checked, print_words, findings.empty() ? 0 : 1);
}

Command make_rebuild() {
  auto o = std::make_shared<Options>();
  Command command{"rebuild", "Rebuild the DB from the journal and the event logs", R"(
The new DB is made beside the old one and takes its place in one step; the old file is kept as
results.sqlite.bak-N. Nothing is swapped if a log is gone or damaged, unless --force says to do without it.
Runs of other workspaces that share the DB are kept. Where the journal is damaged, truncated or gone and the DB is
sound, --journal writes the journal from the DB; the old file is kept as journal.log.bak-N.
Examples:
  harness db rebuild
  harness db rebuild --journal
  harness db rebuild --out /data/runs --db /scratch/results.sqlite)"};
  add_workspace_options(command, o->place);
  add_json_option(command, o->json);
  command.add("--journal", &o->journal, "write the journal from the DB instead");
  command.add("--force", &o->force, "leave out what logs do not hold any more");
  command.run = [o] { return rebuild(*o); };
  return command;
}

Command make_check() {
  auto o = std::make_shared<Options>();
  Command command{"check", "Look for damage, and compare every row with the logs", R"(
Checks the file (SQLite's integrity check), foreign keys, the schema's version, that finished evaluations are
whole, every row of this workspace against journal and event logs, the folders beside it, and the images of its
runs against their checksums (about half a second for 1000 images of 512 pixels). Findings go to standard output,
their number and what mends them to standard error. Only reads. Exit status 1 on a finding.
Examples:
  harness db check
  harness db check --out runs --json)"};
  add_workspace_options(command, o->place);
  return with_json(std::move(command), o, check);
}

Command make_db() {
  Command command{"db", "Check the results DB, or rebuild it from the logs", R"(
The DB is made of the journal of a workspace and the event logs in its run folders; deleting it loses nothing:
the next reproduce rebuilds it.
Examples:
  harness db check
  harness db rebuild --out runs)"};
  command.commands = {make_rebuild(), make_check()};
  return command;
}

const bool kRegistered = register_command(160, make_db);

}  // namespace
}  // namespace harness
