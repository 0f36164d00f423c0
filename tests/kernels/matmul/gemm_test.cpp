#include "kernels/matmul/gemm_primitive.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/matmul/packed_gemm.h"
#include "kernels/simd/tables.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

template <class T>
struct Case {
  GemmShape shape;
  GemmBatch batch;
  GemmOptions<T> options;
  std::vector<T> a, b, c;
};

template <class T>
std::vector<double> reference(const Case<T>& t) {
  const auto& s = t.shape;
  std::vector<double> c(t.c.begin(), t.c.end());
  for (Index w = 0; w < t.batch.count; ++w) {
    const T* a = t.a.data() + (t.batch.offsets_a ? t.batch.offsets_a[w] : w * t.batch.stride_a);
    const T* b = t.b.data() + (t.batch.offsets_b ? t.batch.offsets_b[w] : w * t.batch.stride_b);
    for (Index i = 0; i < s.m; ++i) {
      for (Index j = 0; j < s.n; ++j) {
        double sum = 0;
        for (Index p = 0; p < s.k; ++p) {
          sum += static_cast<double>(a[s.trans_a ? p * s.lda + i : i * s.lda + p]) *
                 static_cast<double>(b[s.trans_b ? j * s.ldb + p : p * s.ldb + j]);
        }
        double& out = c[static_cast<std::size_t>(w * t.batch.stride_c + i * s.ldc + j)];
        const double old = t.options.beta == 0 ? 0 : static_cast<double>(t.options.beta) * out;
        out = static_cast<double>(t.options.alpha) * sum + old;
        if (t.options.col_bias) out += static_cast<double>(t.options.col_bias[j]);
        if (t.options.row_bias) out += static_cast<double>(t.options.row_bias[i]);
        if (t.options.activation == Activation::relu) out = std::max(out, 0.0);
      }
    }
  }
  return c;
}

template <class T>
Case<T> make_case(Index m, Index n, Index k, bool trans_a, bool trans_b, Index pad,
                  Index count = 1) {
  Case<T> t;
  t.shape = {m, n, k, trans_a, trans_b, 0, 0, 0};
  t.shape.lda = (trans_a ? m : k) + pad;
  t.shape.ldb = (trans_b ? k : n) + pad;
  t.shape.ldc = n + pad;
  t.batch.count = count;
  t.batch.stride_a = (trans_a ? k : m) * t.shape.lda;
  t.batch.stride_b = (trans_b ? n : k) * t.shape.ldb;
  t.batch.stride_c = m * t.shape.ldc;
  Numbers numbers(static_cast<std::uint64_t>(m * 1009 + n * 31 + k));
  t.a = numbers.row<T>(count * t.batch.stride_a);
  t.b = numbers.row<T>(count * t.batch.stride_b);
  t.c = numbers.row<T>(count * t.batch.stride_c);
  return t;
}

template <class T>
std::vector<T> run(const Case<T>& t, int threads, const SimdTables& kernels) {
  ThreadPool pool(threads);
  Scratch scratch(gemm_workspace<T>(t.shape, t.batch.count, threads, kernels));
  auto c = t.c;
  gemm(pool, t.shape, t.batch, t.a.data(), t.b.data(), c.data(), t.options, scratch, kernels);
  CHECK(scratch.intact());
  return c;
}

