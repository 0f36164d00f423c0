// What NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss share. Scores are
// [batch, classes, positions...], labels [batch, positions...], weights [classes].
#pragma once

#include <string>

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "graph/contract/ops.h"
#include "kernels/common/compute_type.h"

namespace ondine::kernels {

enum class Reduction : std::uint8_t { none, sum, mean };
Reduction loss_reduction(const graph::NodeView& node);

// Checks scores, labels and weights (by their indices) against each other and gives the labels'
// dims merged with what the scores say.
std::optional<graph::Dims> infer_loss(const graph::InferContext& context, std::size_t scores,
                                      std::size_t labels, std::size_t weights);

// Output 0 of the losses: a scalar, or one loss for each label.
void set_loss_output(graph::InferContext& context, const std::optional<graph::Dims>& labels);

struct LossShape {
  std::int64_t batch = 1;
  std::int64_t classes = 1;
  std::int64_t positions = 1;
  Reduction reduction = Reduction::mean;
  std::optional<std::int64_t> ignored;

  LossShape(const graph::NodeView& node, const Shape& scores);
  std::int64_t labels() const noexcept { return batch * positions; }
  // The offset of class 0 of label i.
  std::int64_t row(std::int64_t i) const noexcept {
    return i / positions * classes * positions + i % positions;
  }
};

// Rejects a derivative of the loss that is neither for the reduced loss nor one for each label.
void require_loss_size(const LossShape& shape, const Shape& dloss);

// int32 or int64 labels.
struct Labels {
  const void* data;
  bool wide;
  const LossShape* shape;
  // The class of label i, -1 for an ignored one. Throws Error(mismatch) for no class.
  std::int64_t operator[](std::int64_t i) const;
};

// The weighted losses -w log p in fixed chunks: sums of both in double, and each loss by itself if
// `losses` is not null.
struct LossSums {
  double loss = 0;
  double weight = 0;
};
inline constexpr std::int64_t loss_grain = 2048;
inline std::int64_t loss_chunks(const LossShape& shape) {
  return (shape.labels() + loss_grain - 1) / loss_grain;
}

// `partial` has loss_chunks(shape) elements.
template <class C>
LossSums sum_losses(ThreadPool& pool, const LossShape& shape, const C* log_p, const Labels& labels,
                    const C* weights, C* losses, LossSums* partial);
extern template LossSums sum_losses(ThreadPool&, const LossShape&, const float*, const Labels&,
                                    const float*, float*, LossSums*);
extern template LossSums sum_losses(ThreadPool&, const LossShape&, const double*, const Labels&,
                                    const double*, double*, LossSums*);

// The sum of the weights of all labels that are not ignored.
template <class C>
double sum_weights(const LossShape& shape, const Labels& labels, const C* weights) {
  double sum = 0;
  for (std::int64_t i = 0; i < shape.labels(); ++i) {
    const auto label = labels[i];
    if (label >= 0) sum += weights != nullptr ? static_cast<double>(weights[label]) : 1;
  }
  return sum;
}

// For rules. The labels as int64 classes, 0 where ignored, and whether each counts (empty: all).
struct LabelVals {
  graph::Val classes;
  graph::Val counts;
};
LabelVals label_vals(const graph::NodeView& node, graph::Val labels);
// The weight of each label, 0 where ignored; like `log_p` in dtype.
graph::Val label_weights(const LabelVals& labels, graph::Val weights, graph::Val log_p);
// The derivative of the loss by the weights.
graph::Val weight_gradient(const graph::NodeView& node, graph::Val dloss, graph::Val loss,
                           graph::Val log_p, graph::Val labels, graph::Val weights);

// The attributes of a loss, for its derivative's node.
graph::Attributes loss_attributes(const graph::NodeView& node);

}  // namespace ondine::kernels
