#pragma once

namespace harness {

/// One intra-op thread for the calling thread: parallelism is over shards, and a shard's bits must not depend
/// on how many threads there are.
void use_one_thread();

}  // namespace harness
