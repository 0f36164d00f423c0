// ProjectedCrossEntropy (ai.ondine): (loss, dh, logarithms) of (h [..., depth], labels [...], w[,
// scale[, zero point]]). The loss is that of SoftmaxCrossEntropyLoss over the scores h w, reduced
// to one number; dh is its derivative by h. w is [depth, classes], or [classes, depth] where the
// attribute `transposed` is
// 1. Only rows of h whose label counts pass the product, some at a time, so that the scores of all
// rows are never in memory at once. dh is computed in the same pass, where it is read. logarithms
// [...] are those of the sums of exponentials of each row, 0 where its label does not count:
// ProjectedWeightGrad computes the derivative by w with them. A scale makes w the b of
// DequantizeMatMul, with its attributes; some classes at a time are dequantized, for all rows of a
// part. With Precision::int8 the scores of such a w are products of 8-bit integers; dh is not,
// since most probabilities are far below the largest of a row.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/rounding.h"
#include "kernels/common/stored_input.h"
#include "kernels/elementwise/vector.h"
#include "kernels/loss/head_gradient.h"
#include "kernels/loss/head_matrix.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/matmul/product_kernels.h"
#include "kernels/norm/softmax_primitive.h"
#include "kernels/quantize/frozen_int8.h"

namespace ondine::kernels::ops {
namespace {

constexpr std::size_t labels_input = 1;
constexpr std::size_t weights = 2;

void infer(InferContext& context) {
  const auto labels = infer_head(context, 0, infer_head_matrix(context, weights), labels_input);
  context.set_output(0, context.dtype(0), Dims{});
  context.set_output(1, context.input(0));
  context.set_output(2, context.dtype(0), labels);
}

// Numbers of rows that are computed at once: multiples of this, of which bits do not depend.
constexpr std::int64_t row_step = 16;
static_assert(row_step >= math::least_rounded);
constexpr std::int64_t most_rows = 128;
// Bytes of scores: each part of the rows widens a matrix of few bits anew, twice.
constexpr std::int64_t most_bytes = std::int64_t{32} << 20;
constexpr std::int64_t most_bytes_by_few_bits = std::int64_t{80} << 20;

// Primitives that compute one number of rows.
template <class C>
struct RowsAtOnce {
  // Products with the last block of w, and with each other one.
  std::array<math::GemmPrimitive<C>, 2> forward;
  std::array<math::GemmPrimitive<C>, 2> backward;
  math::SoftmaxPrimitive<C> log_softmax;
};

template <class C>
class ProjectedLoss {
 public:
  explicit ProjectedLoss(BindContext& context)
      : shape_(context, Shape{context.shape(labels_input).size(), classes_of(context)}),
        depth_(context.shape(0).span().back()),
        class_rows_(has_class_rows(context)),
        int64_labels_(context.dtype(labels_input) == DType::int64),
        kernels_(&product_kernels(context)),
        v_(&math::vector_kernels<C>()) {
    const bool rounds =
        math::GemmPrimitive<C>::takes_bf16(forward_shape(row_step, shape_.classes), *kernels_);
    Scratch scratch;
    h_.emplace(context, scratch, 0);
    w_.emplace(context, scratch, weights, rounds);
    loss_.emplace(context, scratch, 0, 1);
    dh_.emplace(context, scratch, 1, shape_.labels() * depth_);
    logarithms_.emplace(context, scratch, 2, shape_.labels());
    make_steps(context.threads());
    multiply_bytes(context, scratch);
    rows_ = scratch.add<C>(largest_ * depth_);
    scores_ = scratch.add<C>(largest_ * shape_.classes);
    counted_ = scratch.add<std::int64_t>(shape_.labels());
    work_ = scratch.add_bytes(work_bytes_);
    if (in_bytes_) {
      context.set_implementation(in_bytes_->name(), in_bytes_->isa());
    } else {
      context.set_implementation(steps_.back().forward[0].name(), steps_.back().forward[0].isa());
    }
    scratch.request(context);
  }

  void operator()(KernelContext& call) const {
    const Labels labels{call.in<void>(labels_input), int64_labels_, &shape_};
    auto* const counted = Scratch::at<std::int64_t>(call, counted_);
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < shape_.labels(); ++i) {
      if (labels[i] >= 0) counted[count++] = i;
    }
    const bool is_mean = shape_.reduction == LossReduction::mean;
    const C* const h = (*h_)(call);
    const auto w = w_->source(call);
    C* const dh = dh_->data(call);
    if (dh != nullptr) std::fill_n(dh, shape_.labels() * depth_, C{0});
    C* const logarithms = logarithms_->data(call);
    if (logarithms != nullptr) std::fill_n(logarithms, shape_.labels(), C{0});
    double sum = 0;
    for (std::int64_t first = 0; first < count; first += largest_) {
      const std::int64_t size = std::min(largest_, count - first);
      const Part part{{counted + first, static_cast<std::size_t>(size)}, h, w, dh, logarithms,
                      is_mean ? C{1} / static_cast<C>(count) : C{1}};
      sum += run(call, labels, part);
    }
    *loss_->data(call) = static_cast<C>(is_mean ? sum / static_cast<double>(count) : sum);
    loss_->store(call);
    if (dh != nullptr) dh_->store(call);
    if (logarithms != nullptr) logarithms_->store(call);
  }

