// ProjectedCrossEntropy (ai.ondine): (loss, dh) of (h [..., depth], w, labels [...]). The loss is
// that of SoftmaxCrossEntropyLoss over the scores h w, reduced to one number; dh is its derivative
// by h. w is [depth, classes], or [classes, depth] where the attribute `transposed` is 1. Only rows
// of h whose label counts pass the product, some at a time, so that the scores of all rows are
// never in memory at once. dh is computed in the same pass, where it is read.
#include <algorithm>
#include <vector>

#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/stored_input.h"
#include "kernels/elementwise/vector.h"
#include "kernels/loss/loss.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/matmul/product_kernels.h"
#include "kernels/norm/softmax_primitive.h"

namespace ondine::kernels::ops {
namespace {

constexpr std::size_t weights = 1;
constexpr std::size_t labels_input = 2;

bool is_transposed(const NodeView& node) { return node.attr_int("transposed", 0) != 0; }

void infer(InferContext& context) {
  if (loss_reduction(context) == Reduction::none) context.reject("the loss must be reduced");
  const DType label_type = context.dtype(labels_input);
  if (label_type != DType::int32 && label_type != DType::int64) {
    context.reject("labels must be int32 or int64, found ", label_type);
  }
  const Dims w = dims_of_rank(context, weights, 2, "weights");
  if (context.ranked(0)) {
    const Dims& h = context.dims(0);
    if (h.size() < 2) context.reject("rows need rank 2 or more, found ", to_string(h));
    unify(h.back(), w[is_transposed(context) ? 1 : 0], "depth of rows and weights");
    if (context.ranked(labels_input)) {
      const Dims& labels = context.dims(labels_input);
      if (labels.size() + 1 != h.size()) {
        context.reject("labels ", to_string(labels), " do not fit rows ", to_string(h));
      }
      for (std::size_t i = 0; i < labels.size(); ++i) unify(labels[i], h[i], "rows and labels");
    }
  }
  context.set_output(0, context.dtype(0), Dims{});
  context.set_output(1, context.input(0));
}

// Numbers of rows that are computed at once: multiples of this, of which bits do not depend.
constexpr std::int64_t row_step = 16;
static_assert(row_step >= math::least_rounded);
constexpr std::int64_t most_rows = 128;
constexpr std::int64_t most_bytes = std::int64_t{32} << 20;  // of scores

// Primitives that compute one number of rows.
template <class C>
struct RowsAtOnce {
  math::GemmPrimitive<C> forward;
  math::GemmPrimitive<C> backward;
  math::SoftmaxPrimitive<C> log_softmax;
};

template <class C>
class ProjectedLoss {
 public:
  explicit ProjectedLoss(BindContext& context)
      : shape_(context, Shape{context.shape(labels_input).size(), classes_of(context)}),
        depth_(context.shape(0).span().back()),
        int64_labels_(context.dtype(labels_input) == DType::int64),
        kernels_(&product_kernels(context)),
        v_(&math::vector_kernels<C>()) {
    const bool rounds =
        math::GemmPrimitive<C>::takes_bf16(forward_shape(context, row_step), *kernels_);
    Scratch scratch;
    h_.emplace(context, scratch, 0);
    w_.emplace(context, scratch, weights, rounds);
    w_stored_ = w_->storage();
    loss_.emplace(context, scratch, 0, 1);
    dh_.emplace(context, scratch, 1, shape_.labels() * depth_);
    make_steps(context);
    rows_ = scratch.add<C>(largest_ * depth_);
    scores_ = scratch.add<C>(largest_ * shape_.classes);
    counted_ = scratch.add<std::int64_t>(shape_.labels());
    work_ = scratch.add_bytes(work_bytes_);
    context.set_implementation(steps_.back().forward.name(), steps_.back().forward.isa());
    scratch.request(context);
  }

  void operator()(KernelContext& call) const {
    const Labels labels{call.in<void>(labels_input), int64_labels_, &shape_};
    auto* const counted = Scratch::at<std::int64_t>(call, counted_);
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < shape_.labels(); ++i) {
      if (labels[i] >= 0) counted[count++] = i;
    }
    const bool is_mean = shape_.reduction == Reduction::mean;
    const C* const h = (*h_)(call);
    const math::Elements<const C> w = (*w_)(call);
    C* const dh = dh_->data(call);
    if (dh != nullptr) std::fill_n(dh, shape_.labels() * depth_, C{0});
    double sum = 0;
    for (std::int64_t first = 0; first < count; first += largest_) {
      const std::int64_t size = std::min(largest_, count - first);
      const Part part{{counted + first, static_cast<std::size_t>(size)},
                      h,
                      w,
                      dh,
                      is_mean ? C{1} / static_cast<C>(count) : C{1}};
      sum += run(call, labels, part);
    }
    *loss_->data(call) = static_cast<C>(is_mean ? sum / static_cast<double>(count) : sum);
    loss_->store(call);
    if (dh != nullptr) dh_->store(call);
  }

 private:
  struct Part {
    std::span<const std::int64_t> rows;  // of h, which count
    const C* h;
    math::Elements<const C> w;
    C* dh;  // null: nobody reads it
    C scale;
  };

