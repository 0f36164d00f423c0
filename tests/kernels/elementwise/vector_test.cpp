#include "kernels/elementwise/vector.h"

#include <limits>

#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;
using Function = double (*)(double);

double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double gelu(double x) { return 0.5 * x * std::erfc(-x * M_SQRT1_2); }
double gelu_tanh(double x) {
  return x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}
double swish(double x) { return x * sigmoid(1.5 * x); }
double hard_swish(double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }
double relu(double x) { return x < 0 ? 0 : x; }
double square(double x) { return x * x; }
double reciprocal(double x) { return 1 / x; }

// The distance of y from the exact value in units of the last place of T.
template <class T>
double ulps(T y, double exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(exact)) return std::isnan(y) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(y)) return rounded == y ? 0 : INFINITY;
  const T magnitude = std::max(std::abs(rounded), std::numeric_limits<T>::min());
  const double ulp = static_cast<double>(std::nextafter(magnitude, std::numeric_limits<T>::max())) -
                     static_cast<double>(magnitude);
  return std::abs(static_cast<double>(y) - exact) / ulp;
}

// Every binade of both signs, dense around 1, and the special values.
std::vector<float> arguments() {
  std::vector<float> x = {0.0f,   -0.0f,  INFINITY, -INFINITY, NAN,     1e-45f, -1e-45f,   1e-40f,
                          88.72f, 88.73f, -87.4f,   -103.9f,   -104.5f, 0.625f, 0.921875f, 8191.0f};
  for (std::uint32_t bits = 0; bits < 0x7f800000u; bits += 40009) {
    float value = 0;
    std::memcpy(&value, &bits, 4);
    x.push_back(value);
    x.push_back(-value);
  }
  for (int i = -60000; i <= 60000; ++i) x.push_back(static_cast<float>(i) * 0.000317f);
  for (int i = -6000; i <= 6000; ++i) x.push_back(static_cast<float>(i) * 0.0173f);
  return x;
}

}  // namespace

TEST_CASE("float functions are right to a few units of the last place everywhere") {
  using V = VectorKernels<float>;
  struct Row {
    const char* name;
    V::Unary V::*function;
    Function exact;
    double limit;
  };
  const Row rows[] = {
      {"exp", &V::exp, std::exp, 2},
      {"log", &V::log, std::log, 2},
      {"tanh", &V::tanh, std::tanh, 2.5},
      {"sigmoid", &V::sigmoid, sigmoid, 3},
      {"erf", &V::erf, std::erf, 2},
      {"softplus", &V::softplus, softplus, 3},
      {"sin", &V::sin, std::sin, 1e9},
      {"cos", &V::cos, std::cos, 1e9},
      {"gelu", &V::gelu, gelu, 200},
      {"sqrt", &V::sqrt, std::sqrt, 0.51},
      {"reciprocal", &V::reciprocal, reciprocal, 0.51},
      {"relu", &V::relu, relu, 0},
      {"square", &V::square, square, 0.51},
  };
  const auto x = arguments();
  std::vector<float> y(x.size());
  for (const auto* kernels : all_kernels()) {
    for (const auto& row : rows) {
      const auto function = vector_kernels<float>(*kernels).*row.function;
      function(y.data(), x.data(), static_cast<Index>(x.size()));
      double worst = 0;
      float where = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = row.exact(static_cast<double>(x[i]));
        const double error = row.limit > 1e6 ? std::abs(static_cast<double>(y[i]) - exact) * 1e16
                                             : ulps(y[i], exact);
        if (std::isnan(error) ? std::isnan(y[i]) != std::isnan(exact) : error > worst) {
          worst = std::isnan(error) ? INFINITY : error;
          where = x[i];
        }
      }
      INFO(isa_name(*kernels) << " " << row.name << " at " << where);
      CHECK(worst <= row.limit);
    }
  }
}

