// adam_update.cpp — ai.ondine GemmAdam(R, T, X, V, H, A, B, dy, indices, decay): Adam of one
// variable X [m, n] with the gradient op(A) op(B), to which the rows of dy are added at their
// indices where given, as GatherGrad does. Where given, decay X is taken off the new X. The
// gradient is computed for a strip of rows at a time, each just before its update, so that it is
// never held as a whole and its elements are still in a cache. Attributes: those of Adam, transA
// and transB. The results have the bits of Gemm, GatherGrad, Adam and SgdUpdate.
#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/common/rounding.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/common/stored_input.h"
#include "kernels/common/workspace.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/matmul/packed_gemm.h"
#include "kernels/matmul/rounded_factors.h"
#include "kernels/matmul/sgd_product.h"
#include "kernels/optimizer/update_node.h"

namespace ondine::kernels::ops {
namespace {

constexpr std::size_t x_in = 2, a_in = 5, b_in = 6, dy_in = 7, indices_in = 8, decay_in = 9;

void infer(InferContext& context) { infer_adam_parts(context, decay_in); }

// Rows of a strip of few MB. Threads get equally many strips, unless these had few rows then. The
// last strip has enough rows for its product to be computed like those of others.
std::int64_t strip_rows(std::int64_t m, std::int64_t n, std::size_t element, std::int64_t threads) {
  constexpr std::int64_t step = 48, least = 192;
  constexpr std::int64_t most_bytes = std::int64_t{4} << 20, most_together = 4 * most_bytes;
  const std::int64_t bytes = std::min(most_bytes, most_together / threads);
  const std::int64_t row = std::max<std::int64_t>(1, n * static_cast<std::int64_t>(element));
  const std::int64_t most_rows = std::max<std::int64_t>(1, bytes / row / step) * step;
  const auto rows_of = [m](std::int64_t strips) {
    return math::divide_up(math::divide_up(m, strips), step) * step;
  };
  const std::int64_t strips = std::max<std::int64_t>(1, math::divide_up(m, most_rows));
  std::int64_t rows = rows_of(math::divide_up(strips, threads) * threads);
  if (rows < std::min(least, most_rows)) rows = rows_of(strips);
  while (rows < m && m % rows > 0 && m % rows < step) rows += step;
  return std::min(rows, m);
}

template <class T>
class Strips {
 public:
  Strips(BindContext& context, math::GemmShape shape)
      : shape_(strip_of(shape, context.threads())),
        m_(shape.m),
        rows_(shape_.m),
        strips_(math::divide_up(m_, std::max<std::int64_t>(1, rows_))),
        apart_(strips_ % context.threads() == 0 || strips_ >= 2 * context.threads()),
        kernels_(&math::simd_tables(context.precision())),
        adam_(context, decay_in, rows_ * shape_.n),
        product_(shape_, 1, product_threads(context), *kernels_),
        packs_(apart_ && strips_ > 1 && !product_.splits() &&
               std::min(shape.n, shape.k) >= math::least_rounded),
        rest_(rest_of(shape_, m_), 1, product_threads(context), *kernels_) {
    index_bytes_ = math::align_up(update_.index_bytes());
    const auto place = [&](std::size_t bytes) {
      return std::exchange(slot_bytes_, slot_bytes_ + math::align_up(bytes));
    };
    gradient_ = place(static_cast<std::size_t>(rows_ * shape_.n) * sizeof(T));
    unused_ = place(adam_.unused_bytes());
    work_ = place(packs_ ? math::packed_gemm_scratch<T>(shape_, *kernels_)
                         : std::max(product_.workspace(), rest_.workspace()));
    if (packs_) {
      const std::int64_t elements = math::packed_elements<T>(shape.n, shape.k, *kernels_);
      packed_bytes_ = math::align_up(static_cast<std::size_t>(elements) * sizeof(T));
    }
    slots_ = math::ScratchPool::bytes(slot_bytes_, apart_ ? context.threads() : 1);
    context.request_workspace(index_bytes_ + packed_bytes_ + slots_);
    context.set_implementation(product_.name(), product_.isa());
  }

  void operator()(KernelContext& call) const {
    const math::Adam<T> options = adam_.options(call);
    const std::int64_t* index = indices_ ? indices_->read_unchecked(call, m_) : nullptr;
    auto* const slots = call.workspace<std::byte>() + index_bytes_ + packed_bytes_;
    if (packs_) math::pack(call.pool(), shape_, b_of(call), packed_b(call), *kernels_);
    if (!apart_) {
      for (std::int64_t i = 0; i < strips_; ++i) run_strip(call, index, i, slots);
      return;
    }
    // A task runs all that it calls on its own thread, where the gradient stays in a cache.
    math::ScratchPool({slots, slots_}, slot_bytes_)
        .for_chunks(call.pool(), strips_, 1,
                    [&](std::byte* slot, std::int64_t first, std::int64_t last) {
                      for (auto i = first; i < last; ++i) run_strip(call, index, i, slot);
                    });
  }

 private:
  int product_threads(const BindContext& context) const { return apart_ ? 1 : context.threads(); }

