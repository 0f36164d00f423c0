// The folder of artifacts that onnxruntime-training writes for one model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ondine/import_ort.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/updates/optimizer.h"
#include "trainer/import_ort/checkpoint.h"

namespace ondine::trainer {

struct OrtOptimizer {
  std::string name;  // "adamw" or "sgd"
  Optimizer settings;
  std::optional<float> clip_norm;
  graph::OptimizerStart start;
};

struct OrtArtifacts {
  graph::ModelDef eval;      // the network and its loss; parameters are initializers
  bool trains_mode = false;  // Dropout or BatchNormalization compute differently in training
  bool normalizes = false;   // by statistics of the batch
  OrtCheckpoint checkpoint;
  OrtOptimizer optimizer;  // goes on where the checkpoint was saved
  std::vector<std::string> warnings;
};

OrtArtifacts load_artifacts(const std::filesystem::path& folder, const ImportOrtOptions& options,
                            const LoadOptions& load);

// The optimizer that an optimizer model computes, as it starts. Throws Error(unsupported) naming
// the operator or attribute that has no counterpart.
OrtOptimizer read_optimizer(const graph::ModelDef& model);

}  // namespace ondine::trainer
