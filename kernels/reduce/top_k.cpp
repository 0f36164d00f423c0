// top_k.cpp — the k greatest (or least) elements along an axis with their indices, equal ones in
// the order of their indices, NaN counting as the greatest;  dx = zeros with dy at those indices. k
// is an attribute in version 1, an input from 10; 11 adds largest and sorted.
#include <algorithm>
#include <numeric>

#include "core/stop.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/kernel_scratch.h"
#include "kernels/common/op.h"
#include "kernels/reduce/axis_scan.h"

namespace ondine::kernels::ops {
namespace {

template <class Context>
IntegerParameter count_of(const Context& context) {
  if (context.version() >= 10) return IntegerParameter(context, 1);
  return IntegerParameter({context.attr_int("k", -1)});
}

std::int64_t checked_count(std::span<const std::int64_t> k) {
  if (k.size() != 1) fail(ErrorCode::mismatch, "k has ", k.size(), " elements, not one");
  if (k[0] < 0) fail(ErrorCode::mismatch, "k is ", k[0]);
  return k[0];
}

void infer(InferContext& context) {
  std::optional<Dims> dims = context.input(0).dims;
  const IntegerParameter k = count_of(context);
  if (dims) {
    const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", -1), dims->size());
    const Dim whole = (*dims)[axis];
    (*dims)[axis] = Dim();
    if (k.known()) {
      (*dims)[axis] = checked_count(k.values());
      if (whole.known() && (*dims)[axis].size() > whole.size()) {
        context.reject("k is ", (*dims)[axis].size(), ", above the axis size ", whole.size());
      }
    } else if (const auto given = context.known_dims(1); given && given->size() == 1) {
      (*dims)[axis] = (*given)[0];
    }
  }
  context.set_output(0, context.dtype(0), dims);
  context.set_output(1, DType::int64, dims);
}

constexpr std::int64_t max_chunks = 64;  // each has an index list in the workspace

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", -1), x.rank());
  const AxisView view(x, axis);
  const bool largest = context.attr_int("largest", 1) != 0;
  const IntegerParameter given = count_of(context);
  const Output values_out(context, 0);
  const Output indices_out(context, 1);
  const std::int64_t lines = view.outer * view.inner;
  const std::int64_t grain = std::max((lines + max_chunks - 1) / max_chunks,
                                      16384 / std::max<std::int64_t>(1, view.dim) + 1);
  Scratch scratch;
  scratch.add<std::int64_t>((lines + grain - 1) / grain * view.dim);
  scratch.request(context);
  return visit(context.dtype(0), Numbers{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const std::int64_t k = checked_count(given.read(call));
      if (k > view.dim) fail(ErrorCode::mismatch, "k is ", k, ", above the axis size ", view.dim);
      Shape shape = x;
      shape[axis] = k;
      T* values = values_out.memory<T>(call, shape);
      auto* indices = indices_out.memory<std::int64_t>(call, shape);
      if (view.dim == 0) return;  // lines without elements
      const T* from = call.in<T>(0);
      call.pool().for_chunks(lines, grain, [&](std::int64_t first, std::int64_t last) {
        std::int64_t* order = call.workspace<std::int64_t>() + first / grain * view.dim;
        for (auto line = first; line < last; ++line) {
          const T* row = from + line / view.inner * view.dim * view.inner + line % view.inner;
          const auto before = [&](std::int64_t a, std::int64_t b) {
            const auto left = load(row[a * view.inner]);
            const auto right = load(row[b * view.inner]);
            if (beats<true>(left, right)) return largest;
            if (beats<true>(right, left)) return !largest;
            return a < b;
          };
          std::iota(order, order + view.dim, 0);
          sort_checked(view.dim, before, [&](const auto& less) {
            std::partial_sort(order, order + k, order + view.dim, less);
          });
          const std::int64_t to = line / view.inner * k * view.inner + line % view.inner;
          for (std::int64_t i = 0; i < k; ++i) {
            if (values != nullptr) values[to + i * view.inner] = row[order[i] * view.inner];
            if (indices != nullptr) indices[to + i * view.inner] = order[i];
          }
        }
      });
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("ScatterElements", {zeros_like(g.x(0)), g.y(1), g.dy(0)},
                           {{"axis", g.attr_int("axis", -1)}})};
}

}  // namespace

extern const OpDef top_k{
    .name = "TopK", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
