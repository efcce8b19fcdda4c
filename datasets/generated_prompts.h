#pragma once

namespace harness {

// The project's own prompts, one line each: datasets/prompts, embedded by the build.
extern const char* const kGeneratedPrompts;
extern const char* const kGeneratedTrainingPrompts;
extern const char* const kDarkPrompts;
extern const char* const kDarkTrainingPrompts;
// Records of GenEval, of shapes and of the benchmark's classes.
extern const char* const kShapesRecords;
extern const char* const kShapesTrainingRecords;
extern const char* const kGenevalTrainingRecords;

}  // namespace harness
