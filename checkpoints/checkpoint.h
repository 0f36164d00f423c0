// Checkpoint: everything that training needs to continue bit by bit as if it had not stopped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ondine/model.h>
#include <ondine/tensor.h>

#include "core/digest.h"

namespace ondine {

// The newest version of the file format, written by save_checkpoint.
inline constexpr std::uint32_t checkpoint_version = 1;

struct ModelIdentity {
  std::string producer;
  std::string name;
  std::string domain;
  std::int64_t model_version = 0;

  friend bool operator==(const ModelIdentity&, const ModelIdentity&) = default;
};

struct CheckpointVariable {
  std::string name;
  std::string role;
  Tensor value;
};

// State of a training that a checkpoint records besides tensors and properties.
struct TrainingProgress {
  std::string library_version;
  ModelIdentity model;
  std::uint64_t random_seed = 0;
  // The step of the next random numbers. Model writes its `step` and does not read this field.
  std::uint64_t random_step = 0;
  std::uint64_t step = 0;
  // Model writes the cursor's epoch and does not read this field, which other readers may show.
  std::uint64_t epoch = 0;
  std::vector<std::uint64_t> algorithm_steps;  // one per algorithm
  TrainingCursor cursor;
};

struct Checkpoint : TrainingProgress {
  std::uint32_t format_version = checkpoint_version;  // of the file it was read from
  Sha256Digest fingerprint{};                         // of the model
  std::vector<CheckpointVariable> state;              // names are unique
  Properties properties;
};

}  // namespace ondine
