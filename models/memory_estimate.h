#pragma once

#include <cstdint>

#include "core/json.h"
#include "models/backbone.h"

namespace harness {

/// One job's work on a backbone, as far as its memory goes.
struct Workload {
  std::int64_t training_images = 0;    ///< of a shard; 0: no training
  std::int64_t evaluation_images = 0;  ///< of a shard; 0: no evaluation
  bool guided = false;                 ///< both halves in one batch
  int shards_at_once = 1;              ///< worker threads with a shard each
};

/// What a worker takes, in bytes, from the headers and configurations of a model folder alone:
/// "memory": {"velocity_network", "image_decoder", "largest_text_encoder", "training", "activations",
/// "total"}, weights as placed, text encoders one at a time; "stored": {"trained_weights" (float32), "image"
/// (8-bit, not compressed), "prompt" (encoded)}, each of one. Reading it checks the folder: configurations,
/// and the names and shapes of all weights. Empty for backbones so small that nobody asks. Throws Error as
/// Backbone::load does.
Json estimate_resources(const BackboneSource& source, const Workload& workload);

}  // namespace harness
