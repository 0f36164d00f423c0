// Looks for what commonly keeps a training model from learning.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ondine/export.h>
#include <ondine/model.h>
#include <ondine/results.h>

namespace ondine {

struct DoctorOptions {
  std::size_t algorithm = 0;
  // The batch is no real data: its scales and the loss say nothing and are not judged.
  bool synthetic = false;
};

struct Finding {
  std::string check;    // "no-gradient", ...: see diagnose()
  std::string message;  // names parameters, operators and values
  std::string remedy;   // one sentence
};

// Findings of these checks with the model's present state, in this order; empty when nothing is
// wrong. Evaluates the loss and its gradients once, without an update, and holds every inner value
// of that evaluation in memory.
//   no-gradient    weights that no derivative of the loss reaches, and the operator that cuts it
//                  off
//   zero-gradient  trained parameters whose gradient is zero in every element on the batch
//   not-finite     the first value with NaN, or with infinities where loss or gradients have some
//   saturated      Relu with nothing but zeros; Sigmoid and Tanh with most elements within 0.01 of
//                  their bounds
//   mask           trained tensors that look like masks or other constants
//   statistics     BatchNormalization in the loss whose statistics training does not change
//   weight-scale   trained weights with a standard deviation above 10, or all of whose elements are
//                  the same
//   input-scale    floating point feeds that are not normalized
//   learning-rate  outside of the usual range
//   initial-loss   cross entropy far above log(classes)
// `batch` feeds the algorithm's inputs as for train_step. Error(mismatch) as train_step, and when
// the algorithm takes no derivative by an initializer. Changes nothing in the model.
ONDINE_API std::vector<Finding> diagnose(const Model& model, Feeds batch,
                                         const DoctorOptions& options = {});

}  // namespace ondine
