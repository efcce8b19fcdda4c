#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace harness {

/// One source file as this program was built from it.
struct SourceSum {
  std::string_view file;  ///< in the tree: "trainers/methods/dual.cpp"
  /// SHA-256 over the code (code_of) of the file and of what it includes from its own folder, all the way,
  /// headers with the .cpp file of their name.
  std::string_view sha256;
  /// What a job's identity holds: the sum of the first source that gave the same numbers
  /// (core/source_sums/same_numbers.json), or nothing where jobs were named before identities held sums.
  std::string_view identity;
};

/// A table of sums, made by the build (harness_source_table in cmake/HarnessSources.cmake).
struct SourceTable {
  std::string_view sha256;  ///< over the code of all files but plug-ins; empty if there are no others
  std::span<const SourceSum> files;
};

/// Called by the initialiser of a constant in each generated table.
bool register_source_table(const SourceTable& table);

/// SHA-256 over all code that can change a number, but for that of methods, which identities hold: equal sums
/// mean equal code, whatever the revision, the comments and the layout. Empty in a program without a table.
std::string sources_sha256();

/// {"sha256", "identity", "files": {path in the tree: sha256}} of what these files, paths in the tree or ones
/// that end with them, make together. Throws Error (a defect of the build) if no table has one.
Json source_of(const std::vector<std::string>& files);

}  // namespace harness
