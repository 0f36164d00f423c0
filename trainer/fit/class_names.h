// Names of classes in a model's metadata.
#pragma once

#include <ondine/trainer.h>

namespace ondine::fit {

// Writes the names of the data's classes unless the model has names. Error(mismatch) where these
// are the same in another order.
void remember_classes(Model& model, const Dataset& data);

}  // namespace ondine::fit
