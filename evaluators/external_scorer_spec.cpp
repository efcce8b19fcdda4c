#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "evaluators/external_scorer.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSpecFile = "scorer.json";
constexpr double kLongestSeconds = 86400;

void require_one_of(const std::string& value, const std::vector<std::string>& known,
                    const std::string& where) {
  refuse_unless(std::ranges::count(known, value) > 0, fmt::format("is {}", in_quotes(value)), where,
                suggestion(value, known));
}

const std::string kSmall = "abcdefghijklmnopqrstuvwxyz", kCapital = "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                  kDigits = "0123456789";

/// Made of `known`, with one of `first` at the front.
bool is_made_of(const std::string& name, const std::string& first, const std::string& known) {
  return name.find_first_of(first) == 0 && name.find_first_not_of(known) == std::string::npos;
}

MetricInfo read_metric(const std::string& name, const Fields& fields) {
  refuse_unless(name.size() <= 48 && is_made_of(name, kSmall, kSmall + kDigits + "_"), "invalid metric name",
                fields.where(), "small letters, digits and _, with a letter first, at most 48");
  return read_metric_info(name, fields);
}

int milliseconds_of(Fields& fields, const std::string& key, double fallback) {
  const auto seconds = fields.optional<double>(key, fallback);
  refuse_unless(seconds >= 0.001 && seconds <= kLongestSeconds, "must be 0.001 to 86400 seconds",
                fields.where() + ": " + key);
  return static_cast<int>(std::ceil(seconds * 1000));
}

int count_of(Fields& fields, const std::string& key, int fallback, int lowest, int highest) {
  const int count = fields.optional<int>(key, fallback);
  refuse_unless(count >= lowest && count <= highest, fmt::format("must be {} to {}", lowest, highest),
                fields.where() + ": " + key);
  return count;
}

/// A program in the folder is named by its path; a bare name is looked up in PATH.
void check_command(const ExternalScorerSpec& spec, const std::string& where) {
  refuse_unless(!spec.command.empty() && !spec.command[0].empty(), "names no program", where);
  for (const auto& word : spec.command) {
    refuse_unless(word.find('\0') == std::string::npos, "holds a zero byte", where);
  }
  const auto& program = spec.command[0];
  if (program.find('/') == std::string::npos) {
    refuse_unless(!fs::exists(spec.folder / program),
                  fmt::format("{} is a file of this folder", in_quotes(program)), where + "[0]",
                  fmt::format("write \"./{}\"; a name alone is looked up in PATH", program));
    return;
  }
  refuse_unless(fs::is_regular_file(spec.folder / program),
                fmt::format("there is no file {}", in_quotes(program)), where + "[0]");
}

/// A path as it is below the scorer's folder. Throws Error for one that leads out of it.
fs::path inside(const std::string& path, const std::string& where) {
  const auto relative = fs::path(path).lexically_normal();
  const bool is_inside = !relative.empty() && relative.is_relative() && *relative.begin() != "..";
  refuse_unless(is_inside, fmt::format("{} lies outside of the scorer's folder", in_quotes(path)), where,
                "copy it there, or make a link");
  return relative;
}

void check_files(const ExternalScorerSpec& spec, const std::string& where) {
  for (const auto& file : spec.files) {
    refuse_unless(fs::exists(spec.folder / inside(file, where)),
                  fmt::format("there is no {}", in_quotes(file)), where);
  }
}

void read_environment(Fields& fields, ExternalScorerSpec& spec) {
  fields.mark("environment");
  if (!fields.has("environment")) return;
  Fields environment = fields.object("environment");
  for (const auto& name : environment.keys()) {
    const auto value = environment.required<std::string>(name);
    const bool plain =
        !name.empty() && name.find('=') == std::string::npos && name.find('\0') == std::string::npos;
    refuse_unless(plain && value.find('\0') == std::string::npos,
                  fmt::format("{} is not a valid environment variable", in_quotes(name)),
                  environment.where());
    spec.environment[name] = value;
  }
}

/// The errors of a file, collected to be reported at once.
class Faults {
 public:
  void collect(const std::function<void()>& read) {
    try {
      read();
    } catch (const Error& error) {
      faults_.push_back(error);
    }
  }

  /// Throws the only one as it is, several as one Error with one line each.
  void report(const std::string& file) const {
    if (faults_.empty()) return;
    if (faults_.size() == 1) throw faults_.front();
    auto text = fmt::format("{} things are wrong:", faults_.size());
    for (const auto& fault : faults_) {
      std::string_view line = fault.what();
      if (line.starts_with(file + ": ")) line.remove_prefix(file.size() + 2);
      text += fmt::format("\n  {}", line);
    }
    throw Error(text, file);
  }

