#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace harness {

/// Renames that are done together, or undone.
class Moves {
 public:
  /// `to` must not be there; the folders that it needs are made.
  void add(const std::filesystem::path& from, const std::filesystem::path& to) {
    planned_.emplace_back(from, to);
  }
  bool empty() const { return planned_.empty(); }
  /// Throws Error (Status::kFailed), everything where it was.
  void carry_out();
  /// Puts everything back that was moved.
  void undo();

 private:
  void make_folders(const std::filesystem::path& folder);

  std::vector<std::pair<std::filesystem::path, std::filesystem::path>> planned_, done_;
  std::vector<std::filesystem::path> made_;  ///< folders
};

/// Plans to bring what a folder of files holds to `to`, file by file where there is something already: what
/// is equal stays, and a different one is an Error (Status::kFailed) that names both.
void bring_files(const std::filesystem::path& from, const std::filesystem::path& to, Moves& moves);

/// The same of a run's folder. A run that is there keeps its files; its event logs must hold the same
/// results, else an Error (Status::kFailed) names the file. What it lacks is brought in: images, checkpoints,
/// and, `with_evaluations`, evaluations. Gives what was added: "run", or "images", "checkpoints",
/// "evaluations".
std::vector<std::string> bring_run(const std::filesystem::path& from, const std::filesystem::path& to,
                                   bool with_evaluations, Moves& moves);

/// The same bytes.
bool is_same_content(const std::filesystem::path& a, const std::filesystem::path& b);

/// Copies a folder. Large files that no program changes, images and checkpoints, get a second name where the
/// file system can do that.
void copy_run(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace harness
