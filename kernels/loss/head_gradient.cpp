#include "kernels/loss/head_gradient.h"

#include <algorithm>
#include <utility>

#include "core/stop.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/rounding.h"
#include "kernels/elementwise/vector.h"
#include "kernels/matmul/product_kernels.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

// Classes of a block and rows at once, the sizes on which sums depend: a block of w, its
// derivative and scores stay in a cache.
constexpr std::int64_t most_classes = 512;
constexpr std::int64_t most_rows = 256;
constexpr std::int64_t row_step = 32;
static_assert(row_step >= math::least_rounded && most_rows % row_step == 0);

std::int64_t rows_at_once(std::int64_t labels) {
  return std::clamp(math::round_up(labels, row_step), row_step, most_rows);
}

}  // namespace

Attributes head_attributes(const NodeView& node) {
  Attributes attributes = loss_attributes(node);
  attributes.emplace_back("transposed", std::int64_t{has_class_rows(node)});
  return attributes;
}

std::optional<Dims> infer_head(const InferContext& context, std::size_t h, const Dims& w,
                               std::size_t labels) {
  if (loss_reduction(context) == LossReduction::none) context.reject("the loss must be reduced");
  const DType label_type = context.dtype(labels);
  if (label_type != DType::int32 && label_type != DType::int64) {
    context.reject("labels must be int32 or int64, found ", label_type);
  }
  std::optional<Dims> result;
  if (context.ranked(labels)) result = context.dims(labels);
  if (!context.ranked(h)) return result;
  const Dims& rows = context.dims(h);
  if (rows.size() < 2) context.reject("rows need rank 2 or more, found ", to_string(rows));
  unify(rows.back(), w[has_class_rows(context) ? 1 : 0], "depth of rows and weights");
  if (!result) return Dims(rows.begin(), rows.end() - 1);
  if (result->size() + 1 != rows.size()) {
    context.reject("labels ", to_string(*result), " do not fit rows ", to_string(rows));
  }
  for (std::size_t i = 0; i < result->size(); ++i) {
    (*result)[i] = unify((*result)[i], rows[i], "rows and labels");
  }
  return result;
}

template <class C>
std::int64_t HeadGradient<C>::most_elements(const NodeView& node, const Shape& w) {
  const bool class_rows = has_class_rows(node);
  return checked_mul(std::min(most_classes, w[class_rows ? 0 : 1]), w[class_rows ? 1 : 0]);
}

template <class C>
HeadGradient<C>::HeadGradient(BindContext& context, Scratch& scratch, const HeadInputs& inputs,
                              std::size_t extra, bool checks)
    : inputs_(inputs),
      shape_(context, Shape{context.shape(inputs.labels).size(),
                            context.shape(inputs.w)[has_class_rows(context) ? 0 : 1]}),
      depth_(context.shape(inputs.h).span().back()),
      class_rows_(has_class_rows(context)),
      int64_labels_(context.dtype(inputs.labels) == DType::int64),
      checks_(checks),
      dloss_(context, scratch, inputs.dloss),
      h_(context, scratch, inputs.h),
      w_(context, scratch, inputs.w),
      logarithms_(context, scratch, inputs.logarithms),
      blocks_(math::divide_up(shape_.classes, most_classes)) {
  make_products(context);
  const std::int64_t padded = math::round_up(shape_.labels(), row_step);
  rows_at_ = scratch.add<C>(checked_mul(padded, depth_));
  logarithms_at_ = scratch.add<C>(padded);
  labels_at_ = scratch.add<std::int64_t>(shape_.labels());
  const std::int64_t classes = std::min(most_classes, shape_.classes);
  math::Parts slot;
  slot.add<C>(checked_mul(classes, depth_));
  scores_at_ = slot.add<C>(checked_mul(classes, rows_at_once(shape_.labels())));
  work_at_ = slot.add_bytes(work_);
  extra_at_ = slot.add_bytes(extra);
  slot_ = slot.bytes();
  slots_ = math::ScratchPool::bytes(slot_, context.threads());
  slots_at_ = scratch.add_bytes(slots_);
}

