// Which preprocessing a network needs in front of its input.
#pragma once

#include <optional>
#include <string>

#include <ondine/preprocess.h>

#include "trainer/finetune/opened.h"

namespace ondine::tune {

struct InputScaling {
  std::optional<Preprocess> preprocess;
  std::string reason;  // for people; empty where there was nothing to decide
};

// Of trained networks what they were trained with: their own operators, the scale of their data
// record or, of three channels, the means and deviations of ImageNet. Of others what the training
// rows have. Error(mismatch) where a trained network reads spectrograms that nothing describes.
InputScaling choose_input_scaling(const Opened& opened, bool is_trained);

}  // namespace ondine::tune
