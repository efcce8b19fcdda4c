#include "harness/archive/unpack.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "harness/archive/tar.h"
#include "harness/show/run_report.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLargestManifest = 256u << 20;
/// What a file of logs and pictures can hold at most for each of its bytes, and what any may hold.
constexpr std::uint64_t kLargestRatio = 200, kAlwaysAllowed = 64u << 20;
constexpr const char* kNotOurs = "it was not made by `harness export`, and nothing of it was taken";

/// The name within the archive's one folder; empty for a file outside it.
std::string name_within(const std::string& top, const std::string& name) {
  return name.starts_with(top + "/") ? name.substr(top.size() + 1) : "";
}

void require_room(const ArchiveManifest& manifest, const fs::path& archive, const fs::path& folder) {
  const auto bytes = manifest.bytes(), packed = static_cast<std::uint64_t>(fs::file_size(archive));
  const auto size = [](std::uint64_t n) { return size_text(static_cast<double>(n)); };
  if (bytes > kAlwaysAllowed && bytes / kLargestRatio > packed)
    throw Error(
        fmt::format("would unpack {} to {}, more than {} times", size(packed), size(bytes), kLargestRatio),
        archive.string(), kNotOurs);
  if (const auto free = fs::space(folder).available; bytes > free)
    throw Error(fmt::format("needs {} and there are {}", size(bytes), size(free)), folder.string(),
                "free some space", Status::kFailed);
}

ArchiveManifest read_manifest(TarReader& tar, const fs::path& archive, std::string& top) {
  const auto first = tar.next();
  const auto cut = first ? first->name.find('/') : std::string::npos;
  if (!first || cut == std::string::npos || first->name.substr(cut + 1) != kManifestFile)
    throw Error(first ? fmt::format("begins with {} and not with a manifest", first->name) : "holds nothing",
                archive.string(), "give a file that `harness export` made");
  if (first->bytes > kLargestManifest)
    throw Error("has a manifest of more than 256 MB", archive.string(), kNotOurs);
  top = first->name.substr(0, cut);
  return ArchiveManifest::parse(tar.read(), fmt::format("{}: {}", archive.string(), kManifestFile));
}

}  // namespace

ArchiveManifest unpack_archive(const fs::path& archive, const fs::path& folder) {
  TarReader tar(archive);
  std::string top;
  auto manifest = read_manifest(tar, archive, top);
  require_room(manifest, archive, folder);
  auto expected = manifest.files;
  while (const auto entry = tar.next()) {
    const auto name = name_within(top, entry->name);
    const auto where = fmt::format("{}: {}", archive.string(), name.empty() ? entry->name : name);
    const auto found = expected.find(name);
    if (found == expected.end()) throw Error("is not in the manifest", where, kNotOurs);
    if (entry->bytes != found->second.bytes)
      throw Error(fmt::format("has {} bytes instead of {}", entry->bytes, found->second.bytes), where,
                  "copy the archive again from where it was made");
    const auto file = folder / name;
    make_folder(file.parent_path());
    tar.unpack(file);
    if (const auto sum = sha256_file(file); sum != found->second.sha256)
      throw Error(changed_text(sum, found->second.sha256), where,
                  "copy the archive again from where it was made");
    expected.erase(found);
  }
  if (!expected.empty())
    throw Error(fmt::format("lacks {} of its manifest, such as {}", counted(std::ssize(expected), "file"),
                            expected.begin()->first),
                archive.string(), "copy the archive again from where it was made");
  return manifest;
}

}  // namespace harness