  static std::int64_t classes_of(const BindContext& context) {
    return context.shape(weights)[is_transposed(context) ? 0 : 1];
  }

  math::GemmShape forward_shape(const BindContext& context, std::int64_t rows) const {
    return {.m = rows,
            .n = shape_.classes,
            .k = depth_,
            .trans_b = is_transposed(context),
            .b_stored = w_stored_};
  }

  void make_steps(const BindContext& context) {
    const std::int64_t row_bytes =
        std::max<std::int64_t>(1, shape_.classes) * static_cast<std::int64_t>(sizeof(C));
    const std::int64_t fit = std::clamp(most_bytes / row_bytes, row_step, most_rows);
    const std::int64_t wanted = std::min(fit, std::max<std::int64_t>(1, shape_.labels()));
    for (std::int64_t rows = row_step; rows < wanted + row_step; rows += row_step) {
      const math::GemmShape forward = forward_shape(context, rows);
      const math::GemmShape backward{.m = rows,
                                     .n = depth_,
                                     .k = shape_.classes,
                                     .trans_b = !forward.trans_b,
                                     .b_stored = w_stored_};
      steps_.push_back({math::GemmPrimitive<C>(forward, 1, context.threads(), *kernels_),
                        math::GemmPrimitive<C>(backward, 1, context.threads(), *kernels_),
                        math::SoftmaxPrimitive<C>({rows, shape_.classes, 1, true, false})});
      work_bytes_ = std::max(
          {work_bytes_, steps_.back().forward.workspace(), steps_.back().backward.workspace()});
    }
    largest_ = std::min<std::int64_t>(std::ssize(steps_) * row_step, fit / row_step * row_step);
  }

  // The sum of the losses of some rows; writes their dh.
  double run(KernelContext& call, const Labels& labels, const Part& part) const {
    const auto size = std::ssize(part.rows);
    const RowsAtOnce<C>& step =
        steps_[static_cast<std::size_t>((size + row_step - 1) / row_step - 1)];
    C* const rows = Scratch::at<C>(call, rows_);
    C* const scores = Scratch::at<C>(call, scores_);
    auto* const work = Scratch::at<std::byte>(call, work_);
    for (std::int64_t i = 0; i < size; ++i) {
      std::copy_n(part.h + part.rows[static_cast<std::size_t>(i)] * depth_, depth_,
                  rows + i * depth_);
    }
    const std::int64_t padded = (size + row_step - 1) / row_step * row_step;
    std::fill(rows + size * depth_, rows + padded * depth_, C{0});
    step.forward.run(call.pool(), {}, rows, part.w, scores, {}, work);
    step.log_softmax.run(call.pool(), {.x = scores, .result = scores});
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t label = labels[part.rows[static_cast<std::size_t>(i)]];
      sum -= static_cast<double>(scores[i * shape_.classes + label]);
    }
    if (part.dh == nullptr) return sum;
    differentiate(call, labels, part, scores);
    step.backward.run(call.pool(), {}, scores, part.w, rows, {}, work);
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
  bool int64_labels_;
  math::Storage w_stored_ = math::Storage::plain;
  const math::SimdTables* kernels_;
  const math::VectorKernels<C>* v_;
  std::optional<ComputeIn<C>> h_;
  std::optional<StoredIn<C>> w_;
  std::optional<ComputeOut<C>> loss_;
  std::optional<ComputeOut<C>> dh_;
  std::vector<RowsAtOnce<C>> steps_;  // of row_step rows, of twice as many, ...
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
  if (g.dy(1) || g.wants(weights)) return grad_of_expansion(g);
  std::vector<Val> result(3);
  if (g.wants(0) && g.dy(0)) result[0] = g.y(1) * g.dy(0);
  return result;
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val h = context.x(0);
  const std::vector<std::int64_t> perm{1, 0};
  const Val stored = context.x(weights);
  const Val matrix = stored.dtype() == h.dtype() ? stored : graph::cast(stored, h.dtype());
  const Val w = is_transposed(context) ? graph::transpose(matrix, perm) : matrix;
  const Val rows = b.node("Flatten", {h}, {{"axis", static_cast<std::int64_t>(h.rank()) - 1}});
  const Val labels = b.node("Reshape", {context.x(labels_input), b.int64s({-1})});
  const Val inputs[] = {graph::matmul(rows, w), labels};
  const std::vector<Val> loss =
      b.nodes("SoftmaxCrossEntropyLoss", inputs, loss_attributes(context), 2);
  const Val dscores =
      b.node("SoftmaxCrossEntropyLossGrad", {graph::scalar_like(loss[0], 1), loss[1], labels},
             loss_attributes(context), ondine_domain);
  const Val dh = graph::matmul(dscores, graph::transpose(w, perm));
  return {loss[0], graph::reshape_like(dh, h)};
}

}  // namespace

extern const OpDef projected_cross_entropy{.name = "ProjectedCrossEntropy",
                                           .domain = ondine_domain,
                                           .infer = infer,
                                           .bind = bind,
                                           .grad = grad,
                                           .expand = expand,
                                           .no_gradient = 0b100};

}  // namespace ondine::kernels::ops
