// Restores checkpoints given on the command line.
#pragma once

#include <string>

#include <ondine/model.h>

namespace ondine::cli {

// Restores the model's state from the checkpoint.
void take_checkpoint(Model& model, const std::string& file);

// Says on standard error why a newer checkpoint was passed over, if one was.
void print_note(const RestoreReport& report);

}  // namespace ondine::cli
