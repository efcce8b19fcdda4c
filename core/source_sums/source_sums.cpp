#include "core/source_sums/source_sums.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/sha256.h"

namespace harness {
namespace {

std::vector<SourceTable>& tables() {
  static std::vector<SourceTable> all;  // made on first use: registration runs before main
  return all;
}

bool is_at(std::string_view path, std::string_view file) {
  return path == file ||
         (path.size() > file.size() && path.ends_with(file) && path[path.size() - file.size() - 1] == '/');
}

}  // namespace

bool register_source_table(const SourceTable& table) {
  tables().push_back(table);
  return true;
}

std::string sources_sha256() {
  std::vector<std::string_view> sums;
  for (const auto& table : tables()) {
    if (!table.sha256.empty()) sums.push_back(table.sha256);
  }
  if (sums.size() <= 1) return sums.empty() ? std::string() : std::string(sums.front());
  std::sort(sums.begin(), sums.end());  // tables register in no fixed order
  return sha256_hex(fmt::format("{}", fmt::join(sums, "\n")));
}

namespace {

const SourceSum& source_sum(std::string_view file) {
  for (const auto& table : tables()) {
    const auto found =
        std::ranges::find_if(table.files, [&](const SourceSum& s) { return is_at(file, s.file); });
    if (found != table.files.end()) return *found;
  }
  throw Error("was built without a checksum of its source", std::string(file),
              "this is a defect of the build: its folder belongs into a harness_source_table",
              Status::kFailed);
}

/// One sum as it is; several by the sum over them.
std::string together(const std::vector<std::string>& sums) {
  return sums.size() == 1 ? sums.front() : sha256_hex(fmt::format("{}", fmt::join(sums, "\n")));
}

}  // namespace

Json source_of(const std::vector<std::string>& files) {
  std::vector<std::string> sums, identities;
  Json by_file = Json::object();
  bool is_named = false;
  for (const auto& file : files) {
    const auto& sum = source_sum(file);
    sums.emplace_back(sum.sha256);
    identities.emplace_back(sum.identity);
    by_file[std::string(sum.file)] = sum.sha256;
    is_named = is_named || !sum.identity.empty();
  }
  return {{"sha256", together(sums)},
          {"identity", is_named ? together(identities) : std::string()},
          {"files", std::move(by_file)}};
}

}  // namespace harness
