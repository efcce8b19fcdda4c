#pragma once

#include <string>

namespace harness {

// The method name of a row that this program does not train.

/// The base model: where tables and the DB name a method, their row.
inline constexpr const char* kBaseMethod = "base";
/// Checkpoints that were trained elsewhere, and images that were generated elsewhere.
inline constexpr const char* kOutsideMethod = "outside";
inline constexpr const char* kImagesMethod = "images";

/// What a row needs and how its runs relate to those of others, whichever kind it is.
struct RowTraits {
  bool is_start = false;        ///< the base model, which every row is compared with: nothing is selected
  bool trains = false;          ///< its checkpoints are trained here
  bool takes_a_worker = false;  ///< a job makes its checkpoints: it trains them, or takes them in
  bool draws = true;            ///< its images are generated here, from noise that rows share by seed
  const char* given = "";       ///< what of it is given: field of a run's identity with the checksums by step
  const char* option = "";      ///< that gives such a row

  bool is_given() const { return *given != '\0'; }
  bool is_taken_in() const { return is_given() && takes_a_worker; }
};
const RowTraits& row_traits(const std::string& method);

}  // namespace harness
