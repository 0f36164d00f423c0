#include "kernels/loss/head_matrix.h"

#include <algorithm>

#include "kernels/common/infer_checks.h"
#include "kernels/common/rounding.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

// Elements that are widened at once, about: an eighth of the matrix within these bounds; and the
// classes whose multiples a block has.
constexpr std::int64_t least_widened = std::int64_t{1} << 18, most_widened = std::int64_t{1} << 20;
constexpr std::int64_t class_step = 16;

}  // namespace

bool is_quantized_head(const NodeView& node, std::size_t index) {
  return node.has_input(index + 1) || is_packed_matrix(node);
}

Dims infer_head_matrix(const InferContext& context, std::size_t index) {
  if (!is_quantized_head(context, index)) {
    if (!is_float(context.dtype(index))) {
      context.reject("weights are ", context.dtype(index), " without a scale");
    }
    return dims_of_rank(context, index, 2, "weights");
  }
  check_dequantized(context, index);
  if (context.dtype(0) != DType::float32) {
    context.reject("rows are ", context.dtype(0), ", needed: float32 beside quantized weights");
  }
  if (!is_packed_matrix(context)) return dims_of_rank(context, index, 2, "weights");
  return *matrix_dims(context, index);
}

template <class C>
HeadMatrix<C>::HeadMatrix(BindContext& context, Scratch& scratch, std::size_t index, bool rounded)
    : classes_(matrix_shape(context, index)[has_class_rows(context) ? 0 : 1]),
      depth_(matrix_shape(context, index)[has_class_rows(context) ? 1 : 0]),
      class_rows_(has_class_rows(context)),
      storage_(storage_of<C>(context, index, rounded)),
      size_(classes_) {
  const DType dtype = context.dtype(index);
  const bool is_narrow =
      dtype == DType::float16 || (dtype == DType::bfloat16 && storage_ == math::Storage::plain);
  if (!is_narrow && !is_quantized_head(context, index)) {
    whole_.emplace(context, scratch, index, rounded);
    return;
  }
  const std::int64_t widened =
      std::clamp(checked_mul(classes_, depth_) / 8, least_widened, most_widened);
  const std::int64_t fit = widened / std::max<std::int64_t>(1, depth_);
  size_ = std::clamp<std::int64_t>(fit / class_step * class_step, class_step,
                                   std::max(class_step, classes_));
  blocks_ = std::max<std::int64_t>(1, math::divide_up(classes_, size_));
  stored_.emplace(context, scratch, index);
  block_at_ = scratch.add<C>(checked_mul(size_, depth_));
}

template <class C>
typename HeadMatrix<C>::Source HeadMatrix<C>::source(KernelContext& call) const {
  if (stored_) return {nullptr, stored_->source(call)};
  return {(*whole_)(call), {}};
}

template <class C>
math::Elements<const C> HeadMatrix<C>::read(KernelContext& call, const Source& source,
                                            std::int64_t block) const {
  if (!stored_) return source.whole;
  C* const to = Scratch::at<C>(call, block_at_);
  if constexpr (sizeof(C) == sizeof(float)) {
    const std::int64_t first = block * size_;
    const std::int64_t classes = std::min(size_, classes_ - first);
    const std::int64_t length = class_rows_ ? depth_ : classes;
    const std::int64_t step = class_rows_ ? depth_ : classes_;
    const std::int64_t origin = class_rows_ ? first * depth_ : first;
    const std::int64_t grain =
        std::max<std::int64_t>(1, convert_grain / std::max<std::int64_t>(1, length));
    call.pool().for_chunks(class_rows_ ? classes : depth_, grain,
                           [&](std::int64_t begin, std::int64_t end) {
                             for (auto i = begin; i < end; ++i) {
                               const std::int64_t at = origin + i * step;
                               stored_->read(to + i * length, source.stored, at, at + length);
                             }
                           });
  }
  return to;
}

template class HeadMatrix<float>;
template class HeadMatrix<double>;

}  // namespace ondine::kernels
