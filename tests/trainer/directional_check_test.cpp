#include "trainer/directional_check.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace ondine;

namespace {

// t^2 and the sum of |t - k| over kinks k.
Line absolutes(const std::vector<double>& kinks) {
  Line line;
  line.value = [kinks](double t) {
    double sum = t * t;
    for (const double k : kinks) sum += std::abs(t - k);
    return sum;
  };
  line.slope = [kinks](double t) {
    double sum = 2 * t;
    for (const double k : kinks) sum += t > k ? 1 : (t < k ? -1 : 0);
    return sum;
  };
  return line;
}

// A thousand kinks ahead, the first at a distance where rounding errors spoil central differences.
Line dense(double wrong = 1) {
  Line line;
  const auto kink = [](int i) { return (i + 0.5) * 1e-8; };
  line.value = [kink](double t) {
    double sum = t + 1e-12 * std::sin(7e12 * t);
    for (int i = 0; i < 1000; ++i) sum += 1e-4 * std::abs(t - kink(i));
    return sum;
  };
  line.slope = [kink, wrong](double t) {
    double sum = 1;
    for (int i = 0; i < 1000; ++i) sum += t > kink(i) ? 1e-4 : -1e-4;
    return wrong * sum;
  };
  return line;
}

}  // namespace

TEST_CASE("a smooth derivative passes with one central difference and without a kink") {
  Line line;
  int values = 0;
  line.value = [&](double t) { return ++values, std::exp(3 * t); };
  line.slope = [](double t) { return 3 * std::exp(3 * t); };
  const DirectionalResult result = check_direction(line, DType::float64);
  CHECK(result.passed);
  CHECK_FALSE(result.kink);
  CHECK(result.analytic == 3);
  CHECK(result.numeric == Approx(3).epsilon(1e-6));
  CHECK(values == 2);
}

TEST_CASE("a strongly curved function passes with a smaller step and is no kink") {
  Line line;
  line.value = [](double t) { return std::sin(3e4 * t) / 3e4; };
  line.slope = [](double t) { return std::cos(3e4 * t); };
  const DirectionalResult result = check_direction(line, DType::float64);
  CHECK(result.passed);
  CHECK_FALSE(result.kink);
}

TEST_CASE("a kink within the step is passed by a smaller one and named") {
  const DirectionalResult result = check_direction(absolutes({3e-7}), DType::float64);
  CHECK(result.passed);
  CHECK(result.kink);
  CHECK(result.analytic == -1);
}

TEST_CASE("a kink at a distance of 1e-11 is passed by a step of 1e-12") {
  CHECK(check_direction(absolutes({1e-11}), DType::float64).passed);
  Line wrong = absolutes({1e-11});
  wrong.slope = [](double t) { return 2 * t + (t > 1e-11 ? 1 : -1.01); };
  CHECK_FALSE(check_direction(wrong, DType::float64).passed);
}

TEST_CASE("a derivative among dense kinks passes by its mean over a segment") {
  const DirectionalResult result = check_direction(dense(), DType::float64);
  CHECK(result.passed);
  CHECK(result.error < 1e-2);
}

TEST_CASE("a wrong derivative among dense kinks fails") {
  const double wrong = GENERATE(0.0, 0.5, 0.97, 1.03, 2.0, -1.0);
  const DirectionalResult result = check_direction(dense(wrong), DType::float64);
  CHECK_FALSE(result.passed);
  CHECK_FALSE(result.kink);
}

TEST_CASE("a derivative that is wrong beyond a kink only fails on that side") {
  Line line = absolutes({-3e-7});
  line.slope = [](double t) { return 2 * t + (t > -3e-7 ? 1.5 : -1.0); };
  CHECK_FALSE(check_direction(line, DType::float64).passed);
}

TEST_CASE("a straight-through derivative of steps fails") {
  Line line;
  line.value = [](double t) { return std::round((t + 0.3) * 10) / 10; };
  line.slope = [](double) { return 1.0; };
  CHECK_FALSE(check_direction(line, DType::float64).passed);
  CHECK_FALSE(check_direction(line, DType::float32).passed);
}

TEST_CASE("a point on a kink fails, and is named where the derivative is right around it") {
  const double wrong = GENERATE(1.0, 2.0);
  Line line;
  // Relu: the slope at the kink is that of one side.
  line.value = [](double t) { return std::max(t, 0.0); };
  line.slope = [wrong](double t) { return t > 0 ? wrong : 0.0; };
  const DirectionalResult result = check_direction(line, DType::float64);
  CHECK_FALSE(result.passed);
  CHECK(result.kink == (wrong == 1));
}

TEST_CASE("in float32 a kink within the step passes by the mean over a segment") {
  Line line;
  line.value = [](double t) {
    return static_cast<double>(static_cast<float>(1 + std::max(0.0, t + 1e-3)));
  };
  line.slope = [](double t) { return t > -1e-3 ? 1.0 : 0.0; };
  const DirectionalResult result = check_direction(line, DType::float32);
  CHECK(result.passed);
  CHECK(result.kink);
  line.slope = [](double t) { return t > -1e-3 ? 1.3 : 0.0; };
  CHECK_FALSE(check_direction(line, DType::float32).passed);
}
