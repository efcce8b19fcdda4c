#include <cstdlib>
#include <regex>
#include <set>

#include "core/text.h"
#include "tests/programs.h"
#include "tests/results/store_fixture.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

std::string schema_page() {
  return read_file(fs::path(HARNESS_SOURCE_DIR) / "results/SCHEMA.md");
}

/// What stands under `**name**:` to the next such head or section.
std::map<std::string, std::string> described() {
  std::map<std::string, std::string> sections;
  const std::regex head(R"(^\*\*([a-z_]+)\*\*:)");
  std::string name;
  for (const auto& line : split(schema_page(), '\n')) {
    std::smatch match;
    if (std::regex_search(line, match, head)) name = match[1];
    if (line.starts_with("## ")) name.clear();
    if (!name.empty()) sections[name] += line + "\n";
  }
  return sections;
}

class SchemaPage : public StoreTest {
 protected:
  std::vector<std::string> texts(const std::string& sql) {
    SQLite::Statement statement(store().database(), sql);
    std::vector<std::string> found;
    while (statement.executeStep()) found.push_back(statement.getColumn(0).getString());
    return found;
  }
};

TEST_F(SchemaPage, DescribesEveryTableViewAndColumnAndNoOther) {
  auto sections = described();
  for (const auto& table :
       texts("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'")) {
    ASSERT_TRUE(sections.contains(table)) << table;
    for (const auto& column : texts("SELECT name FROM pragma_table_info('" + table + "')")) {
      EXPECT_TRUE(std::regex_search(sections[table], std::regex("\\b" + column + "\\b")))
          << table << "." << column;
    }
    sections.erase(table);
  }
  for (const auto& [name, text] : sections) ADD_FAILURE() << "there is no " << name;
}

TEST_F(SchemaPage, NamesTheVersionOfTheSchema) {
  EXPECT_NE(schema_page().find("Version " + value("PRAGMA user_version") + " "), std::string::npos);
}

/// The line for Python, as the page gives it.
std::string python_line() {
  for (const auto& line : split(schema_page(), '\n')) {
    if (line.find("pandas.read_sql") != std::string::npos) return std::string(trim(line));
  }
  return {};
}

TEST_F(SchemaPage, ItsLineReadsAViewIntoPython) {
  auto line = python_line();
  ASSERT_FALSE(line.empty());
  with_checkpoint("r1", "dual", 40);
  evaluated(an_evaluation("e1", "r1", 40), {0.25, 0.5, 0.75, 1});
  close();
  if (!has_program("python3")) GTEST_SKIP() << "there is no python3";
  make_folder(folder() / "runs");
  fs::rename(db(), folder() / "runs/results.sqlite");
  std::string check = "assert len(results) == 1 and results['mean'][0] == 0.625, results";
  if (shell("python3 -c 'import pandas' 2>&1").status != 0) {  // the same SQL without it
    line = std::regex_replace(line, std::regex("import pandas, "), "import ");
    line = std::regex_replace(line, std::regex(R"(pandas\.read_sql\(("[^"]*"), (.*)\)$)"),
                              "$2.execute($1).fetchall()");
    check = "assert len(results) == 1 and 0.625 in results[0], results";
  }
  write_file_atomically(folder() / "read.py", line + "\n" + check + "\n");
  EXPECT_EQ(shell("python3 read.py", {.folder = folder()}).status, 0) << line;
}

}  // namespace
}  // namespace harness
