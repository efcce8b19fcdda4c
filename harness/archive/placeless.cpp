#include "harness/archive/placeless.h"

#include <algorithm>

#include "core/event_log.h"
#include "core/files.h"
#include "core/paths/shown_path.h"
#include "harness/plan/model_folder.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kHost = "elsewhere";
constexpr std::size_t kPrefix = 9;  ///< the checksum of a line and a blank

std::string placeless_path(const std::string& name, const fs::path& path, const fs::path& workspace,
                           const std::string& backbone) {
  const auto inside = workspace.empty() ? fs::path() : path.lexically_relative(workspace);
  if (!inside.empty() && *inside.begin() != "..") return inside.string();
  const bool is_shipped = name == "weights" && path == own_weights(backbone);
  const bool is_wanted = name == "weights" || name.starts_with("scorer:");
  return is_wanted && !is_shipped ? shown_path(path) : last_names(path);
}

/// Whether something of the event was left out.
bool leave_places_out(Json& event) {
  const auto type = event.value("type", std::string());
  if (type == "job_started") {
    const bool has_host = event.value("host", std::string(kHost)) != kHost;
    if (has_host) event["host"] = kHost;
    return has_host;
  }
  bool changed = false;
  for (const auto* text : {"message", "what", "where", "hint"}) {
    if ((type != "note" && type != "job_failed") || !event.contains(text)) continue;
    auto shown = with_last_names(event.at(text).get<std::string>());
    if (shown == event.at(text)) continue;
    event[text] = std::move(shown);
    changed = true;
  }
  return changed;
}

}  // namespace

fs::path workspace_then(const Json& paths) {
  // text-cache is in the workspace, positions.json in the folder of its evaluation.
  const auto folder_of = [&](const char* name) { return fs::path(paths.value(name, "")).parent_path(); };
  const auto evaluation = folder_of("positions");
  const auto workspace =
      evaluation.empty() ? folder_of("text_cache") : evaluation.parent_path().parent_path();
  return workspace.is_absolute() ? workspace : fs::path();
}

std::string placeless_job(const fs::path& job_file) {
  Json job = read_json(job_file);
  const auto backbone = job.at("identity").value("backbone", std::string());
  const auto workspace = workspace_then(job.at("paths"));
  for (auto& [name, path] : job.at("paths").items()) {
    if (path.is_string() && path != "")
      path = placeless_path(name, path.get<std::string>(), workspace, backbone);
  }
  return job.dump(1) + "\n";
}

std::string placeless_log(const fs::path& log) {
  const auto text = read_file(log);
  std::string out;
  out.reserve(text.size());
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const auto line = text.substr(begin, end - begin);
    const bool may_name = line.find("\"host\"") != std::string::npos ||
                          line.find("\"note\"") != std::string::npos ||
                          line.find("\"job_failed\"") != std::string::npos;
    auto event = may_name ? Json::parse(line.substr(std::min(kPrefix, line.size())), nullptr, false) : Json();
    if (event.is_object() && leave_places_out(event)) {
      out += event_line(event);
    } else {
      out += line;
    }
  }
  return out;
}

}  // namespace harness
