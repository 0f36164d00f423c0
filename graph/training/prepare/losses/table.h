// The losses: a row each of one table, and a file each that writes the nodes. docs/losses.md has
// the formulas.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ondine/losses.h>
#include <ondine/prepare.h>

#include "graph/training/prepare/losses/pieces.h"

namespace ondine::graph {

// Appends the label inputs and the nodes of a loss, and returns names and type of the results.
using LossWriter = LossValues(GraphWriter& writer, const Prediction& prediction,
                              const PrepareOptions& options);

// Settings of PrepareOptions that only some losses read, as bits.
enum class LossSetting : unsigned {
  label_smoothing = 1,
  ignore_index = 2,
  soft_labels = 4,
  class_weights = 8,
  huber_delta = 16,
  focal_gamma = 32,
  margin = 64,
  ctc_blank = 128
};

// What a loss is the mean of: all elements of the label, vectors along the last axis, or results of
// the whole batch, which must then be axis 0.
enum class LossMean : std::uint8_t { labels, vectors, batch };

struct LossTraits {
  LossFacts facts;
  const char* in_messages;  // "softmax cross entropy"
  LossWriter* write;
  LossMean mean_of;
  LossSetting settings = {};

  bool has(LossSetting setting) const;
  // Labels are classes, or probabilities of them, along an axis of the output.
  bool has_class_axis() const;
  bool is_sequence() const { return facts.labels == LossLabels::sequences; }
  bool compares_rows() const { return facts.labels == LossLabels::groups; }
  bool reads_probabilities() const { return facts.output == OutputMeaning::probabilities; }
  // The logits of a softmax, or of a sigmoid.
  bool reads_softmax() const;
  bool reads_sigmoid() const;
};

// Of softmax cross entropy the row with classes as labels.
const LossTraits& traits_of(Loss loss);
const LossTraits& traits_of(const PrepareOptions& options);

// Names of the choices for PrepareOptions::loss that have a trait, in the order of the table.
std::vector<std::string> names_of_losses(const std::function<bool(const LossTraits&)>& has_trait);
std::vector<std::string> names_of_losses(LossSetting setting);

bool has_loss_model(const PrepareOptions& options);
// The name for the metadata: of the row, or "model".
std::string name_of(const PrepareOptions& options);
// Error(mismatch) for settings of losses that are out of range or that the loss does not have.
void check_loss_options(const PrepareOptions& options);

LossWriter cross_entropy, soft_cross_entropy, bce_with_logits, mse, mae, huber, nll,
    bce_probabilities, kl, hinge, focal, dice, cosine, triplet, contrastive, ctc;

}  // namespace ondine::graph
