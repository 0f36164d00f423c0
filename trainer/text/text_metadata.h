// How texts were encoded, in a model's metadata.
#pragma once

#include <ondine/trainer.h>

namespace ondine::text {

// Writes it down unless the model says it already. Error(mismatch) for a model that was trained
// with another encoding.
void remember_text(Model& model, const Dataset& data);

}  // namespace ondine::text