  void run_strip(KernelContext& call, const std::int64_t* index, std::int64_t strip,
                 std::byte* slot) const {
    T* const gradient = reinterpret_cast<T*>(slot + gradient_);
    const std::int64_t first = strip * rows_;
    const std::int64_t last = std::min(m_, first + rows_);
    const std::int64_t at_a = first * (shape_.trans_a ? 1 : shape_.k);
    const math::Elements<const T> a = elements_in<T>(call, a_in, shape_.a_stored) + at_a;
    multiply(call, a, last - first, gradient, slot + work_);
    if (indices_) add_rows(call, index, first, last, gradient);
    adam_.update(call, options, first * shape_.n, (last - first) * shape_.n, gradient,
                 slot + unused_);
  }

  math::Elements<const T> b_of(KernelContext& call) const {
    return elements_in<T>(call, b_in, shape_.b_stored);
  }
  T* packed_b(KernelContext& call) const {
    return reinterpret_cast<T*>(call.workspace<std::byte>() + index_bytes_);
  }

  void multiply(KernelContext& call, math::Elements<const T> a, std::int64_t rows, T* gradient,
                std::byte* work) const {
    if (!packs_) {
      const math::GemmPrimitive<T>& product = rows == rows_ ? product_ : rest_;
      return product.run(call.pool(), {}, a, b_of(call), gradient, {}, work);
    }
    math::GemmShape shape = shape_;
    shape.m = rows;
    math::packed_gemm<T>(shape, a, packed_b(call), gradient, {}, work, *kernels_);
  }

  static math::GemmShape strip_of(math::GemmShape shape, std::int64_t threads) {
    shape.lda = shape.trans_a ? shape.m : shape.k;
    shape.whole_m = shape.m;
    shape.m = strip_rows(shape.m, shape.n, sizeof(T), threads);
    return shape;
  }
  static math::GemmShape rest_of(math::GemmShape strip, std::int64_t m) {
    if (strip.m > 0) strip.m = m % strip.m;
    return strip;
  }

  math::GemmShape shape_;  // of a strip
  std::int64_t m_;
  std::int64_t rows_;
  std::int64_t strips_;
  bool apart_;  // each strip on one thread
  const math::SimdTables* kernels_;
  AdamParts<T> adam_;
  math::GemmPrimitive<T> product_;
  bool packs_;                   // B, once for all strips
  math::GemmPrimitive<T> rest_;  // of the last strip, if it has fewer rows
  // The workspace: the indices, packed B, then slots of strips.
  std::size_t index_bytes_ = 0, packed_bytes_ = 0, slots_ = 0, slot_bytes_ = 0;
  std::size_t gradient_ = 0, unused_ = 0;
  std::size_t work_ = 0;
};

Kernel bind(BindContext& context) {
  const UpdateNode node(context, sources);
  const Shape x = context.shape(node.variable);
  const bool trans_a = context.attr_int("transA", 0) != 0;
  const bool trans_b = context.attr_int("transB", 0) != 0;
  const Shape a = context.shape(a_in), b = context.shape(b_in);
  math::GemmShape shape{.m = a[trans_a ? 1 : 0],
                        .n = b[trans_b ? 0 : 1],
                        .k = a[trans_a ? 0 : 1],
                        .trans_a = trans_a,
                        .trans_b = trans_b};
  if (!(x == Shape{shape.m, shape.n}) || b[trans_b ? 1 : 0] != shape.k) {
    fail(ErrorCode::mismatch, "factors ", a, " and ", b, " give no gradient of ", x);
  }
  return visit(context.dtype(node.variable), Types<float, double>{}, [&]<class T>() -> Kernel {
    // A plan stores factors in bfloat16 only where the product takes them.
    shape.a_stored = storage_of<T>(context, a_in);
    shape.b_stored = storage_of<T>(context, b_in);
    if (!node.rule->is_sink()) {
      return bind_sgd_product<T>(context, shape, node.variable, node.inputs.at(2), a_in);
    }
    return Strips<T>(context, shape);
  });
}

std::vector<Val> expand(ExpandContext& context) {
  const Val gradient = context.builder().node(
      "Gemm", {context.x(a_in), context.x(b_in)},
      {{"transA", context.attr_int("transA", 0)}, {"transB", context.attr_int("transB", 0)}});
  if (context.x(dy_in)) {
    gradient = b.node(
        "GatherGrad",
        {context.x(dy_in), context.x(indices_in), graph::shape_of(context.x(x_in)), gradient},
        {{"axis", std::int64_t{0}}}, ondine_domain);
  }
  return expand_adam_parts(context, gradient, decay_in);
}

}  // namespace

extern const OpDef gemm_update{.name = "GemmUpdate",
                               .domain = ondine_domain,
                               .infer = infer,
                               .bind = bind,
                               .grad = grad_of_expansion,
                               .expand = expand,
                               .traits = {.inplace = any_input << (source_in + sources),
                                          .cannot_fail = true,
                                          .inplace_every_output = true},
                               .rounded = rounds_factors<a_in>};

}  // namespace ondine::kernels::ops
