// det.cpp — y = det x over the last two dims;  dx = dy Cofactor(x).
// Cofactor (ai.ondine): det(x) x^-T where x is regular; defined for singular x too. Both are NaN
// where x has elements that are not finite (except 1 x 1). The derivative of Cofactor for v is
// (<v, c> c - c v^T c) / det x, which needs a regular x.
#include <limits>

#include "kernels/common/compute_type.h"
#include "kernels/common/op.h"
#include "kernels/matmul/checked_lu.h"

namespace ondine::kernels::ops {
namespace {

using Matrix = SquareMatrix;

// P A Q = L U with complete pivoting, so that zero pivots come last. A is finite and not empty.
template <class Lu>
class Factors {
 public:
  explicit Factors(const Eigen::Map<const Matrix>& a) : lu_(a) {
    lu_.setThreshold(4e-16 * static_cast<double>(a.rows()));  // the residue of cancelled rows
  }

  double determinant() const { return lu_.isInvertible() ? lu_.determinant() : 0; }

  // The transpose of the adjugate.
  Matrix cofactors() const {
    if (lu_.isInvertible()) {
      if constexpr (std::is_same_v<Lu, CheckedFullLu>) {
        return lu_.determinant() * lu_.inverse_by_columns().transpose();
      } else {
        return lu_.determinant() * lu_.inverse().transpose();
      }
    }
    if (lu_.dimensionOfKernel() == 1) return rank_one_cofactors();
    return Matrix::Zero(lu_.rows(), lu_.cols());
  }

 private:
  // With one zero pivot adj U = det U1 (-U1^-1 u; 1) e_n^T, U1 being U without its last row and
  // column u, and adj A = det P det Q Q adj U L^-1 P.
  Matrix rank_one_cofactors() const {
    const Matrix& f = lu_.matrixLU();
    const Eigen::Index last = f.rows() - 1;
    Eigen::VectorXd right = Eigen::VectorXd::Ones(f.rows());
    right.head(last) = -f.col(last).head(last);
    f.topLeftCorner(last, last).triangularView<Eigen::Upper>().solveInPlace(right.head(last));
    Eigen::VectorXd left = Eigen::VectorXd::Unit(f.rows(), last);  // left^T L = e_n^T
    f.transpose().triangularView<Eigen::UnitUpper>().solveInPlace(left);
    const auto& p = lu_.permutationP();
    const auto& q = lu_.permutationQ();
    const double sign = static_cast<double>(p.determinant() * q.determinant());
    const Eigen::VectorXd rows = p.transpose() * left;
    const Eigen::VectorXd columns = q * right;
    return (sign * f.diagonal().head(last).prod()) * rows * columns.transpose();
  }

  Lu lu_;
};

using WholeFactors = Factors<Eigen::FullPivLU<Matrix>>;
using CheckedFactors = Factors<CheckedFullLu>;

double determinant_of(const double* x, std::int64_t n) {
  if (n == 0) return 1;
  const Eigen::Map<const Matrix> a(x, n, n);
  if (n == 1) return a(0, 0);
  if (!a.allFinite()) return std::numeric_limits<double>::quiet_NaN();
  return n <= unchecked_rows ? WholeFactors(a).determinant() : CheckedFactors(a).determinant();
}

void cofactors_of(const double* x, std::int64_t n, double* c) {
  const Eigen::Map<const Matrix> a(x, n, n);
  Eigen::Map<Matrix> to(c, n, n);
  if (n == 1) {
    to(0, 0) = 1;
  } else if (!a.allFinite()) {
    to.setConstant(std::numeric_limits<double>::quiet_NaN());
  } else if (n > unchecked_rows) {
    to = CheckedFactors(a).cofactors();
  } else if (n > 1) {
    to = WholeFactors(a).cofactors();
  }
}

Dim square(const InferContext& context) {
  const Dims& x = context.dims(0);
  if (x.size() < 2) context.reject("X must have rank 2 or more, found ", graph::to_string(x));
  return unify(x[x.size() - 2], x.back(), "dims of a square matrix");
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
        if constexpr (cofactor) {
          cofactors_of(from + i * n * n, n, to + i * n * n);
        } else {
          to[i] = determinant_of(from + i * n * n, n);
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
  const Val transposed =
      c.builder().node("MatMulT", {c, v}, {{"transB", std::int64_t{1}}}, ondine_domain);
  const Val det = graph::unsqueeze(unary("Det", g.x(0)), {-2, -1});
  return {(inner * c - graph::matmul(transposed, c)) / det};
}

// Row i holds all numbers below n but i.
Val all_but_one(Builder& b, std::int64_t n) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < n; ++k) {
      if (k != i) rows.push_back(k);
    }
  }
  return b.constant(Tensor::of<std::int64_t>({n, n - 1}, rows));
}

// The determinants of the minors, with their signs.
std::vector<Val> expand_cofactor(ExpandContext& context) {
  Builder& b = context.builder();
  const Val x = context.x(0);
  if (!x.ranked() || !x.dims().back().known()) {
    fail(ErrorCode::unsupported, "the derivative of Det needs known dims of the matrices");
  }
  const std::int64_t n = x.dims().back().size();
  if (n < 2) return {graph::full_like(x, 1)};
  const auto rank = static_cast<std::int64_t>(x.rank());
  const Val others = all_but_one(b, n);
  // [..., row left out, rows, column left out, columns]
  const Val parts = graph::gather(graph::gather(x, others, -2), others, -1);
  std::vector<std::int64_t> perm;
  for (std::int64_t i = 0; i < rank - 2; ++i) perm.push_back(i);
  for (const std::int64_t i : {0, 2, 1, 3}) perm.push_back(rank - 2 + i);
  std::vector<float> signs;
  for (std::int64_t i = 0; i < n * n; ++i) signs.push_back((i / n + i % n) % 2 == 0 ? 1.0F : -1.0F);
  const Val sign = graph::cast(b.constant(Tensor::of<float>({n, n}, signs)), x.dtype());
  return {unary("Det", graph::transpose(parts, perm)) * sign};
}

}  // namespace

extern const OpDef det{.name = "Det", .infer = infer, .bind = bind<false>, .grad = grad};
extern const OpDef cofactor{.name = "Cofactor",
                            .domain = ondine_domain,
                            .infer = infer_cofactor,
                            .bind = bind<true>,
                            .grad = grad_of_cofactor,
                            .expand = expand_cofactor};

}  // namespace ondine::kernels::ops
