// product_update.cpp — GemmUpdate (ai.ondine), an update of a variable [m, n] (update_node.h) with
// the gradient op(A) op(B) of the sources A and B. It is computed for a strip of rows at a time,
// each just before its update, so that its elements are still in a cache. Attributes of the
// gradient: transA, transB. The results have the bits of Gemm, GatherGrad and the optimizer; a
// SgdUpdate, which takes no rows of dy, agrees with its product up to rounding.
#include <algorithm>
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

enum Input : std::size_t { a_in = source_in, b_in };
constexpr std::size_t sources = 2;

// A step down a product is an epilogue of that.
bool is_epilogue(const UpdateNode& node) { return node.rule == &sgd_update_rule; }

void infer(InferContext& context) {
  infer_update(context, sources);
  if (is_epilogue(UpdateNode(context, sources)) && context.has_input(dy_in)) {
    context.reject("a SgdUpdate by a product takes no rows of dy");
  }
}

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
        update_(context, UpdateNode(context, sources)),
        product_(shape_, 1, product_threads(context), *kernels_),
        packs_(apart_ && strips_ > 1 && !product_.splits() &&
               std::min(shape.n, shape.k) >= math::least_rounded),
        rest_(rest_of(shape_, m_), 1, product_threads(context), *kernels_) {
    index_bytes_ = update_.index_bytes();
    math::Parts slot;
    gradient_ = slot.add<T>(checked_mul(rows_, shape_.n));
    unused_ = slot.add_bytes(update_.unused_bytes(rows_ * shape_.n));
    work_ = slot.add_bytes(packs_ ? math::packed_gemm_scratch<T>(shape_, *kernels_)
                                  : std::max(product_.workspace(), rest_.workspace()));
    if (packs_) {
      packed_bytes_ = math::bytes_of<T>(math::packed_elements<T>(shape.n, shape.k, *kernels_));
    }
    slot_bytes_ = slot.bytes();
    slots_ = math::ScratchPool::bytes(slot_bytes_, apart_ ? context.threads() : 1);
    context.request_workspace(index_bytes_ + packed_bytes_ + slots_);
    context.set_implementation(product_.name(), product_.isa());
  }

  void operator()(KernelContext& call) const {
    const std::int64_t* index = update_.read_indices(call, m_);
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
    update_.add_rows(call, index, first, last, shape_.n, gradient);
    update_.take(call, first * shape_.n, (last - first) * shape_.n, gradient,
                 reinterpret_cast<T*>(slot + unused_));
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
  UpdateParts<T> update_;
  math::GemmPrimitive<T> product_;
  bool packs_;                   // B, once for all strips
  math::GemmPrimitive<T> rest_;  // of the last strip, if it has fewer rows
  // The workspace: the indices, packed B, then slots of strips.
  std::size_t index_bytes_ = 0, packed_bytes_ = 0, slots_ = 0, slot_bytes_ = 0;
  std::size_t gradient_ = 0, unused_ = 0, work_ = 0;
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
    if (is_epilogue(node)) {
      return bind_sgd_product<T>(context, shape, node.variable, node.inputs.at(2), a_in);
    }
    return Strips<T>(context, shape);
  });
}

std::vector<Val> expand(ExpandContext& context) {
  const graph::Attributes attributes{{"transA", context.attr_int("transA", 0)},
                                     {"transB", context.attr_int("transB", 0)}};
  const Val gradient =
      context.builder().node("Gemm", {context.x(a_in), context.x(b_in)}, attributes);
  return expand_update(context, sources, gradient, attributes);
}

}  // namespace

extern const OpDef gemm_update{.name = "GemmUpdate",
                               .domain = ondine_domain,
                               .infer = infer,
                               .bind = bind,
                               .grad = grad_of_expansion,
                               .expand = expand,
                               .traits = update_traits(sources),
                               .rounded = rounds_factors<a_in>};

}  // namespace ondine::kernels::ops
