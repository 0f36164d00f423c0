// Losses: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss with their gradients. Scores are
// [batch, classes, positions...], labels [batch, positions...], weights [classes]. This header:
// what both share. Softmax rows are those of kernels/norm.
#pragma once

#include <string>

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "graph/contract/ops.h"
#include "kernels/common/compute_type.h"

namespace ondine::kernels {

enum class LossReduction : std::uint8_t { none, sum, mean };
LossReduction loss_reduction(const graph::NodeView& node);

// Checks scores, labels and weights (indices of inputs) against each other and returns the dims of
// the labels, completed from those of the scores.
std::optional<graph::Dims> infer_loss(const graph::InferContext& context, std::size_t scores,
                                      std::size_t labels, std::size_t weights);

// Output 0 of the losses: a scalar, or one loss for each label.
void set_loss_output(graph::InferContext& context, const std::optional<graph::Dims>& labels);

struct LossShape {
  std::int64_t batch = 1;
  std::int64_t classes = 1;
  std::int64_t positions = 1;
  LossReduction reduction = LossReduction::mean;
  std::optional<std::int64_t> ignored;

  LossShape(const graph::NodeView& node, const Shape& scores);
  std::int64_t labels() const noexcept { return batch * positions; }
  // The offset of class 0 of label i.
  std::int64_t row(std::int64_t i) const noexcept {
    return i / positions * classes * positions + i % positions;
  }
};

// Rejects a derivative that has neither the size of the reduced loss nor one element per label.
void require_loss_size(const LossShape& shape, const Shape& dloss);

// int32 or int64 labels.
struct Labels {
  const void* data;
  bool is_int64;
  const LossShape* shape;
  // The class of label i, -1 for an ignored one. Error(mismatch) for a label outside of the
  // classes.
  std::int64_t operator[](std::int64_t i) const;
  // The class of label i, -1 for one that another operator ignores or refuses.
  std::int64_t unchecked(std::int64_t i) const;
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

// The loss of log probabilities, reduced, in output 0; labels and weights are inputs 1 and 2.
template <class C>
class LossOutput {
 public:
  LossOutput(const graph::BindContext& context, Scratch& scratch, const LossShape& shape)
      : shape_(shape),
        int64_labels_(context.dtype(1) == DType::int64),
        weights_(context, scratch, 2),
        loss_(context, scratch, 0, shape.reduction == LossReduction::none ? shape.labels() : 1),
        partial_(scratch.add<LossSums>(loss_chunks(shape))) {}

  void write(graph::KernelContext& call, const C* log_p) const {
    const Labels labels{call.in<void>(1), int64_labels_, &shape_};
    C* loss = loss_.data(call);
    const LossSums sums = sum_losses<C>(call.pool(), shape_, log_p, labels, weights_(call),
                                        shape_.reduction == LossReduction::none ? loss : nullptr,
                                        Scratch::at<LossSums>(call, partial_));
    if (loss == nullptr) return;
    if (shape_.reduction == LossReduction::sum) *loss = static_cast<C>(sums.loss);
    if (shape_.reduction == LossReduction::mean) *loss = static_cast<C>(sums.loss / sums.weight);
    loss_.store(call);
  }

 private:
  LossShape shape_;
  bool int64_labels_;
  ComputeIn<C> weights_;
  ComputeOut<C> loss_;
  std::size_t partial_;
};

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

// w[t] dloss for each label, over the sum of the weights for the mean: the negative derivative of
// the loss by log p[t].
template <class C>
struct LabelGradients {
  Labels labels;
  const C* weights;
  const C* dloss;
  bool per_label;  // dloss has an element for each label
  C scale;
  // Derivative of label i, whose class `label` is not -1.
  C operator()(std::int64_t i, std::int64_t label) const {
    const C weight = weights != nullptr ? weights[label] : C{1};
    return weight * scale * dloss[per_label ? i : 0];
  }
};

// The inputs of a derivative: dloss is input 0, the labels are input `labels`, the weights the
// next.
template <class C>
class LossGradientInputs {
 public:
  LossGradientInputs(const graph::BindContext& context, Scratch& scratch, const LossShape& shape,
                     std::size_t labels)
      : shape_(shape),
        labels_(labels),
        int64_labels_(context.dtype(labels) == DType::int64),
        dloss_(context, scratch, 0),
        weights_(context, scratch, labels + 1) {}

  LabelGradients<C> read(graph::KernelContext& call) const {
    const Labels labels{call.in<void>(labels_), int64_labels_, &shape_};
    const C* weights = weights_(call);
    const bool mean = shape_.reduction == LossReduction::mean;
    const C scale = mean ? static_cast<C>(1 / sum_weights(shape_, labels, weights)) : C{1};
    return {labels, weights, dloss_(call), shape_.reduction == LossReduction::none, scale};
  }

 private:
  LossShape shape_;
  std::size_t labels_;
  bool int64_labels_;
  ComputeIn<C> dloss_;
  ComputeIn<C> weights_;
};

// For gradient rules: the labels as int64 classes, 0 where ignored, and whether each counts (empty:
// all).
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
