// det.cpp — y = det x over the last two dims;  dx = dy Cofactor(x).
// Cofactor (ai.ondine): det(x) x^-T where x is regular; defined for singular x too. Its derivative
// for v is (<v, c> c - c v^T c) / det x, which needs a regular x.
#include <cmath>
#include <numeric>

#include "kernels/common/compute_type.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

// P A Q = L U with complete pivoting, so that zero pivots come last.
struct Factors {
  std::int64_t n;
  std::vector<double> lu;  // L below the diagonal (ones on it), U on and above
  std::vector<std::size_t> row, column;
  double sign = 1;
  std::int64_t rank = 0;

  double& at(std::int64_t i, std::int64_t j) { return lu[static_cast<std::size_t>(i * n + j)]; }

  Factors(const double* a, std::int64_t size)
      : n(size),
        lu(a, a + size * size),
        row(static_cast<std::size_t>(size)),
        column(static_cast<std::size_t>(size)) {
    std::iota(row.begin(), row.end(), std::size_t{0});
    std::iota(column.begin(), column.end(), std::size_t{0});
    double first = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const double pivot = bring_pivot(k);
      if (k == 0) first = pivot;
      // What is left of cancelled rows.
      if (!(pivot > first * 4e-16 * static_cast<double>(n))) {
        if (!std::isnan(pivot)) return;
      }
      ++rank;
      for (std::int64_t i = k + 1; i < n; ++i) {
        at(i, k) /= at(k, k);
        for (std::int64_t j = k + 1; j < n; ++j) at(i, j) -= at(i, k) * at(k, j);
      }
    }
  }

  double determinant() {
    if (rank < n) return 0;
    double product = sign;
    for (std::int64_t k = 0; k < n; ++k) product *= at(k, k);
    return product;
  }

  // The matrix of cofactors, the transpose of the adjugate.
  void cofactors(double* c) {
    std::fill_n(c, n * n, 0.0);
    if (rank == n) {
      const double det = determinant();
      for (std::int64_t j = 0; j < n; ++j) solve_column(j, det, c);
    } else if (rank == n - 1) {
      outer_product(c);
    }
  }

 private:
  double bring_pivot(std::int64_t k) {
    std::int64_t best_i = k;
    std::int64_t best_j = k;
    double best = -1;
    for (std::int64_t i = k; i < n; ++i) {
      for (std::int64_t j = k; j < n; ++j) {
        const double size = std::abs(at(i, j));
        if (size > best || std::isnan(size)) {
          best = size;
          best_i = i;
          best_j = j;
        }
      }
    }
    if (best_i != k) {
      for (std::int64_t j = 0; j < n; ++j) std::swap(at(k, j), at(best_i, j));
      std::swap(row[static_cast<std::size_t>(k)], row[static_cast<std::size_t>(best_i)]);
      sign = -sign;
    }
    if (best_j != k) {
      for (std::int64_t i = 0; i < n; ++i) std::swap(at(i, k), at(i, best_j));
      std::swap(column[static_cast<std::size_t>(k)], column[static_cast<std::size_t>(best_j)]);
      sign = -sign;
    }
    return best;
  }

  // Column j of the inverse is row j of the transposed inverse.
  void solve_column(std::int64_t j, double det, double* c) {
    std::vector<double> x(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < x.size(); ++i) {
      double sum = row[i] == static_cast<std::size_t>(j) ? 1 : 0;
      for (std::size_t k = 0; k < i; ++k) sum -= lu[i * x.size() + k] * x[k];
      x[i] = sum;
    }
    back_substitute(x, n);
    for (std::size_t i = 0; i < x.size(); ++i) {
      c[j * n + static_cast<std::int64_t>(column[i])] = det * x[i];
    }
  }

  // x = U^-1 x over the first `count` unknowns.
  void back_substitute(std::vector<double>& x, std::int64_t count) {
    for (std::int64_t i = count; i-- > 0;) {
      for (std::int64_t k = i + 1; k < count; ++k) {
        x[static_cast<std::size_t>(i)] -= at(i, k) * x[static_cast<std::size_t>(k)];
      }
      x[static_cast<std::size_t>(i)] /= at(i, i);
    }
  }

  // With one zero pivot adj U = det U1 (-U1^-1 u; 1) e_n^T, u being the last column of U, and
  // adj A = sign Q adj U L^-1 P.
  void outer_product(double* c) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<double> right(size);
    double product = sign;
    for (std::int64_t k = 0; k + 1 < n; ++k) {
      product *= at(k, k);
      right[static_cast<std::size_t>(k)] = -at(k, n - 1);
    }
    back_substitute(right, n - 1);
    right[size - 1] = 1;
    std::vector<double> left(size);  // z L = e_n^T
    for (std::size_t i = size; i-- > 0;) {
      double sum = i + 1 == size ? 1 : 0;
      for (std::size_t k = i + 1; k < size; ++k) sum -= left[k] * lu[k * size + i];
      left[i] = sum;
    }
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t k = 0; k < size; ++k) {
        c[row[k] * size + column[i]] = product * right[i] * left[k];
      }
    }
  }
};

Dim square(const InferContext& context) {
  const Dims& x = context.dims(0);
  if (x.size() < 2) context.reject("X must have rank 2 or more, found ", graph::to_string(x));
  return unify(x[x.size() - 2], x.back(), "extents of a square matrix");
}

void infer(InferContext& context) {
  const Type& x = context.input(0);
  if (!x.ranked()) return context.set_output(0, x.dtype, std::nullopt);
  square(context);
  context.set_output(0, x.dtype, Dims(x.dims->begin(), x.dims->end() - 2));
}

void infer_cofactor(InferContext& context) {
  if (context.ranked(0)) square(context);
  context.set_output(0, context.input(0));
}

template <bool cofactor>
Kernel bind(BindContext& context) {
  const Shape shape = context.shape(0);
  const std::int64_t n = shape.back();
  const std::int64_t count = shape.size(0, shape.rank() - 2);
  Scratch scratch;
  const ComputeIn<double> x(context, scratch, 0);
  const ComputeOut<double> y(context, scratch, 0, cofactor ? shape.size() : count);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* from = x(call);
    double* to = y.data(call);
    call.pool().for_chunks(count, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        Factors factors(from + i * n * n, n);
        if (cofactor) {
          factors.cofactors(to + i * n * n);
        } else {
          to[i] = factors.determinant();
        }
      }
    });
    y.store(call);
  };
}

Val cofactor_of(Val x) { return x.builder().node("Cofactor", {x}, {}, ondine_domain); }

std::vector<Val> grad(GradContext& g) {
  return {graph::unsqueeze(g.dy(0), {-2, -1}) * cofactor_of(g.x(0))};
}

std::vector<Val> grad_of_cofactor(GradContext& g) {
  const Val c = g.y(0);
  const Val v = g.dy(0);
  const Val inner = graph::reduce_sum(v * c, {-2, -1}, true);
  const Val turned =
      c.builder().node("MatMulT", {c, v}, {{"transB", std::int64_t{1}}}, ondine_domain);
  const Val det = graph::unsqueeze(unary("Det", g.x(0)), {-2, -1});
  return {(inner * c - graph::matmul(turned, c)) / det};
}

}  // namespace

extern const OpDef det{.name = "Det", .infer = infer, .bind = bind<false>, .grad = grad};
extern const OpDef cofactor{.name = "Cofactor",
                            .domain = ondine_domain,
                            .infer = infer_cofactor,
                            .bind = bind<true>,
                            .grad = grad_of_cofactor};

}  // namespace ondine::kernels::ops
