#pragma once

#include <span>
#include <vector>

#include "trainers/loop/train_job.h"
#include "trainers/rollout.h"

namespace harness {

/// What the images of a shard are made from, prompt after prompt.
struct ShardPrompts {
  std::vector<SampleAddress> rows;
  std::vector<PromptText> texts;
  std::vector<const TrainingPrompt*> sources;

  /// chosen: the shard's prompts by their place in the job's.
  ShardPrompts(const TrainJob& job, std::span<const int> chosen) {
    for (const int place : chosen) {
      const auto& prompt = job.prompts[static_cast<std::size_t>(place)];
      for (std::int64_t j = 0; j < job.settings.group_size; ++j) {
        rows.push_back({static_cast<std::uint32_t>(prompt.position), static_cast<std::uint32_t>(j)});
        texts.push_back(prompt.prompt);
        sources.push_back(&prompt);
      }
    }
  }
};

}  // namespace harness