TEMPLATE_TEST_CASE("rows of every length touch their elements only and agree with long rows", "",
                   float, double) {
  using V = VectorKernels<TestType>;
  const typename V::Unary V::*functions[] = {&V::exp,  &V::tanh, &V::gelu, &V::gelu_tanh, &V::sin,
                                             &V::sqrt, &V::neg,  &V::abs,  &V::relu};
  const Function exact[] = {
      std::exp,  std::tanh, gelu, gelu_tanh, std::sin, std::sqrt, [](double x) { return -x; },
      std::fabs, relu};
  Numbers numbers(3);
  auto x = numbers.row<TestType>(200);
  for (auto& value : x) value = std::abs(value) * 4;
  for (const auto* kernels : all_kernels()) {
    for (std::size_t f = 0; f < std::size(functions); ++f) {
      const auto function = vector_kernels<TestType>(*kernels).*functions[f];
      std::vector<TestType> whole(200);
      function(whole.data(), x.data(), 200);
      for (Index n = 0; n < 70; ++n) {
        std::vector<TestType> y(200, 77);
        function(y.data() + 1, x.data() + 3, n);
        CHECK(y[0] == 77);
        CHECK(y[static_cast<std::size_t>(n) + 1] == 77);
        CHECK(std::equal(y.begin() + 1, y.begin() + 1 + n, whole.begin() + 3));
      }
      std::vector<double> expected(x.begin(), x.end());
      for (auto& value : expected) value = exact[f](value);
      CHECK(worst_error(whole, expected) < 4 * tolerance<TestType>);
      auto in_place = x;
      function(in_place.data(), in_place.data(), 200);
      CHECK(same_bits(in_place, whole));
    }
  }
}

TEMPLATE_TEST_CASE("binary rows take vectors and numbers on either side", "", float, double) {
  using V = VectorKernels<TestType>;
  struct Row {
    typename V::Binary V::*op;
    double (*exact)(double, double);
  };
  const Row rows[] = {{&V::add, [](double a, double b) { return a + b; }},
                      {&V::sub, [](double a, double b) { return a - b; }},
                      {&V::mul, [](double a, double b) { return a * b; }},
                      {&V::div, [](double a, double b) { return a / b; }},
                      {&V::max, [](double a, double b) { return std::max(a, b); }},
                      {&V::min, [](double a, double b) { return std::min(a, b); }}};
  Numbers numbers(5);
  const auto a = numbers.row<TestType>(67);
  const auto b = numbers.row<TestType>(67);
  for (const auto* kernels : all_kernels()) {
    for (const auto& row : rows) {
      const auto& op = vector_kernels<TestType>(*kernels).*row.op;
      std::vector<TestType> vv(67), vs(67), sv(67);
      op.vv(vv.data(), a.data(), b.data(), 67);
      op.vs(vs.data(), a.data(), b[5], 67);
      op.sv(sv.data(), a[5], b.data(), 67);
      for (std::size_t i = 0; i < 67; ++i) {
        CHECK(vv[i] == static_cast<TestType>(row.exact(a[i], b[i])));
        CHECK(vs[i] == static_cast<TestType>(row.exact(a[i], b[5])));
        CHECK(sv[i] == static_cast<TestType>(row.exact(a[5], b[i])));
      }
    }
    const TestType nan = NAN;
    TestType y = 0;
    const TestType one = 1;
    vector_kernels<TestType>(*kernels).max.vv(&y, &nan, &one, 1);
    CHECK(std::isnan(y));
    vector_kernels<TestType>(*kernels).min.vv(&y, &one, &nan, 1);
    CHECK(std::isnan(y));
    vector_kernels<TestType>(*kernels).relu(&y, &nan, 1);
    CHECK(std::isnan(y));
  }
}

namespace {

// With what additions round away, as long double is no wider than double on some machines.
class Sum {
 public:
  void add(long double x) {
    const long double next = sum_ + x;
    lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - next) + x : (x - next) + sum_;
    sum_ = next;
  }
  long double value() const { return sum_ + lost_; }

 private:
  long double sum_ = 0;
  long double lost_ = 0;
};

}  // namespace