template <class T>
void check(const Case<T>& t, bool threads = false) {
  const auto expected = reference(t);
  for (const auto* kernels : all_kernels()) {
    const auto one = run(t, 1, *kernels);
    INFO(isa_name(*kernels) << " m " << t.shape.m << " n " << t.shape.n << " k " << t.shape.k
                            << " trans " << t.shape.trans_a << t.shape.trans_b);
    CHECK(worst_error(one, expected) < tolerance<T>);
    if (!threads) continue;
    CHECK(same_bits(run(t, 2, *kernels), one));
    CHECK(same_bits(run(t, 4, *kernels), one));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("a product equals the sum of products for every transposition and size", "",
                   float, double) {
  for (const Index m : {1, 2, 3, 5, 12, 13, 33, 100}) {
    for (const Index n : {1, 3, 8, 16, 17, 32, 45, 130}) {
      for (const Index k : {1, 2, 7, 16, 40, 300}) {
        for (const bool trans_a : {false, true}) {
          for (const bool trans_b : {false, true}) {
            check(make_case<TestType>(m, n, k, trans_a, trans_b, (m + n + k) % 3));
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("large products have the same bits for any number of threads", "", float,
                   double) {
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      check(make_case<TestType>(250, 530, 270, trans_a, trans_b, 1), true);
      check(make_case<TestType>(1, 2000, 700, trans_a, trans_b, 0), true);
      check(make_case<TestType>(2000, 1, 700, trans_a, trans_b, 0), true);
      check(make_case<TestType>(600, 40, 520, trans_a, trans_b, 3), true);
    }
  }
}

TEST_CASE(
    "few rows and a large B, which is cut by columns alone, have the same bits for any threads") {
  check(make_case<float>(30, 2083, 4100, false, false, 1), true);
  check(make_case<float>(30, 2083, 4100, false, true, 1), true);
}

TEMPLATE_TEST_CASE("alpha, beta, biases and activation are applied once", "", float, double) {
  Numbers numbers(7);
  const auto bias = numbers.row<TestType>(1000);
  for (const Index m : {1, 4, 30, 61}) {
    for (const Index n : {1, 5, 32, 50}) {
      for (const Index k : {0, 1, 20, 600}) {
        for (const bool trans : {false, true}) {
          auto t = make_case<TestType>(m, n, k, trans, trans, 0);
          for (const auto alpha : {TestType(0), TestType(1), TestType(-0.5)}) {
            for (const auto beta : {TestType(0), TestType(1), TestType(0.25)}) {
              t.options = {alpha, beta, nullptr, nullptr, Activation::none};
              check(t);
              t.options.col_bias = bias.data();
              check(t);
              t.options.row_bias = bias.data() + 100;
              t.options.activation = Activation::relu;
              check(t);
            }
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("panels that are packed on the way serve all rows, blocks and edges", "", float,
                   double) {
  Numbers numbers(11);
  const auto bias = numbers.row<TestType>(1100);
  // One block of rows and several; one chunk of k, several, and more than is packed at once; whole
  // panels and partial ones; factors beyond the second cache.
  const Index shapes[][3] = {{48, 64, 784},   {57, 33, 300},    {64, 100, 17},
                             {121, 96, 257},  {128, 128, 96},   {130, 40, 2100},
                             {247, 520, 300}, {160, 1100, 530}, {72, 1100, 300}};
  for (const auto& [m, n, k] : shapes) {
    for (const bool trans_a : {false, true}) {
      for (const bool trans_b : {false, true}) {
        auto t = make_case<TestType>(m, n, k, trans_a, trans_b, m % 2);
        t.options = {TestType(0.5), TestType(-2), bias.data(), bias.data() + 600, Activation::relu};
        check(t);
      }
    }
  }
}

TEST_CASE("with beta 0 the old elements of C are not read") {
  auto t = make_case<float>(40, 50, 20, false, false, 0);
  t.c.assign(t.c.size(), NAN);
  check(t);
}

TEST_CASE("a batch with offsets is a product each") {
  const std::vector<Index> offsets_a = {0, 0, 30, 30, 60};
  const std::vector<Index> offsets_b = {0, 42, 0, 42, 84};
  auto t = make_case<double>(5, 7, 6, false, false, 0, 5);
  t.batch.offsets_a = offsets_a.data();
  t.batch.offsets_b = offsets_b.data();
  check(t, true);
  auto many = make_case<float>(20, 24, 16, false, true, 0, 700);
  check(many, true);
}

TEST_CASE("empty products leave what there is") {
  ThreadPool pool(1);
  float c = 3;
  gemm<float>(pool, GemmShape{0, 5, 4}, nullptr, nullptr, &c, {}, {});
  gemm<float>(pool, GemmShape{5, 0, 4}, nullptr, nullptr, &c, {}, {});
  CHECK(c == 3);
  gemm<float>(pool, GemmShape{1, 1, 0}, nullptr, nullptr, &c, {}, {});
  CHECK(c == 0);
}

TEST_CASE("a workspace for one thread is enough for a pool of more") {
  auto t = make_case<float>(200, 600, 300, false, true, 0);
  ThreadPool pool(4);
  Scratch scratch(gemm_workspace<float>(t.shape, 1, 1));
  auto c = t.c;
  gemm(pool, t.shape, t.a.data(), t.b.data(), c.data(), t.options, scratch);
  CHECK(scratch.intact());
  CHECK(same_bits(c, run(t, 1, simd_tables())));
}

TEMPLATE_TEST_CASE("a product made for some threads runs on pools of any size", "", float, double) {
  for (const bool trans : {false, true}) {
    auto t = make_case<TestType>(150, 330, 200, trans, !trans, 1, 3);
    const auto expected = run(t, 1, simd_tables());
    for (const int made_for : {1, 2, 4}) {
      const GemmPrimitive<TestType> gemm(t.shape, t.batch.count, made_for);
      for (const int threads : {1, 3, 4}) {
        ThreadPool pool(threads);
        Scratch scratch(gemm.workspace());
        auto c = t.c;
        gemm.run(pool, t.batch, t.a.data(), t.b.data(), c.data(), t.options, scratch);
        CHECK(scratch.intact());
        CHECK(same_bits(c, expected));
      }
    }
  }
}

TEMPLATE_TEST_CASE("a large factor that few rows along k multiply has the same bits in any tile",
                   "", float, double) {
  for (const Index n : {16, 27, 64}) {
    check(make_case<TestType>(150, n, 5003, false, true, 1), true);
    check(make_case<TestType>(301, n, 2100, false, true, 0, 2), true);
  }
  check(make_case<TestType>(32, 64, 9000, false, true, 0), true);
}

TEMPLATE_TEST_CASE("the activation of a product has bounds and passes on NaN", "", float, double) {
  for (const Activation activation : {Activation::relu, Activation::relu6}) {
    for (const bool adds : {false, true}) {
      auto t = make_case<TestType>(14, 45, 9, false, false, 0);
      for (TestType& x : t.a) x *= 9;
      t.a[2 * 9 + 4] = std::numeric_limits<TestType>::quiet_NaN();
      t.options.beta = adds ? TestType{1} : TestType{0};
      const auto sums = reference(t);
      t.options.activation = activation;
      const double high = activation == Activation::relu6 ? 6 : HUGE_VAL;
      for (const auto* kernels : all_kernels()) {
        INFO(isa_name(*kernels) << " relu6 " << (activation == Activation::relu6) << adds);
        const auto c = run(t, 1, *kernels);
        double worst = 0;
        bool nan_stays = true;
        for (std::size_t i = 0; i < c.size(); ++i) {
          if (i / 45 == 2) {
            nan_stays = nan_stays && std::isnan(c[i]);
          } else {
            const double want = std::clamp(sums[i], 0.0, high);
            worst = std::max(worst, std::abs(static_cast<double>(c[i]) - want));
          }
        }
        CHECK(nan_stays);
        CHECK(worst < 60 * tolerance<TestType>);
      }
    }
  }
}

TEMPLATE_TEST_CASE("a product with an alpha of 0 reads no factor", "", float, double) {
  for (const Index m : {1, 4, 60}) {
    auto t = make_case<TestType>(m, 70, 90, false, true, 1);
    t.options.alpha = 0;
    std::fill(t.a.begin(), t.a.end(), TestType(NAN));
    auto expected = t;
    std::fill(expected.a.begin(), expected.a.end(), TestType(0));
    for (const auto* kernels : all_kernels()) {
      CHECK(worst_error(run(t, 2, *kernels), reference(expected)) < tolerance<TestType>);
    }
  }
}

TEMPLATE_TEST_CASE("beta multiplies the addend, where there is one, in place of C", "", float,
                   double) {
  for (const Index m : {1, 2, 3, 14, 61}) {
    for (const Index n : {1, 5, 32, 50, 300}) {
      for (const Index k : {0, 1, 40, 500}) {
        for (const bool trans : {false, true}) {
          auto t = make_case<TestType>(m, n, k, !trans, trans, 1, 2);
          const auto expected = reference([&] {
            auto plain = t;
            plain.options = {TestType(-0.5), TestType(2)};
            return plain;
          }());
          const auto addend = t.c;
          t.options = {TestType(-0.5), TestType(2)};
          t.options.addend = addend.data();
          for (auto& c : t.c) c *= 3;
          for (const auto* kernels : all_kernels()) {
            INFO(isa_name(*kernels) << " m " << m << " n " << n << " k " << k);
            const auto got = run(t, 1, *kernels);
            double worst = 0;
            for (Index row = 0; row < 2 * m; ++row) {
              for (Index j = 0; j < n; ++j) {
                const auto at = static_cast<std::size_t>(row * (n + 1) + j);
                worst = std::max(worst, std::abs(static_cast<double>(got[at]) - expected[at]));
              }
            }
            CHECK(worst < 100 * tolerance<TestType>);
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("a packed matrix is multiplied as one that is not", "", float, double) {
  for (const Index m : {1, 2, 5, 8, 13, 40}) {
    for (const Index n : {1, 16, 45, 600}) {
      for (const Index k : {1, 40, 200}) {
        for (const bool trans : {false, true}) {
          auto t = make_case<TestType>(m, n, k, false, trans, 2);
          t.options.beta = 1;
          const auto expected = reference(t);
          for (const auto* kernels : all_kernels()) {
            INFO(isa_name(*kernels) << " m " << m << " n " << n << " k " << k << trans);
            const auto elements = packed_elements<TestType>(n, k, *kernels);
            std::vector<TestType> packed(static_cast<std::size_t>(elements) + 1, 7);
            pack(t.shape, t.b.data(), packed.data(), *kernels);
            CHECK(packed.back() == 7);
            ThreadPool pool(3);
            auto together = std::vector<TestType>(packed.size(), 7);
            pack(pool, t.shape, t.b.data(), together.data(), *kernels);
            CHECK(std::equal(packed.begin(), packed.end() - 65, together.begin()));
            CHECK(together.back() == 7);
            Scratch scratch(packed_gemm_scratch<TestType>(t.shape, *kernels));
            auto c = t.c;
            packed_gemm(t.shape, t.a.data(), packed.data(), c.data(), t.options,
                        math::Workspace(scratch).data, *kernels);
            CHECK(scratch.intact());
            CHECK(worst_error(c, expected) < tolerance<TestType>);
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("every tile takes its part of the biases", "", float, double) {
  for (const auto& [m, n, k] : {std::array<Index, 3>{300, 200, 300},
                                {700, 90, 200},
                                {90, 700, 200},
                                {5000, 1, 300},
                                {1, 5000, 300}}) {
    Numbers numbers(7);
    const auto rows = numbers.row<TestType>(m);
    const auto cols = numbers.row<TestType>(n);
    auto t = make_case<TestType>(m, n, k, false, false, 0);
    t.options.row_bias = rows.data();
    check(t, true);
    t.options.col_bias = cols.data();
    check(t, true);
  }
}
