// The rate of recordings in a model's metadata.
#pragma once

#include <ondine/dataset.h>

namespace ondine::fit {

// Writes the rate of the data's recordings unless the model has one. Error(mismatch) where that is
// another.
void remember_rate(Model& model, const Dataset& data);

}  // namespace ondine::fit
