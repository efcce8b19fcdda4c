#pragma once

namespace harness {

/// harness/completion/, embedded by the build: what each shell runs, which asks `harness __complete
/// WORDS...`.
extern const char* const kBashCompletion;
extern const char* const kZshCompletion;
extern const char* const kFishCompletion;

}  // namespace harness
