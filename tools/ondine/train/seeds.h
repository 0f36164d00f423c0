// Several runs of `train`, which differ in their seeds.
#pragma once

#include "ondine/train/train_run.h"

namespace ondine::cli {

// Trains `seeds` models one after the other, the first with the seed of the options, each following
// one with the next seed, and prints mean and standard deviation of the metrics of their last
// epochs. Throws WrongUsage for options that name files to write. Returns the exit code.
int train_seeds(const TrainOptions& options, std::uint64_t seeds);

}  // namespace ondine::cli
