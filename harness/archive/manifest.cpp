#include "harness/archive/manifest.h"

#include <fmt/format.h>

#include <limits>
#include <type_traits>

#include "core/error.h"
#include "core/sha256.h"
#include "harness/archive/tar.h"
#include "results/store/left_out.h"

namespace harness {
namespace {

constexpr const char* kKind = "harness experiment";

/// What identifies the experiment.
void each_field(auto& manifest, auto visit) {
  visit("digest", manifest.digest);
  visit("table", manifest.table_id);
  visit("backbone", manifest.backbone);
  visit("scale", manifest.scale);
  visit("seeds", manifest.seeds);
  visit("methods", manifest.methods);
  visit("runs", manifest.runs);
  visit("signature", manifest.signature);
  visit("finished", manifest.finished);
}

Json document_of(const ArchiveManifest& m) {
  Json experiment, files = Json::object();
  each_field(m, [&](const char* key, const auto& field) { experiment[key] = field; });
  for (const auto& [name, file] : m.files) files[name] = {{"bytes", file.bytes}, {"sha256", file.sha256}};
  return {{"kind", kKind},          {"format", kArchiveFormat},         {"experiment", experiment},
          {"images", m.has_images}, {"checkpoints", m.has_checkpoints}, {"files", files}};
}

/// Of a document without its own checksum.
std::string sum_of(const Json& document) {
  return sha256_hex(canonical_json(document));
}

std::string text_of(Json document) {
  document["sha256"] = sum_of(document);
  return document.dump(1) + "\n";
}

void require_kind(const Json& document, const std::string& where) {
  if (!document.is_object() || document.value("kind", Json()) != kKind)
    throw Error("is not the manifest of an experiment", where, "give a file that `harness export` made");
  const auto format = Fields(document, where).required<int>("format");
  if (format > kArchiveFormat)
    throw Error(fmt::format("has format {}, and this program reads formats up to {}", format, kArchiveFormat),
                where, "import it with a newer harness");
  if (format < 1) throw Error(fmt::format("has the unknown format {}", format), where);
}

std::map<std::string, PackedFile> files_of(Fields fields) {
  std::map<std::string, PackedFile> files;
  for (const auto& name : fields.keys()) {
    auto file = fields.object(name);
    if (!is_archive_name(name)) throw Error("is a name that no archive has", file.where());
    files[name] = {.bytes = file.required<std::uint64_t>("bytes"),
                   .sha256 = file.required<std::string>("sha256")};
    file.finish();
  }
  return files;
}

}  // namespace

std::string changed_text(const std::string& found, const std::string& expected) {
  return fmt::format("is not the file that was exported: SHA-256 {} instead of {}", found, expected);
}

PackedFile packed_file(const std::filesystem::path& file) {
  return {.bytes = std::filesystem::file_size(file), .sha256 = sha256_file(file)};
}

PackedFile packed_bytes(const std::string& bytes) {
  return {.bytes = bytes.size(), .sha256 = sha256_hex(bytes)};
}

std::string ArchiveManifest::name() const {
  return fmt::format("{}-{:.12}", table_id, digest);
}

std::vector<std::string> ArchiveManifest::left_out() const {
  std::vector<std::string> parts;
  if (!has_images) parts.emplace_back(kImagesFolder);
  if (!has_checkpoints) parts.emplace_back(kCheckpointsFolder);
  return parts;
}

std::uint64_t ArchiveManifest::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [name, file] : files) {
    if (__builtin_add_overflow(sum, file.bytes, &sum)) return std::numeric_limits<std::uint64_t>::max();
  }
  return sum;
}

std::string ArchiveManifest::text() const {
  return text_of(document_of(*this));
}

ArchiveManifest ArchiveManifest::parse(const std::string& text, const std::string& where) {
  auto document = parse_json(text, where);
  require_kind(document, where);
  const auto stated = Fields(document, where).required<std::string>("sha256");
  document.erase("sha256");
  if (const auto found = sum_of(document); stated != found || text != text_of(document)) {
    throw Error(stated == found ? "was rewritten: its lines differ from what `harness export` writes"
                                : changed_text(found, stated),
                where, kCopyArchiveAgain);
  }
  Fields fields(document, where);
  for (const auto* known : {"kind", "format"}) fields.mark(known);
  ArchiveManifest m;
  auto experiment = fields.object("experiment");
  each_field(m, [&](const char* key, auto& field) {
    field = experiment.required<std::remove_reference_t<decltype(field)>>(key);
  });
  experiment.finish();
  m.has_images = fields.required<bool>("images");
  m.has_checkpoints = fields.required<bool>("checkpoints");
  m.files = files_of(fields.object("files"));
  fields.finish();
  return m;
}

}  // namespace harness
