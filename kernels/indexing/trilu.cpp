// trilu.cpp — y = x on and above (upper) or below its k-th diagonal, 0 elsewhere, for the last two
// axes;  dx = the same of dy.
#include <algorithm>

#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  if (context.ranked(0) && context.rank(0) < 2) {
    context.reject("Trilu of a tensor of rank ", context.rank(0));
  }
  context.set_output(0, context.input(0));
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const bool upper = context.attr_int("upper", 1) != 0;
  const bool shifted = context.has_input(1);
  if (shifted && (context.shape(1).size() != 1 || context.dtype(1) != DType::int64)) {
    fail(ErrorCode::mismatch, "k has shape ", context.shape(1), " and dtype ", context.dtype(1));
  }
  const std::int64_t columns = x.back();
  const std::int64_t rows = x[x.rank() - 2];
  const std::int64_t all = columns == 0 ? 0 : x.size() / columns;
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, columns));
  return visit_size(context.dtype(0), [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      // Diagonals outside of the matrix are equivalent.
      const std::int64_t k =
          std::clamp(shifted ? *call.in<std::int64_t>(1) : 0, -rows - 1, columns + 1);
      const T* from = call.in<T>(0);
      T* to = call.out<T>(0);
      call.pool().for_chunks(all, grain, [&](std::int64_t first, std::int64_t last) {
        for (auto r = first; r < last; ++r) {
          const T* source = from + r * columns;
          T* target = to + r * columns;
          // Elements [begin, end) of the row are kept.
          const std::int64_t diagonal = r % rows + k;
          const std::int64_t begin = upper ? std::clamp<std::int64_t>(diagonal, 0, columns) : 0;
          const std::int64_t end =
              upper ? columns : std::clamp<std::int64_t>(diagonal + 1, 0, columns);
          std::fill(target, target + begin, T());
          if (source != target) std::copy(source + begin, source + end, target + begin);
          std::fill(target + end, target + columns, T());
        }
      });
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("Trilu", {g.dy(0), g.x(1)}, {{"upper", g.attr_int("upper", 1)}})};
}

}  // namespace

extern const OpDef trilu{.name = "Trilu",
                         .infer = infer,
                         .bind = bind,
                         .grad = grad,
                         .traits = {.inplace = 1, .cheap = true},
                         .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
