// Loads weights from .safetensors files and adapters given on the command line.
#pragma once

#include <string>
#include <vector>

#include <ondine/weights.h>

namespace ondine::cli {

bool is_safetensors(const std::string& file);

// Assigns the tensors of the file to the model's state. Reports missing and unknown ones on
// standard error.
void take_weights(Model& model, const std::string& file);

// The model with the adapters of "FOLDER" or "FOLDER=WEIGHT" each beside its layers.
Model with_adapter_folders(Model model, const std::vector<std::string>& texts,
                           const LoadOptions& load);

}  // namespace ondine::cli