TEMPLATE_TEST_CASE("sums of long rows keep their accuracy", "", float, double) {
  for (const auto* kernels : all_kernels()) {
    const auto& k = vector_kernels<TestType>(*kernels);
    for (const Index n : {0, 1, 15, 16, 63, 64, 65, 2047, 2048, 2049, 10000, 1000003}) {
      Numbers numbers(static_cast<std::uint64_t>(n) + 1);
      const auto a = numbers.row<TestType>(n);
      const auto b = numbers.row<TestType>(n);
      Sum sum, squares, magnitudes, dot, deviation;
      TestType most = -INFINITY, least = INFINITY;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const long double x = a[i];
        sum.add(x);
        squares.add(x * x);
        magnitudes.add(std::abs(x));
        dot.add(x * b[i]);
        deviation.add((x - 0.5L) * (x - 0.5L));
        most = std::max(most, a[i]);
        least = std::min(least, a[i]);
      }
      const double limit = (sizeof(TestType) == 4 ? 1e-6 : 2e-15) *
                           (static_cast<double>(magnitudes.value()) / 4 + 1);
      INFO(isa_name(*kernels) << " n " << n);
      CHECK(std::abs(static_cast<double>(k.sum(a.data(), n) - sum.value())) < limit);
      CHECK(std::abs(static_cast<double>(k.sum_squares(a.data(), n) - squares.value())) < limit);
      CHECK(std::abs(static_cast<double>(k.sum_abs(a.data(), n) - magnitudes.value())) < limit);
      CHECK(std::abs(static_cast<double>(k.dot(a.data(), b.data(), n) - dot.value())) < limit);
      CHECK(std::abs(static_cast<double>(k.sum_squared_deviation(a.data(), TestType(0.5), n) -
                                         deviation.value())) < limit);
      CHECK(k.max_of(a.data(), n) == most);
      CHECK(k.min_of(a.data(), n) == least);
      if (n == 0) continue;
      auto with_nan = a;
      with_nan[a.size() / 2] = NAN;
      CHECK(std::isnan(k.max_of(with_nan.data(), n)));
      CHECK(std::isnan(k.min_of(with_nan.data(), n)));
    }
  }
}

TEMPLATE_TEST_CASE("column sums equal the sums of the columns for any number of threads", "", float,
                   double) {
  for (const Index rows : {0, 1, 5, 64, 65, 1000}) {
    for (const Index cols : {1, 7, 16, 50, 64, 130, 300}) {
      const Index ld = cols + 3;
      Numbers numbers(static_cast<std::uint64_t>(rows + cols));
      const auto x = numbers.row<TestType>(rows * ld + 1);
      std::vector<double> expected(static_cast<std::size_t>(cols));
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < cols; ++j) {
          expected[static_cast<std::size_t>(j)] +=
              static_cast<double>(x[static_cast<std::size_t>(i * ld + j)]);
        }
      }
      for (const auto* kernels : all_kernels()) {
        std::vector<std::vector<TestType>> sums;
        for (const int threads : {1, 2, 4}) {
          ThreadPool pool(threads);
          sums.emplace_back(static_cast<std::size_t>(cols), TestType(9));
          column_sums(pool, sums.back().data(), x.data(), rows, cols, ld, *kernels);
        }
        CHECK(worst_error(sums[0], expected) < tolerance<TestType>);
        CHECK(same_bits(sums[0], sums[1]));
        CHECK(same_bits(sums[0], sums[2]));
      }
    }
  }
}

TEMPLATE_TEST_CASE("rows are added in their order on every instruction set", "", float, double) {
  for (const Index rows : {0, 1, 5, 33}) {
    for (const Index cols : {1, 7, 16, 50, 64, 300}) {
      const Index ld = cols + 3;
      Numbers numbers(static_cast<std::uint64_t>(rows + cols));
      const auto x = numbers.row<TestType>(rows * ld + 1);
      const auto start = numbers.row<TestType>(cols);
      auto expected = start;
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < cols; ++j) {
          expected[static_cast<std::size_t>(j)] += x[static_cast<std::size_t>(i * ld + j)];
        }
      }
      for (const auto* kernels : all_kernels()) {
        auto sums = start;
        vector_kernels<TestType>(*kernels).add_rows(sums.data(), x.data(), rows, cols, ld);
        CHECK(same_bits(sums, expected));
      }
    }
  }
}

