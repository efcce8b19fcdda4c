#include "evaluators/metrics/built_in_metrics.h"

namespace harness {

const std::vector<MetricInfo>& ocr_metrics() {
  static const std::vector<MetricInfo> metrics{
      {.name = "ocr_reward",
       .title = "OCR reward",
       .unit = "fraction",
       .better = "higher",
       .help = "1 - edit distance (capped) over target length, 1 where the target is inside the transcript"},
      {.name = "cer",
       .title = "CER (edit rate)",
       .unit = "fraction",
       .better = "lower",
       .help = "edit distance over target length, uncapped, whatever stands around the target"},
      {.name = "cer_paper",
       .title = "CER",
       .unit = "fraction",
       .better = "lower",
       .help = "1 - ocr_reward, the paper's CER"},
      {.name = "exact_match",
       .title = "Exact",
       .unit = "percent",
       .better = "higher",
       .help = "the transcript is the target, blanks and case aside",
       .decimals = 2},
      {.name = "substring_match",
       .title = "Substring",
       .unit = "percent",
       .better = "higher",
       .help = "the target stands whole inside the transcript",
       .decimals = 2}};
  return metrics;
}

const MetricInfo& jpeg_metric() {
  static const MetricInfo metric{.name = "jpeg_kb",
                                 .title = "JPEG size (kB)",
                                 .help = "size as a JPEG file of quality 95, in thousands of bytes",
                                 .decimals = 3};
  return metric;
}

const std::vector<MetricInfo>& image_statistic_metrics() {
  static const std::vector<MetricInfo> metrics{
      {.name = "edge_density",
       .title = "Edge density",
       .unit = "percent",
       .help = "share of inner pixels on an edge of the luma",
       .decimals = 2},
      {.name = "colour_entropy",
       .title = "Colour entropy (bits)",
       .help = "entropy of the colours in 512 boxes of the RGB cube, bits",
       .decimals = 3},
      {.name = "dark_share",
       .title = "Dark share",
       .unit = "percent",
       .help = "share of pixels with luma below 64",
       .decimals = 2},
      {.name = "saturated_share",
       .title = "Saturated share",
       .unit = "percent",
       .help = "share of pixels with chroma of 128 or more",
       .decimals = 2}};
  return metrics;
}

}  // namespace harness
