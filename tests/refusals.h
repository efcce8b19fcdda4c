#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace harness {

/// One line of valid UTF-8 of moderate length.
inline void expect_clean(const std::string& message, const std::string& name) {
  EXPECT_LT(message.size(), 1000U) << name;
  EXPECT_FALSE(invalid_utf8_at(message)) << name;
  EXPECT_TRUE(
      std::ranges::none_of(message, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
      << name << ": " << message;
}

/// An empty folder that is removed at the end.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& parent = testing::TempDir()) {
    static int count = 0;
    path_ = parent / fmt::format("harness-{}-{}", ::getpid(), count++);
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A broken file or folder: how it comes about in an empty folder, and the part of the message that belongs
/// to the rule that it breaks (entries of one rule have the same part).
struct Refusal {
  std::string name;
  std::function<void(const std::filesystem::path& folder)> make;
  std::string expected;
};

using Read = std::function<void(const std::filesystem::path& folder)>;

/// The Error's message; an empty text, and a failure, if there is none.
inline std::string refusal_message(const Refusal& entry, const Read& read) {
  const TemporaryFolder folder;
  entry.make(folder.path());
  try {
    read(folder.path());
    ADD_FAILURE() << entry.name << " is accepted";
  } catch (const Error& error) {
    EXPECT_NE(error.where().find(folder.path().string()), std::string::npos)
        << entry.name << " does not name the file: " << error.what();
    return error.what();
  } catch (const std::exception& other) {
    ADD_FAILURE() << entry.name << " ends in another exception: " << other.what();
  }
  return "";
}

/// Every entry is refused with its rule's message, on one line of valid UTF-8 of moderate length, and with no
/// other rule's.
inline void expect_refusals(const std::vector<Refusal>& table, const Read& read) {
  std::set<std::string> names, rules;
  for (const auto& entry : table) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " stands in the table twice";
    rules.insert(entry.expected);
  }
  for (const auto& entry : table) {
    const auto message = refusal_message(entry, read);
    expect_clean(message, entry.name);
    for (const auto& rule : rules) {
      EXPECT_EQ(message.find(rule) != std::string::npos, rule == entry.expected)
          << entry.name << " should say \"" << entry.expected << "\" and only that: " << message;
    }
  }
}

}  // namespace harness
