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

// Scaling of the inputs. A trained network keeps what it was trained with: its own operators, the
// scale of its data record or, for three channels, the means and deviations of ImageNet. Other
// networks get the scales of the training rows. Error(mismatch) if a trained network reads
// spectrograms that nothing describes.
InputScaling choose_input_scaling(const Opened& opened, bool is_trained);

}  // namespace ondine::tune
