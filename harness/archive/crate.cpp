#include "harness/archive/crate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "core/source_sums/build_info.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr const char* kContext = "https://w3id.org/ro/crate/1.1/context";
constexpr const char *kRoot = "./", *kSoftware = "#harness", *kRun = "#reproduce";

Json id(const std::string& name) {
  return {{"@id", name}};
}

std::string media_type(const std::string& name) {
  static const std::map<std::string, std::string> kTypes = {
      {".json", "application/json"}, {".jsonl", "application/jsonl"}, {".md", "text/markdown"},
      {".csv", "text/csv"},          {".tex", "text/x-tex"},          {".html", "text/html"},
      {".txt", "text/plain"},        {".log", "text/plain"},          {".png", "image/png"},
      {".pdf", "application/pdf"},   {".svg", "image/svg+xml"},       {".sqlite", "application/vnd.sqlite3"}};
  const auto found = kTypes.find(std::filesystem::path(name).extension().string());
  return found == kTypes.end() ? "application/octet-stream" : found->second;
}

Json file_entity(const std::string& name, const PackedFile& file) {
  return {{"@id", name},           {"@type", "File"},
          {"name", name},          {"contentSize", fmt::format("{}", file.bytes)},
          {"sha256", file.sha256}, {"encodingFormat", media_type(name)}};
}

/// The revision that the experiment's signature names; empty if it names none.
std::string revision_in(const std::string& signature) {
  const auto words = split(signature, ' ');
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "revision") return words[i + 1];
  }
  return "";
}

Json software(const ArchiveManifest& m) {
  const auto revision = revision_in(m.signature);
  Json entity = {
      {"@id", kSoftware},
      {"@type", "SoftwareApplication"},
      {"name", "harness"},
      {"description",
       "Paired, reproducible benchmarks of RL post-training for flow-matching text-to-image models"},
      {"softwareVersion", build_info().version}};
  if (!revision.empty()) entity["identifier"] = "git revision " + revision;
  return entity;
}

}  // namespace

Json crate_of(const ArchiveManifest& m, const std::string& title, const std::string& began) {
  Json parts = Json::array({id(kManifestFile)}), files = Json::array();
  for (const auto& [name, file] : m.files) {
    parts.push_back(id(name));
    files.push_back(file_entity(name, file));
  }
  const auto about =
      fmt::format("Methods {} on backbone {}, scale {}, seeds {}. {}", fmt::join(m.methods, ", "), m.backbone,
                  m.scale, fmt::join(m.seeds, ", "), m.signature);
  Json graph = Json::array();
  graph.push_back({{"@id", kCrateFile},
                   {"@type", "CreativeWork"},
                   {"conformsTo", id("https://w3id.org/ro/crate/1.1")},
                   {"about", id(kRoot)}});
  graph.push_back({{"@id", kRoot},
                   {"@type", "Dataset"},
                   {"name", fmt::format("{} ({})", title, m.name())},
                   {"description", about},
                   {"identifier", m.digest},
                   {"datePublished", m.finished},
                   {"hasPart", parts},
                   {"mentions", id(kRun)}});
  graph.push_back({{"@id", kRun},
                   {"@type", "CreateAction"},
                   {"name", "harness reproduce --table " + m.table_id},
                   {"instrument", id(kSoftware)},
                   {"object", id(kSpecFile)},
                   {"result", id(kRoot)},
                   {"startTime", began},
                   {"endTime", m.finished},
                   {"actionStatus", id("http://schema.org/CompletedActionStatus")}});
  graph.push_back(software(m));
  graph.push_back({{"@id", kManifestFile},
                   {"@type", "File"},
                   {"name", kManifestFile},
                   {"description", "Size and SHA-256 of every other file"},
                   {"encodingFormat", media_type(kManifestFile)}});
  for (auto& file : files) graph.push_back(std::move(file));
  return {{"@context", {kContext, {{"sha256", "https://schema.org/sha256"}}}}, {"@graph", graph}};
}

}  // namespace harness
