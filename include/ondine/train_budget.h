// Chooses which parameters train where memory is short: those that promise most for the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/export.h>
#include <ondine/prepare.h>

namespace ondine {

struct TrainBudget {
  // Bytes that a training step may take: its arena, the state that it updates and the constants.
  std::uint64_t bytes = 0;
  // Rows of a step; 0: the model's own number where it has a fixed one, else 32.
  std::uint64_t rows = 0;
  // Batches of the sample whose derivatives are averaged.
  std::uint64_t batches = 8;
};

struct ParameterGain {
  std::string name;
  std::uint64_t elements = 0;
  // This parameter's share in the loss's first-order fall in one step of the optimizer; all gains
  // add up to 1. With steps along the derivative g it is in proportion to the sum of g^2, with
  // steps of adaptive size to the sum of |g|.
  double gain = 0;
  bool trained = false;  // chosen, the whole or some of its channels
  // Inputs of the layer whose part of the weight trains, in rising order; empty: all or none.
  std::vector<std::int64_t> channels = {};
  double trained_gain = 0;  // of what trains
};

struct TrainChoice {
  std::vector<std::string> train;         // for PrepareOptions::train, with channels behind an @
  std::vector<ParameterGain> parameters;  // that may train, the largest gain first
  double gain = 0;                        // of those chosen
  std::uint64_t bytes = 0;                // of a step that trains those chosen
  std::uint64_t all_bytes = 0;            // and of one that trains all
};
// "2 of 8 parameters train, with 93.5 % of the gain; a step takes 1.2 MiB, one of all 3.4 MiB"
ONDINE_API std::string to_string(const TrainChoice& choice);

// Chooses among the parameters that `options` would train. Derivatives of the loss by all of them
// are averaged over batches of the sample; then, for a number of depths below which nothing trains,
// the parameters with most gain for their memory are taken while the plan of a step fits: whole
// tensors, or of the weights of linear layers and convolutions the channels with the largest gain,
// an eighth, a quarter or a half of them. The choice with the largest gain counts. A new head is
// always trained. Plans some hundred steps, runs TrainBudget::batches; changes nothing.
//
// Error(mismatch) for a network without trained weights, for adapters and the like, which choose
// what trains themselves, and for data that do not fit; Error(limit) if even the smallest choice
// needs more, with the bytes that it needs.
ONDINE_API TrainChoice choose_trained(const Model& network, const Dataset& sample,
                                      const PrepareOptions& options, const TrainBudget& budget,
                                      const LoadOptions& load = {});

// Trains what was chosen: sets `train` and WeightInit::keep, and no number of last layers.
ONDINE_API void keep_to(const TrainChoice& choice, PrepareOptions& options);

}  // namespace ondine
