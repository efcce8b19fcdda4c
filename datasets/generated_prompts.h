#pragma once

namespace harness {

// The project's own prompts, a line each: datasets/prompts, embedded by the build.
extern const char* const kGeneratedPrompts;
extern const char* const kGeneratedTrainingPrompts;

}  // namespace harness