 private:
  std::vector<Error> faults_;
};

void read_metrics(Fields& fields, ExternalScorerSpec& spec, Faults& faults) {
  faults.collect([&] {
    Fields metrics = fields.object("metrics");
    for (const auto& name : metrics.keys())
      faults.collect([&] { spec.metrics.push_back(read_metric(name, metrics.object(name))); });
    refuse_unless(!metrics.keys().empty(), "names no metric", metrics.where());
  });
}

}  // namespace

std::vector<std::string> ExternalScorerSpec::metric_names() const {
  std::vector<std::string> names;
  for (const auto& metric : metrics) names.push_back(metric.name);
  return names;
}

bool is_external_scorer(const fs::path& folder) {
  return fs::exists(folder / kSpecFile);
}

ExternalScorerSpec read_external_scorer(const fs::path& given) {
  const auto folder = fs::absolute(given).lexically_normal();
  const auto where = (given / kSpecFile).string();
  const Json document = read_json(given / kSpecFile);
  refuse_unless(document.is_object(), "is not a JSON object", where);
  Fields fields(document, where);
  ExternalScorerSpec spec;
  spec.name = (folder.filename().empty() ? folder.parent_path() : folder).filename().string();
  spec.folder = folder;
  Faults faults;
  faults.collect([&] {
    const auto letters = kSmall + kCapital + kDigits;
    refuse_unless(is_made_of(spec.name, letters, letters + "-_."),
                  "invalid scorer name (taken from the folder name)", where,
                  "letters, digits, -, _ and ., with a letter or digit first");
  });
  faults.collect([&] {
    spec.version = fields.required<std::string>("version");
    refuse_unless(!spec.version.empty(), "is empty", where + ": version");
  });
  faults.collect([&] { spec.summary = fields.optional<std::string>("summary", ""); });
  faults.collect([&] {
    spec.command = fields.required<std::vector<std::string>>("command");
    check_command(spec, where + ": command");
  });
  faults.collect([&] {
    spec.files = fields.optional<std::vector<std::string>>("files", {});
    check_files(spec, where + ": files");
  });
  faults.collect([&] { read_environment(fields, spec); });
  read_metrics(fields, spec, faults);
  faults.collect([&] {
    const auto images = fields.optional<std::string>("images", "pixels");
    require_one_of(images, {"pixels", "path"}, where + ": images");
    spec.by_path = images == "path";
  });
  faults.collect([&] { spec.deadline_ms = milliseconds_of(fields, "deadline_seconds", 30); });
  faults.collect([&] { spec.start_deadline_ms = milliseconds_of(fields, "start_seconds", 60); });
  faults.collect([&] { spec.processes = count_of(fields, "processes", 1, 1, 256); });
  faults.collect([&] { spec.restarts = count_of(fields, "restarts", 5, 0, 1'000'000); });
  fields.mark("test");  // read by try_external_scorer
  faults.collect([&] { fields.finish(); });
  faults.report(where);
  return spec;
}

std::vector<std::string> files_of(const ExternalScorerSpec& spec) {
  std::set<std::string> files{kSpecFile};
  for (const auto& word : spec.command) {
    const auto path = fs::path(word).lexically_normal();
    const bool may_be_inside = !path.empty() && path.is_relative() && *path.begin() != "..";
    if (may_be_inside && fs::is_regular_file(spec.folder / path)) files.insert(path.generic_string());
  }
  for (const auto& entry : spec.files) {
    const auto path = inside(entry, spec.folder.string());
    if (fs::is_regular_file(spec.folder / path)) files.insert(path.generic_string());
    if (!fs::is_directory(spec.folder / path)) continue;
    for (const auto& below : fs::recursive_directory_iterator(spec.folder / path)) {
      if (below.is_regular_file())
        files.insert(below.path().lexically_relative(spec.folder).generic_string());
    }
  }
  return {files.begin(), files.end()};
}

Json external_scorer_identity(const ExternalScorerSpec& spec,
                              const std::function<std::string(const fs::path&)>& sha256) {
  Json files = Json::object();
  for (const auto& file : files_of(spec)) files[file] = sha256(spec.folder / file);
  return {{"name", spec.name}, {"version", spec.version}, {"profile", kExternalProfile}, {"files", files}};
}

}  // namespace harness
