// gemm.cpp — y = alpha op(a) op(b) + beta c, op transposing where transA or transB says so, c
// broadcast to y. da = alpha dy op(b)^T, db = alpha op(a)^T dy, dc = beta times dy summed over what
// was broadcast. Before version 7 c broadcasts only with broadcast = 1; 9 added integers, 11 made c
// optional, 13 added bfloat16.
#include "kernels/matmul/gemm.h"

#include <cmath>

#include "kernels/common/compute_type.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/require_broadcast.h"
#include "kernels/common/stored_input.h"
#include "kernels/matmul/fused_activation.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/matmul/integer_gemm.h"
#include "kernels/matmul/product_kernels.h"
#include "kernels/matmul/rounded_factors.h"

namespace ondine::kernels::ops {
namespace {

struct Factors {
  bool trans_a, trans_b;
  float alpha, beta;
};

Factors factors(const NodeView& node) {
  return {node.attr_int("transA", 0) != 0, node.attr_int("transB", 0) != 0,
          node.attr_float("alpha", 1), node.attr_float("beta", 1)};
}

}  // namespace

void infer_gemm(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  const auto f = factors(context);
  const Dims a = dims_of_rank(context, 0, 2, "A");
  const Dims b = dims_of_rank(context, 1, 2, "B");
  unify(a[f.trans_a ? 0 : 1], b[f.trans_b ? 1 : 0], "inner dimensions");
  const Dims y{a[f.trans_a ? 1 : 0], b[f.trans_b ? 0 : 1]};
  const bool stretches = context.version() >= 7 || context.attr_int("broadcast", 0) != 0;
  if (stretches) {
    require_broadcast(context, 2, y, "C");
  } else if (context.has_input(2) &&
             !compatible(context.input(2), Type::tensor(context.dtype(2), y))) {
    context.reject("C of shape ", to_string(context.dims(2)), ", needed: ", to_string(y));
  }
  context.set_output(0, context.dtype(0), y);
}

namespace {

math::GemmShape product_shape(BindContext& context, const Factors& f) {
  const Shape a = context.shape(0);
  const Shape b = context.shape(1);
  return {.m = a[f.trans_a ? 1 : 0],
          .n = b[f.trans_b ? 0 : 1],
          .k = a[f.trans_a ? 0 : 1],
          .trans_a = f.trans_a,
          .trans_b = f.trans_b};
}

// Where c[i, j] lies: i * row + j * column.
struct Steps {
  std::int64_t row = 0;
  std::int64_t column = 0;
};

Steps c_steps(BindContext& context) {
  if (!context.has_input(2)) return {};
  const Shape c = context.shape(2);
  const std::int64_t columns = c.rank() > 0 ? c.back() : 1;
  const std::int64_t rows = c.rank() > 1 ? c[0] : 1;
  return {rows == 1 ? 0 : columns, columns == 1 ? 0 : 1};
}

// c broadcast to y.
template <class C>
void spread(ThreadPool& pool, const C* c, Steps steps, C* y, const math::GemmShape& shape) {
  pool.for_chunks(shape.m, 64, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        y[i * shape.n + j] = c[i * steps.row + j * steps.column];
      }
    }
  });
}

