#include "kernels/loss/loss.h"

#include "kernels/common/infer_checks.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

LossReduction loss_reduction(const NodeView& node) {
  const std::string name = node.attr_string("reduction", "mean");
  if (name == "none") return LossReduction::none;
  if (name == "sum") return LossReduction::sum;
  if (name == "mean") return LossReduction::mean;
  fail(ErrorCode::invalid_model, "reduction must be none, sum or mean, found ",
       ondine::quoted(name));
}

std::optional<Dims> infer_loss(const InferContext& context, std::size_t scores, std::size_t labels,
                               std::size_t weights) {
  loss_reduction(context);
  const DType label_type = context.dtype(labels);
  if (label_type != DType::int32 && label_type != DType::int64) {
    context.reject("labels must be int32 or int64, found ", label_type);
  }
  std::optional<Dims> result;
  Dim classes;
  if (context.ranked(labels)) result = context.dims(labels);
  if (context.ranked(scores)) {
    const Dims& dims = context.dims(scores);
    if (dims.size() < 2) context.reject("scores need rank 2 or more, found ", to_string(dims));
    if (!result) result = Dims(dims.size() - 1);
    if (result->size() + 1 != dims.size()) {
      context.reject("labels ", to_string(*result), " do not fit scores ", to_string(dims));
    }
    classes = dims[1];
    for (std::size_t i = 0; i < result->size(); ++i) {
      (*result)[i] = unify((*result)[i], dims[i == 0 ? 0 : i + 1], "dims of scores and labels");
    }
  }
  if (context.has_input(weights)) {
    unify(dims_of_rank(context, weights, 1, "weights")[0], classes, "numbers of classes");
  }
  return result;
}

void set_loss_output(InferContext& context, const std::optional<Dims>& labels) {
  const bool each = loss_reduction(context) == LossReduction::none;
  context.set_output(0, context.dtype(0), each ? labels : std::optional(Dims{}));
}

LossShape::LossShape(const NodeView& node, const Shape& scores)
    : batch(scores[0]),
      classes(scores[1]),
      positions(scores.size(2, scores.rank())),
      reduction(loss_reduction(node)) {
  if (node.has_attr("ignore_index")) ignored = node.attr_int("ignore_index", 0);
}

void require_loss_size(const LossShape& shape, const Shape& dloss) {
  const std::int64_t want = shape.reduction == LossReduction::none ? shape.labels() : 1;
  if (dloss.size() != want) {
    fail(ErrorCode::mismatch, "the loss has ", want, " elements, its derivative has shape ", dloss);
  }
}

namespace {

std::int64_t label_at(const Labels& labels, std::int64_t i) {
  return labels.is_int64 ? static_cast<const std::int64_t*>(labels.data)[i]
                         : std::int64_t{static_cast<const std::int32_t*>(labels.data)[i]};
}

}  // namespace

std::int64_t Labels::unchecked(std::int64_t i) const {
  const std::int64_t label = label_at(*this, i);
  const bool counts = label >= 0 && label < shape->classes && label != shape->ignored;
  return counts ? label : -1;
}

std::int64_t Labels::operator[](std::int64_t i) const {
  const std::int64_t label = label_at(*this, i);
  if (shape->ignored && label == *shape->ignored) return -1;
  if (label < 0 || label >= shape->classes) {
    fail(ErrorCode::mismatch, "label ", label, " at position ", i, " is none of the ",
         shape->classes, " classes");
  }
  return label;
}

template <class C>
LossSums sum_losses(ThreadPool& pool, const LossShape& shape, const C* log_p, const Labels& labels,
                    const C* weights, C* losses, LossSums* partial) {
  pool.for_chunks(shape.labels(), loss_grain, [&](std::int64_t first, std::int64_t last) {
    LossSums sums;
    for (auto i = first; i < last; ++i) {
      const auto label = labels[i];
      C loss = 0;
      if (label >= 0) {
        const C weight = weights != nullptr ? weights[label] : C{1};
        loss = -weight * log_p[shape.row(i) + label * shape.positions];
        sums.weight += static_cast<double>(weight);
        sums.loss += static_cast<double>(loss);
      }
      if (losses != nullptr) losses[i] = loss;
    }
    partial[first / loss_grain] = sums;
  });
  LossSums total;
  for (std::int64_t i = 0; i < loss_chunks(shape); ++i) {
    total.loss += partial[i].loss;
    total.weight += partial[i].weight;
  }
  return total;
}

template LossSums sum_losses(ThreadPool&, const LossShape&, const float*, const Labels&,
                             const float*, float*, LossSums*);
template LossSums sum_losses(ThreadPool&, const LossShape&, const double*, const Labels&,
                             const double*, double*, LossSums*);

LabelVals label_vals(const NodeView& node, Val labels) {
  LabelVals result;
  result.classes = graph::cast(labels, DType::int64);
  if (node.has_attr("ignore_index")) {
    Builder& b = labels.builder();
    const Val ignored = b.int64(node.attr_int("ignore_index", 0));
    result.counts = graph::logical_not(graph::equal(result.classes, ignored));
    result.classes = graph::where(result.counts, result.classes, b.int64(0));
  }
  return result;
}

Val label_weights(const LabelVals& labels, Val weights, Val log_p) {
  Val result = weights ? graph::gather(weights, labels.classes, 0)
                       : graph::expand_like(graph::scalar_like(log_p, 1), labels.classes);
  if (labels.counts) {
    result = graph::where(labels.counts, result, graph::scalar_like(log_p, 0));
  }
  return result;
}

Val weight_gradient(const NodeView& node, Val dloss, Val loss, Val log_p, Val labels, Val weights) {
  Builder& b = labels.builder();
  const LabelVals l = label_vals(node, labels);
  const Val picked =
      graph::squeeze(b.node("GatherElements", {log_p, graph::unsqueeze(l.classes, {1})},
                            {{"axis", std::int64_t{1}}}),
                     {1});
  Val each = -picked;
  if (loss_reduction(node) == LossReduction::mean) {
    each = (each - loss) / graph::reduce_sum(label_weights(l, weights, log_p), {}, false);
  }
  each = each * dloss;
  if (l.counts) each = graph::where(l.counts, each, graph::scalar_like(each, 0));
  return b.node(
      "ScatterElements",
      {graph::zeros_like(weights), graph::reshape(l.classes, {-1}), graph::reshape(each, {-1})},
      {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}});
}

Attributes loss_attributes(const NodeView& node) {
  Attributes attributes{{"reduction", node.attr_string("reduction", "mean")}};
  if (node.has_attr("ignore_index")) {
    attributes.emplace_back("ignore_index", node.attr_int("ignore_index", 0));
  }
  return attributes;
}

}  // namespace ondine::kernels