template <class C>
void HeadGradient<C>::make_products(const BindContext& context) {
  const math::SimdTables& kernels = math::simd_tables(
      may_round(context.dtype(inputs_.h)) ? context.precision() : Precision::float32);
  const std::int64_t classes[] = {block_size(blocks_ - 1), std::min(most_classes, shape_.classes)};
  for (std::int64_t rows = row_step; rows <= rows_at_once(shape_.labels()); rows += row_step) {
    const auto products = [&](std::int64_t size) -> Products {
      Products both{math::GemmPrimitive<C>({.m = size,
                                            .n = rows,
                                            .k = depth_,
                                            .trans_a = !class_rows_,
                                            .trans_b = true,
                                            .lda = class_rows_ ? 0 : shape_.classes,
                                            .whole_m = shape_.classes},
                                           1, 1, kernels),
                    math::GemmPrimitive<C>({.m = class_rows_ ? size : depth_,
                                            .n = class_rows_ ? depth_ : size,
                                            .k = rows,
                                            .trans_a = !class_rows_,
                                            .trans_b = !class_rows_,
                                            .whole_m = class_rows_ ? shape_.classes : 0,
                                            .whole_n = class_rows_ ? 0 : shape_.classes},
                                           1, 1, kernels)};
      work_ = std::max({work_, both.scores.workspace(), both.derivative.workspace()});
      return both;
    };
    products_.push_back({products(classes[0]), products(classes[1])});
  }
}

template <class C>
std::int64_t HeadGradient<C>::block_size(std::int64_t block) const {
  return std::clamp<std::int64_t>(shape_.classes - block * most_classes, 0, most_classes);
}

template <class C>
typename HeadGradient<C>::Rows HeadGradient<C>::gather(KernelContext& call) const {
  const Labels labels{call.in<void>(inputs_.labels), int64_labels_, &shape_};
  const C* const h = h_(call);
  const C* const logarithms = logarithms_(call);
  C* const rows = Scratch::at<C>(call, rows_at_);
  C* const own = Scratch::at<C>(call, logarithms_at_);
  auto* const classes = Scratch::at<std::int64_t>(call, labels_at_);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < shape_.labels(); ++i) {
    const std::int64_t label = checks_ ? labels[i] : labels.unchecked(i);
    if (label < 0) continue;
    std::copy_n(h + i * depth_, depth_, rows + count * depth_);
    own[count] = logarithms[i];
    classes[count++] = label;
  }
  const std::int64_t padded = math::round_up(count, row_step);
  std::fill(rows + count * depth_, rows + padded * depth_, C{0});
  std::fill(own + count, own + padded, C{0});
  const C dloss = *dloss_(call);
  const bool is_mean = shape_.reduction == LossReduction::mean;
  return {rows, own, classes, count, is_mean ? dloss / static_cast<C>(count) : dloss};
}

template <class C>
HeadBlock<C> HeadGradient<C>::differentiate(KernelContext& call, const Rows& rows, const C* w,
                                            std::int64_t block, std::byte* slot) const {
  auto* const derivative = reinterpret_cast<C*>(slot);
  auto* const scores = reinterpret_cast<C*>(slot + scores_at_);
  const std::int64_t classes = block_size(block);
  if (rows.count == 0) std::fill_n(derivative, classes * depth_, C{0});
  const C* const own = w + block * most_classes * (class_rows_ ? depth_ : 1);
  const math::Workspace work{slot + work_at_, work_};
  for (std::int64_t first = 0; first < rows.count; first += most_rows) {
    check_stop();
    const std::int64_t padded = math::round_up(std::min(most_rows, rows.count - first), row_step);
    const Products& products =
        products_[static_cast<std::size_t>(padded / row_step - 1)][classes == most_classes ? 1 : 0];
    const C* const h = rows.h + first * depth_;
    products.scores.run(call.pool(), {}, own, h, scores, {}, work);
    differentiate_scores(rows, first, padded, block, scores);
    const math::GemmOptions<C> options{.beta = first == 0 ? C{0} : C{1}};
    const C* const factors[] = {scores, h};
    products.derivative.run(call.pool(), {}, factors[class_rows_ ? 0 : 1],
                            factors[class_rows_ ? 1 : 0], derivative, options, work);
  }
  const std::int64_t at = block * most_classes;
  if (class_rows_) return {derivative, 1, classes * depth_, at * depth_, 0, at, classes};
  return {derivative, depth_, classes, at, shape_.classes, at, classes};
}

// Scores [classes, rows] become derivatives of the loss by them.
template <class C>
void HeadGradient<C>::differentiate_scores(const Rows& rows, std::int64_t first_row,
                                           std::int64_t padded, std::int64_t block,
                                           C* scores) const {
  const math::VectorKernels<C>& v = math::vector_kernels<C>();
  const std::int64_t classes = block_size(block);
  for (std::int64_t i = 0; i < classes; ++i) {
    C* const row = scores + i * padded;
    v.sub.vv(row, row, rows.logarithms + first_row, padded);
    v.exp(row, row, padded);
    v.scale(row, row, rows.scale, padded);
  }
  const std::int64_t last_row = std::min(rows.count, first_row + padded);
  for (auto i = first_row; i < last_row; ++i) {
    const std::int64_t label = rows.labels[i] - block * most_classes;
    if (label >= 0 && label < classes) scores[label * padded + i - first_row] -= rows.scale;
  }
}

template class HeadGradient<float>;
template class HeadGradient<double>;

}  // namespace ondine::kernels