template <class C>
Kernel bind_float(BindContext& context) {
  const Factors f = factors(context);
  math::GemmShape shape = product_shape(context, f);
  const Steps steps = c_steps(context);
  Scratch scratch;
  const bool rounds = math::GemmPrimitive<C>::takes_bf16(shape, product_kernels(context));
  const StoredIn<C> a(context, scratch, 0, rounds);
  const bool reads_b = rounds || math::GemmPrimitive<C>::widens_b(shape, product_kernels(context));
  const StoredIn<C> b(context, scratch, 1, reads_b);
  shape.a_stored = a.storage();
  shape.b_stored = b.storage();
  const ComputeIn<C> c(context, scratch, 2);
  const bool plain = bool(c) && f.beta == 1;
  const bool column_bias = plain && steps.row == 0 && steps.column == 1;
  const bool row_bias = plain && !column_bias && steps.column == 0 && steps.row == 1;
  const bool is_whole = steps.row == shape.n && steps.column == 1;
  const bool spreads = c && f.beta != 0 && !column_bias && !row_bias && !is_whole;
  const StoredOut<C> y(context, scratch, 0, shape.m * shape.n,
                       !spreads && f.alpha != 0 &&
                           math::GemmPrimitive<C>::rounds_result(shape, product_kernels(context)));
  shape.c_stored = y.storage();
  const math::GemmPrimitive<C> gemm(shape, 1, context.threads(), product_kernels(context));
  const std::size_t work = scratch.add_bytes(gemm.workspace());
  context.set_implementation(gemm.name(), gemm.isa());
  scratch.request(context);
  const math::Activation activation = fused_activation(context);
  return [=](KernelContext& call) {
    const math::Elements<C> to = y(call);
    math::GemmOptions<C> options{.alpha = static_cast<C>(f.alpha), .activation = activation};
    if (column_bias) {
      options.col_bias = c(call);
    } else if (row_bias) {
      options.row_bias = c(call);
    } else if (c && f.beta != 0) {
      options.beta = static_cast<C>(f.beta);
      if (spreads) {
        spread(call.pool(), c(call), steps, to.plain(), shape);
      } else {
        options.addend = c(call);
      }
    }
    gemm.run(call.pool(), {}, a(call), b(call), to, options, Scratch::at<std::byte>(call, work));
    y.store(call);
  };
}

// Integers wrap around; factors other than 1 are applied in double and cut to whole numbers.
template <class T>
Kernel bind_integer(BindContext& context) {
  using U = std::make_unsigned_t<T>;
  const Factors f = factors(context);
  const math::GemmShape s = product_shape(context, f);
  const Steps steps = c_steps(context);
  const bool has_c = context.has_input(2);
  const auto scaled = [](U x, float factor) {
    if (factor == 1) return x;
    const double value = std::trunc(static_cast<double>(static_cast<T>(x)) * double{factor});
    if (!(std::abs(value) < 0x1p63)) return U{0};
    return static_cast<U>(static_cast<std::int64_t>(value));
  };
  return [=](KernelContext& call) {
    T* const y = call.out<T>(0);
    math::integer_gemm(call.pool(), s, call.in<T>(0), call.in<T>(1), y);
    if (f.alpha == 1 && !has_c) return;
    call.pool().for_chunks(s.m, 64, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        for (std::int64_t j = 0; j < s.n; ++j) {
          U sum = scaled(static_cast<U>(y[i * s.n + j]), f.alpha);
          if (has_c) {
            const T c = call.in<T>(2)[i * steps.row + j * steps.column];
            sum = static_cast<U>(sum + scaled(static_cast<U>(c), f.beta));
          }
          y[i * s.n + j] = static_cast<T>(sum);
        }
      }
    });
  };
}

}  // namespace

Kernel bind_gemm(BindContext& context) {
  if (is_integer(context.dtype(0))) {
    context.set_implementation("integer_gemm");
    return visit(context.dtype(0),
                 Types<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>{},
                 [&]<class T>() -> Kernel { return bind_integer<T>(context); });
  }
  return visit_compute(context.dtype(0),
                       [&]<class C>() -> Kernel { return bind_float<C>(context); });
}

namespace {

std::vector<Val> grad(GradContext& g) {
  const Factors f = factors(g);
  const auto product = [&](Val a, Val b, bool trans_a, bool trans_b) {
    return g.builder().node(
        "Gemm", {a, b},
        {{"alpha", f.alpha}, {"transA", std::int64_t{trans_a}}, {"transB", std::int64_t{trans_b}}});
  };
  const Val dy = g.dy(0);
  std::vector<Val> result(3);
  if (g.wants(0)) {
    result[0] =
        f.trans_a ? product(g.x(1), dy, f.trans_b, true) : product(dy, g.x(1), false, !f.trans_b);
  }
  if (g.wants(1)) {
    result[1] =
        f.trans_b ? product(dy, g.x(0), true, f.trans_a) : product(g.x(0), dy, !f.trans_a, false);
  }
  if (g.wants(2) && g.x(2)) {
    const Val dc = sum_to(dy, g.x(2));
    result[2] = f.beta == 1 ? dc : dc * double{f.beta};
  }
  return result;
}

}  // namespace

extern const OpDef gemm{.name = "Gemm",
                        .infer = infer_gemm,
                        .bind = bind_gemm,
                        .grad = grad,
                        .traits = {.cannot_fail = true},
                        .rounded = rounds_product<2>};

}  // namespace ondine::kernels::ops
