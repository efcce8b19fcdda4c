#include "core/build_info.h"
#include "evaluators/ocr.h"
#include "models/backbone.h"
#include "trainers/loop_settings.h"
#include "trainers/method.h"
#include "worker/commands.h"
#include "worker/scoring.h"

namespace harness {

Json describe_build() {
  return {
      {"numerics_version", kNumericsVersion},
      {"methods", describe_methods()},
      {"settings", describe_loop_settings()},
      {"backbones",
       {{{"name", "glyph"},
         {"default_weights", "backbones/glyph"},
         {"precision", "fp32"},
         {"files", glyph_files()}}}},
      {"evaluators",
       {{{"name", kOcrScorer},
         {"metrics", ocr_metric_names()},
         {"summary",
          "Tesseract 5 on the embedded backbone's 96 x 48 images, and the OCR text metrics (E60 to E62)"}}}},
      {"tasks",
       {{{"name", "ocr"},
         {"summary",
          "draw the quoted text of a prompt; rewarded by how much of it the OCR engine reads (E60)"}}}}};
}

}  // namespace harness
