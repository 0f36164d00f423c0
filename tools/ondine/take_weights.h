// Weights from .safetensors files on the command line.
#pragma once

#include <string>

#include <ondine/weights.h>

namespace ondine::cli {

bool is_safetensors(const std::string& file);

// Assigns the tensors of the file. Reports on standard error what is missing on either side.
void take_weights(Model& model, const std::string& file);

}  // namespace ondine::cli