 private:
  struct Part {
    std::span<const std::int64_t> rows;  // of h, which count
    const C* h;
    typename HeadMatrix<C>::Source w;
    C* dh;          // null: nobody reads it
    C* logarithms;  // the same
    C scale;
  };

  static std::int64_t classes_of(const BindContext& context) {
    return matrix_shape(context, weights)[has_class_rows(context) ? 0 : 1];
  }

  math::GemmShape forward_shape(std::int64_t rows, std::int64_t classes) const {
    return {.m = rows,
            .n = classes,
            .k = depth_,
            .trans_b = class_rows_,
            .ldc = shape_.classes,
            .b_stored = w_ ? w_->storage() : math::Storage::plain,
            .whole_n = shape_.classes};
  }
  math::GemmShape backward_shape(std::int64_t rows, std::int64_t classes) const {
    return {.m = rows,
            .n = depth_,
            .k = classes,
            .trans_b = !class_rows_,
            .lda = shape_.classes,
            .b_stored = w_->storage()};
  }

  void make_steps(int threads) {
    const std::int64_t row_bytes =
        std::max<std::int64_t>(1, shape_.classes) * static_cast<std::int64_t>(sizeof(C));
    const std::int64_t bytes = w_->blocks() > 1 ? most_bytes_by_few_bits : most_bytes;
    const std::int64_t fit = std::clamp(bytes / row_bytes, row_step, most_rows);
    const std::int64_t wanted = std::min(fit, std::max<std::int64_t>(1, shape_.labels()));
    const auto primitive = [&](const math::GemmShape& shape) {
      math::GemmPrimitive<C> result(shape, 1, threads, *kernels_);
      work_bytes_ = std::max(work_bytes_, result.workspace());
      return result;
    };
    for (std::int64_t rows = row_step; rows < wanted + row_step; rows += row_step) {
      steps_.push_back({{primitive(forward_shape(rows, w_->last_size())),
                         primitive(forward_shape(rows, w_->size()))},
                        {primitive(backward_shape(rows, w_->last_size())),
                         primitive(backward_shape(rows, w_->size()))},
                        math::SoftmaxPrimitive<C>({rows, shape_.classes, 1, true, false})});
    }
    largest_ = std::min<std::int64_t>(std::ssize(steps_) * row_step, fit / row_step * row_step);
  }

  void multiply_bytes(BindContext& context, Scratch& scratch) {
    if constexpr (sizeof(C) == sizeof(float)) {
      math::GemmShape shape = forward_shape(std::min(largest_, shape_.labels()), shape_.classes);
      if (FrozenInt8::suits(context, weights, shape)) {
        in_bytes_.emplace(context, scratch, weights, shape);
      }
    }
  }

  // scores = rows w
  void multiply(KernelContext& call, const Part& part, std::int64_t size, C* rows,
                C* scores) const {
    const std::int64_t padded = (size + row_step - 1) / row_step * row_step;
    if constexpr (sizeof(C) == sizeof(float)) {
      if (in_bytes_) {
        std::fill(scores + size * shape_.classes, scores + padded * shape_.classes, C{0});
        return in_bytes_->run(call, size, rows, scores, nullptr);
      }
    }
    const RowsAtOnce<C>& step = step_of(size);
    std::fill(rows + size * depth_, rows + padded * depth_, C{0});
    for (std::int64_t i = 0; i < w_->blocks(); ++i) {
      step.forward[which(i)].run(call.pool(), {}, rows, w_->read(call, part.w, i),
                                 scores + i * w_->size(), {}, Scratch::at<std::byte>(call, work_));
    }
  }

  // For that many rows.
  const RowsAtOnce<C>& step_of(std::int64_t size) const {
    return steps_[static_cast<std::size_t>((size + row_step - 1) / row_step - 1)];
  }

  std::size_t which(std::int64_t block) const { return block == w_->blocks() - 1 ? 0 : 1; }

