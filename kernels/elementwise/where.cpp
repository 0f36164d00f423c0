// where.cpp — y = condition ? a : b with broadcasting, of every dtype;
// da = dy where condition, db = dy where not, each summed over what was broadcast.
#include <complex>
#include <string>
#include <type_traits>

#include "kernels/common/op.h"
#include "kernels/elementwise/elementwise.h"

namespace ondine::kernels::ops {
namespace {

// Words are selected without branches, by masks with all bits set or none.
template <class T>
T select(bool condition, const T& a, const T& b) {
  if constexpr (std::is_unsigned_v<T>) {
    const auto mask = static_cast<T>(T{0} - static_cast<T>(condition));
    return static_cast<T>((a & mask) | (b & static_cast<T>(~mask)));
  } else {
    return condition ? a : b;
  }
}

template <class T>
void select_row(const Row& row) {
  const bool* condition = row.in<bool>(0);
  const T* a = row.in<T>(1);
  const T* b = row.in<T>(2);
  T* y = row.out<T>();
  const std::int64_t n = row.n;
  const std::int64_t a_step = row.repeated[1] ? 0 : 1;
  const std::int64_t b_step = row.repeated[2] ? 0 : 1;
  if (row.repeated[0]) {
    const T* source = *condition ? a : b;
    const std::int64_t step = *condition ? a_step : b_step;
    if (source == y && step == 1) return;
    for (std::int64_t i = 0; i < n; ++i) y[i] = source[i * step];
  } else if (a_step == 1 && b_step == 1) {
#pragma GCC ivdep  // y may be a or b
    for (std::int64_t i = 0; i < n; ++i) y[i] = select(condition[i], a[i], b[i]);
  } else if (a_step == 1) {
    const T other = *b;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) y[i] = select(condition[i], a[i], other);
  } else {
    const T first = *a;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) y[i] = select(condition[i], first, b[i * b_step]);
  }
}

RowFunction pick(DType dtype) {
  if (dtype == DType::string) return select_row<std::string>;
  switch (size_of(dtype)) {
    case 1:
      return select_row<std::uint8_t>;
    case 2:
      return select_row<std::uint16_t>;
    case 4:
      return select_row<std::uint32_t>;
    case 8:
      return select_row<std::uint64_t>;
    default:
      return select_row<std::complex<double>>;
  }
}

void infer(InferContext& context) {
  if (context.dtype(1) != context.dtype(2)) {
    context.reject("inputs 1 and 2 differ in dtype: ", context.dtype(1), " and ", context.dtype(2));
  }
  context.set_output(0, context.dtype(1), broadcast_inputs(context));
}

Kernel bind(BindContext& context) {
  Elementwise what;
  what.row = pick(context.dtype(1));
  what.out = *context.output_shape(0);
  for (std::size_t i = 0; i < 3; ++i) what.operands.push_back({i, context.shape(i)});
  return elementwise(context, what);
}

std::vector<Val> grad(GradContext& g) {
  const Val dy = g.dy(0);
  const Val zero = scalar_like(dy, 0);
  Val da;
  Val db;
  if (g.wants(1)) da = graph::sum_to(where(g.x(0), dy, zero), g.x(1));
  if (g.wants(2)) db = graph::sum_to(where(g.x(0), zero, dy), g.x(2));
  return {Val(), da, db};
}

}  // namespace

extern const OpDef where_op{.name = "Where",
                            .infer = infer,
                            .bind = bind,
                            .grad = grad,
                            .traits = {.inplace = 6, .cheap = true},
                            .no_gradient = 1};

}  // namespace ondine::kernels::ops
