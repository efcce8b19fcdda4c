#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace harness {

/// A line of a CSV file by the names of its columns, and where it begins in the file, from 1.
struct CsvRow {
  std::map<std::string, std::string> fields;
  int line = 0;
};

/// Reads a CSV file with a line of names (RFC 4180; a byte order mark and empty lines are skipped). Throws
/// Error naming the line: a quote without its end, more or fewer fields than names, a name twice, fields
/// that something else than commas separates.
std::vector<CsvRow> read_csv(const std::filesystem::path& file);

}  // namespace harness
