// Models that prepare() gave two algorithms: one adds gradients up, the other updates.
#pragma once

#include <cstdint>
#include <optional>

#include <ondine/trainer.h>

namespace ondine::fit {

struct Accumulation {
  std::size_t update = 0;     // the algorithm that updates
  std::uint64_t batches = 1;  // before each update
};

// Nothing unless the algorithm of the options adds up gradients. Error(mismatch) where the options
// ask for it.
std::optional<Accumulation> find_accumulation(const Model& model, const TrainerOptions& options);

// The algorithm that reads the learning rate.
std::size_t update_algorithm(const Model& model, const TrainerOptions& options);

}  // namespace ondine::fit
