#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "tests/refusals.h"

namespace harness {

inline std::filesystem::path case_folder(const std::string& name) {
  return std::filesystem::path(HARNESS_SOURCE_DIR) / "tests/data/parity" / name;
}

/// What `action` throws as an Error; empty if nothing.
template <class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_PROBLEM(text, expected) EXPECT_NE((text).find(expected), std::string::npos) << (text)

/// A copy of a recorded case's model/, gone after the test.
class ModelCopy {
 public:
  explicit ModelCopy(const std::string& name) {
    std::filesystem::copy(case_folder(name) / "model", folder(), std::filesystem::copy_options::recursive);
  }
  /// An empty folder.
  ModelCopy() = default;
  const std::filesystem::path& folder() const { return folder_.path(); }

  void write(const std::string& file, const std::string& text) const { write_file(folder() / file, text); }
  std::string read(const std::string& file) const { return read_file(folder() / file); }

  /// Replaces the first occurrence.
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    auto text = read(file);
    const auto place = text.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    write(file, text.replace(place, from.size(), to));
  }

  void edit(const std::string& file, const Json& patch) const {
    auto document = read_json(folder() / file);
    document.merge_patch(patch);
    write(file, document.dump());
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace harness
