// Cross-validation in words.
#pragma once

#include <ondine/trainer.h>

#include "ondine/train/progress.h"

namespace ondine::cli {

// A line for each fold, mean and deviation of each metric, and what the model was trained on then.
// Nothing without folds.
void print_folds(const FitReport& report, Progress& progress);

}  // namespace ondine::cli