TEMPLATE_TEST_CASE("combinations and gradients of rows follow their formulas", "", float, double) {
  using T = TestType;
  const std::size_t n = 93;
  const auto length = static_cast<Index>(n);
  Numbers numbers(11);
  const auto d = numbers.row<T>(length), x = numbers.row<T>(length), z = numbers.row<T>(length);
  const auto expect = [&](auto&& formula) {
    std::vector<double> e(n);
    for (std::size_t i = 0; i < n; ++i) {
      e[i] =
          formula(static_cast<double>(d[i]), static_cast<double>(x[i]), static_cast<double>(z[i]));
    }
    return e;
  };
  const auto slope = [](double (*f)(double), double at) {
    const double h = 1e-5;
    return (f(at + h) - f(at - h)) / (2 * h);
  };
  for (const auto* kernels : all_kernels()) {
    const auto& k = vector_kernels<T>(*kernels);
    auto y = d;
    k.axpy(y.data(), T(0.5), x.data(), length);
    CHECK(worst_error(y, expect([](double a, double b, double) { return a + 0.5 * b; })) <
          tolerance<T>);
    y = d;
    k.axpby(y.data(), T(0.5), x.data(), T(-2), length);
    CHECK(worst_error(y, expect([](double a, double b, double) { return 0.5 * b - 2 * a; })) <
          tolerance<T>);
    y = d;
    k.multiply_add(y.data(), x.data(), z.data(), length);
    CHECK(worst_error(y, expect([](double a, double b, double c) { return a + b * c; })) <
          tolerance<T>);
    k.affine(y.data(), x.data(), T(0.25), T(3), T(-1), length);
    CHECK(worst_error(y, expect([](double, double b, double) { return (b - 0.25) * 3 - 1; })) <
          tolerance<T>);
    k.fill(y.data(), T(4), length);
    CHECK(y == std::vector<T>(n, 4));
    k.copy(y.data(), x.data(), length);
    CHECK(y == x);
    k.relu_gradient(y.data(), d.data(), x.data(), length);
    CHECK(worst_error(y, expect([](double a, double b, double) { return b > 0 ? a : 0; })) == 0);
    k.sigmoid_gradient(y.data(), d.data(), x.data(), length);
    CHECK(worst_error(y, expect([](double a, double b, double) { return a * b * (1 - b); })) <
          tolerance<T>);
    k.tanh_gradient(y.data(), d.data(), x.data(), length);
    CHECK(worst_error(y, expect([](double a, double b, double) { return a * (1 - b * b); })) <
          tolerance<T>);
    k.gelu_gradient(y.data(), d.data(), x.data(), length);
    CHECK(worst_error(y, expect([&](double a, double b, double) { return a * slope(gelu, b); })) <
          2e-6);
    k.gelu_tanh_gradient(y.data(), d.data(), x.data(), length);
    CHECK(worst_error(y, expect([&](double a, double b, double) {
                        return a * slope(gelu_tanh, b);
                      })) < 2e-6);
    k.hard_swish(y.data(), x.data(), length);
    CHECK(worst_error(y, expect([](double, double b, double) { return hard_swish(b); })) <
          tolerance<T>);
    k.hard_swish_gradient(y.data(), d.data(), x.data(), length);
    CHECK(worst_error(y, expect([&](double a, double b, double) {
                        return a * slope(hard_swish, b);
                      })) < 2e-6);
    k.swish(y.data(), x.data(), T(1.5), length);
    CHECK(worst_error(y, expect([](double, double b, double) { return swish(b); })) <
          2 * tolerance<T>);
    k.swish_gradient(y.data(), d.data(), x.data(), T(1.5), length);
    CHECK(worst_error(y, expect([&](double a, double b, double) { return a * slope(swish, b); })) <
          2e-6);
  }
}
