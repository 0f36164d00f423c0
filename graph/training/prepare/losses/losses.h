// The losses that write_loss() chooses from: each appends its label inputs and its nodes, and
// returns names and type of the results. docs/losses.md has the formulas.
#pragma once

#include "graph/training/prepare/losses/pieces.h"

namespace ondine::graph {

using LossWriter = LossValues(GraphWriter& writer, const Prediction& prediction,
                              const PrepareOptions& options);

LossWriter weighted_cross_entropy;  // with class weights, label smoothing or an ignored label
LossWriter soft_cross_entropy;      // label probabilities
LossWriter kl_divergence;
LossWriter focal;
LossWriter bce_with_logits;
LossWriter probability_cross_entropy;
LossWriter regression;  // mse, mae, huber
LossWriter hinge;
LossWriter dice;
LossWriter cosine;
LossWriter triplet;
LossWriter contrastive;
LossWriter ctc;

// Log(p), not below -100. Below the smallest normal number the derivative is 0: that of Log is too
// large for the type there.
std::string clamped_log(GraphWriter& writer, const std::string& p, DType dtype);

bool has_loss_model(const PrepareOptions& options);
// "softmax-cross-entropy", for the metadata.
std::string name_of(const PrepareOptions& options);
// Error(mismatch) for settings of losses that are out of range or that the loss does not have.
void check_loss_options(const PrepareOptions& options);
// Error(mismatch) where the number of weights is not that of the classes, if it is known.
void check_class_weights(const Prediction& prediction, const PrepareOptions& options);

}  // namespace ondine::graph
