// Products of few terms whose results do not fit a second cache: rows pass over several panels of B
// at a time.
#include "kernels/matmul/gemm_primitive.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

template <class T>
struct Product {
  Product(Index m, Index n, Index k, bool trans_a, bool trans_b)
      : shape{m, n, k, trans_a, trans_b, trans_a ? m : k, trans_b ? k : n, n} {
    Numbers numbers(static_cast<std::uint64_t>(m + n + k));
    a = numbers.row<T>(m * k);
    b = numbers.row<T>(n * k);
    c = numbers.row<T>(m * n);
    bias = numbers.row<T>(m);
  }

  // `width` columns at a time.
  std::vector<T> run(Index width, T beta, int threads, const SimdTables& kernels) const {
    std::vector<T> result = c;
    ThreadPool pool(threads);
    GemmOptions<T> options{.beta = beta, .row_bias = bias.data()};
    if (beta == 0) options.activation = Activation::relu;
    for (Index j = 0; j < shape.n; j += width) {
      GemmShape part = shape;
      part.n = std::min(width, shape.n - j);
      const GemmPrimitive<T> gemm(part, 1, threads, kernels);
      const Scratch scratch(gemm.workspace());
      gemm.run(pool, {}, a.data(), b.data() + j * (shape.trans_b ? shape.ldb : 1),
               result.data() + j, options, scratch);
      CHECK(scratch.intact());
    }
    return result;
  }

  GemmShape shape;
  std::vector<T> a, b, c, bias;
};

}  // namespace

TEMPLATE_TEST_CASE("a large result has the bits of its columns computed some at a time", "", float,
                   double) {
  using T = TestType;
  struct Size {
    Index m, n, k;
  };
  for (const SimdTables* const kernels : all_kernels()) {
    for (const auto [m, n, k] : {Size{33, 9001, 7}, Size{155, 2050, 16}, Size{300, 1100, 33},
                                 Size{97, 3001, 64}, Size{65, 5000, 1}}) {
      for (const bool trans_a : {false, true}) {
        for (const bool trans_b : {false, true}) {
          CAPTURE(isa_name(*kernels), m, n, k, trans_a, trans_b);
          const Product<T> product(m, n, k, trans_a, trans_b);
          for (const T beta : {T{0}, T{1}}) {
            const std::vector<T> whole = product.run(n, beta, 1, *kernels);
            CHECK(same_bits(whole, product.run(160, beta, 1, *kernels)));
            CHECK(same_bits(whole, product.run(n, beta, 3, *kernels)));
          }
        }
      }
    }
  }
}
