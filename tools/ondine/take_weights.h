// Loads weights from .safetensors files given on the command line.
#pragma once

#include <string>

#include <ondine/weights.h>

namespace ondine::cli {

bool is_safetensors(const std::string& file);

// Assigns the tensors of the file to the model's state. Reports missing and unknown ones on
// standard error.
void take_weights(Model& model, const std::string& file);

}  // namespace ondine::cli
