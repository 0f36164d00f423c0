// Training artifacts of ONNX Runtime (onnxruntime-training) as a training model of the standard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ondine/export.h>
#include <ondine/limits.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

namespace ondine {

struct ImportOrtOptions {
  // A checkpoint saved during training; empty: that of the folder.
  std::filesystem::path checkpoint = {};
  // Inputs that only the loss reads. Empty: those from which no path leads to a node that reads a
  // parameter.
  std::vector<std::string> labels = {};
  // As in PrepareOptions.
  std::optional<std::uint64_t> external_data_from = {};
};

struct ImportOrtReport {
  PrepareReport prepared;
  std::string optimizer;  // "adamw" or "sgd"
  float learning_rate = 0;
  std::int64_t step = 0;             // training steps that the optimizer has made
  std::vector<std::string> outputs;  // of the main graph
  std::vector<std::string> labels;   // inputs of the loss
  std::vector<std::string> notes;    // what differs or is not carried over, a line each
};

// Reads the files that onnxruntime.training.artifacts.generate_artifacts writes: eval_model.onnx,
// training_model.onnx, optimizer_model.onnx and checkpoint, with any prefix. The model's main graph
// is the network, its outputs are what the loss reads and the additional outputs; the loss is a
// function of the model; parameters, what is frozen, moments, step number and learning rate are
// those of the checkpoint, whose properties become metadata. The training model takes the loss'
// labels as inputs and updates after every batch.
// Throws what Model::load and prepare throw; Error(io) for a missing file; Error(corrupt) for a
// damaged checkpoint; Error(mismatch) for files that do not belong together; Error(unsupported) for
// another optimizer than AdamW and SGD and a checkpoint without values or with external data.
ONDINE_API Model import_ort(const std::filesystem::path& folder,
                            const ImportOrtOptions& options = {}, const LoadOptions& load = {},
                            ImportOrtReport* report = nullptr);

// From files to file; `output` is replaced in one step.
ONDINE_API ImportOrtReport import_ort(const std::filesystem::path& folder,
                                      const std::filesystem::path& output,
                                      const ImportOrtOptions& options, const Limits& limits = {});
// Overload with LoadOptions: only `limits` and `operator_sets`, which define functions that the
// evaluation model calls, count.
ONDINE_API ImportOrtReport import_ort(const std::filesystem::path& folder,
                                      const std::filesystem::path& output,
                                      const ImportOrtOptions& options, const LoadOptions& load);

}  // namespace ondine