  // The sum of the losses of some rows; writes their dh.
  double run(KernelContext& call, const Labels& labels, const Part& part) const {
    const auto size = std::ssize(part.rows);
    const RowsAtOnce<C>& step = step_of(size);
    C* const rows = Scratch::at<C>(call, rows_);
    C* const scores = Scratch::at<C>(call, scores_);
    auto* const work = Scratch::at<std::byte>(call, work_);
    for (std::int64_t i = 0; i < size; ++i) {
      std::copy_n(part.h + part.rows[static_cast<std::size_t>(i)] * depth_, depth_,
                  rows + i * depth_);
    }
    multiply(call, part, size, rows, scores);
    const auto score_of = [&](std::int64_t row, std::int64_t i) -> C {
      return scores[i * shape_.classes + labels[row]];
    };
    for (std::int64_t i = 0; part.logarithms != nullptr && i < size; ++i) {
      const std::int64_t row = part.rows[static_cast<std::size_t>(i)];
      part.logarithms[row] = score_of(row, i);
    }
    step.log_softmax.run(call.pool(), {.x = scores, .result = scores});
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t row = part.rows[static_cast<std::size_t>(i)];
      const C logarithm = score_of(row, i);
      sum -= static_cast<double>(logarithm);
      if (part.logarithms != nullptr) part.logarithms[row] -= logarithm;
    }
    if (part.dh == nullptr) return sum;
    differentiate(call, labels, part, scores);
    for (std::int64_t i = 0; i < w_->blocks(); ++i) {
      const math::Elements<const C> w = w_->read(call, part.w, i);
      const math::GemmOptions<C> options{.beta = i == 0 ? C{0} : C{1}};
      step.backward[which(i)].run(call.pool(), {}, scores + i * w_->size(), w, rows, options, work);
    }
    for (std::int64_t i = 0; i < size; ++i) {
      std::copy_n(rows + i * depth_, depth_,
                  part.dh + part.rows[static_cast<std::size_t>(i)] * depth_);
    }
    return sum;
  }

  // Logarithms of probabilities become derivatives of the loss by the scores.
  void differentiate(KernelContext& call, const Labels& labels, const Part& part, C* scores) const {
    call.pool().for_chunks(std::ssize(part.rows), 1, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        C* const row = scores + i * shape_.classes;
        v_->exp(row, row, shape_.classes);
        v_->scale(row, row, part.scale, shape_.classes);
        row[labels[part.rows[static_cast<std::size_t>(i)]]] -= part.scale;
      }
    });
  }

  LossShape shape_;
  std::int64_t depth_;
  bool class_rows_;
  bool int64_labels_;
  const math::SimdTables* kernels_;
  const math::VectorKernels<C>* v_;
  std::optional<ComputeIn<C>> h_;
  std::optional<HeadMatrix<C>> w_;
  std::optional<ComputeOut<C>> loss_;
  std::optional<ComputeOut<C>> dh_;
  std::optional<ComputeOut<C>> logarithms_;
  std::optional<FrozenInt8> in_bytes_;  // scores
  std::vector<RowsAtOnce<C>> steps_;    // of row_step rows, of twice as many, ...
  std::int64_t largest_ = 0;
  std::size_t work_bytes_ = 0;
  std::size_t rows_ = 0;
  std::size_t scores_ = 0;
  std::size_t counted_ = 0;
  std::size_t work_ = 0;
};

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    return [loss = ProjectedLoss<C>(context)](KernelContext& call) { loss(call); };
  });
}

std::vector<Val> grad(GradContext& g) {
  if (g.dy(1) || g.dy(2)) return grad_of_expansion(g);
  std::vector<Val> result(g.input_count());
  if (!g.dy(0)) return result;
  if (g.wants(0)) result[0] = g.y(1) * g.dy(0);
  if (g.wants(weights)) {
    result[weights] = g.builder().node("ProjectedWeightGrad",
                                       {g.dy(0), g.x(0), g.x(weights), g.x(labels_input), g.y(2)},
                                       head_attributes(g), ondine_domain);
  }
  return result;
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val h = context.x(0);
  const std::vector<std::int64_t> perm{1, 0};
  const Val matrix = is_quantized_head(context, weights)
                         ? dequantize(context, weights)
                         : graph::cast(context.x(weights), h.dtype());
  const Val w = has_class_rows(context) ? graph::transpose(matrix, perm) : matrix;
  const Val rows = b.node("Flatten", {h}, {{"axis", static_cast<std::int64_t>(h.rank()) - 1}});
  const Val labels = b.node("Reshape", {context.x(labels_input), b.int64s({-1})});
  const Val scores = graph::matmul(rows, w);
  const Val inputs[] = {scores, labels};
  const std::vector<Val> loss =
      b.nodes("SoftmaxCrossEntropyLoss", inputs, loss_attributes(context), 2);
  const Val dscores =
      b.node("SoftmaxCrossEntropyLossGrad", {graph::scalar_like(loss[0], 1), loss[1], labels},
             loss_attributes(context), ondine_domain);
  const Val dh = graph::matmul(dscores, graph::transpose(w, perm));
  Val logarithms =
      b.node("ReduceLogSumExp", {scores, b.int64s({1})}, {{"keepdims", std::int64_t{0}}});
  if (const Val counts = label_vals(context, labels).counts) {
    logarithms = graph::where(counts, logarithms, graph::scalar_like(logarithms, 0));
  }
  return {loss[0], graph::reshape_like(dh, h),
          graph::reshape_like(logarithms, context.x(labels_input))};
}

}  // namespace

extern const OpDef projected_cross_entropy{.name = "ProjectedCrossEntropy",
                                           .domain = ondine_domain,
                                           .infer = infer,
                                           .bind = bind,
                                           .grad = grad,
                                           .expand = expand,
                                           .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
