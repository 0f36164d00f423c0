#include <catch2/catch.hpp>

#include <cmath>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// Determinant by expansion along the first row.
double determinant(const std::vector<double>& a, std::size_t n) {
  if (n == 0) return 1;
  double sum = 0;
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<double> minor;
    for (std::size_t i = 1; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k) {
        if (k != j) minor.push_back(a[i * n + k]);
      }
    }
    sum += (j % 2 == 0 ? 1 : -1) * a[j] * determinant(minor, n - 1);
  }
  return sum;
}

// Without row i and column j.
std::vector<double> minor_of(const std::vector<double>& a, std::size_t n, std::size_t i,
                             std::size_t j) {
  std::vector<double> result;
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < n; ++c) {
      if (r != i && c != j) result.push_back(a[r * n + c]);
    }
  }
  return result;
}

Tensor cofactors_by_minors(const Tensor& x) {
  const auto n = static_cast<std::size_t>(x.shape()[0]);
  const auto values = x.values<double>();
  const std::vector<double> a(values.begin(), values.end());
  Tensor result(DType::float64, x.shape());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      result.mutable_values<double>()[i * n + j] =
          ((i + j) % 2 == 0 ? 1 : -1) * determinant(minor_of(a, n, i, j), n - 1);
    }
  }
  return result;
}

// Row `which` becomes the sum of the others, so that the rank is n - 1 (n > 1).
Tensor singular(std::int64_t n, std::int64_t which, std::uint64_t seed) {
  Tensor x = random_tensor({n, n}, seed);
  auto a = x.mutable_values<double>();
  for (std::int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (i != which) sum += a[static_cast<std::size_t>(i * n + j)];
    }
    a[static_cast<std::size_t>(which * n + j)] = sum;
  }
  return x;
}

Tensor cofactor(const Tensor& x) {
  return run_op_tensor({.op = "Cofactor", .inputs = {x}, .domain = "ai.ondine"});
}

}  // namespace

TEST_CASE("Det of matrices in a batch") {
  for (const std::int64_t n : {0, 1, 2, 3, 5}) {
    const Tensor x = random_tensor({2, n, n}, 1);
    Tensor want(DType::float64, {2});
    for (std::size_t b = 0; b < 2; ++b) {
      const auto size = static_cast<std::size_t>(n * n);
      const auto part = x.values<double>().subspan(b * size, size);
      want.mutable_values<double>()[b] =
          determinant({part.begin(), part.end()}, static_cast<std::size_t>(n));
    }
    check_close(run_op_tensor({"Det", {x}}), want);
  }
}

TEST_CASE("Cofactors exist for singular matrices") {
  check_close(cofactor(Tensor::of<double>({2, 2}, {1, 2, 3, 4})),
              Tensor::of<double>({2, 2}, {4, -3, -2, 1}));
  check_close(cofactor(Tensor::of<double>({2, 2}, {1, 2, 2, 4})),
              Tensor::of<double>({2, 2}, {4, -2, -2, 1}));
  check_close(cofactor(Tensor::of<double>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})),
              Tensor::of<double>({3, 3}, {-3, 6, -3, 6, -12, 6, -3, 6, -3}), {1e-9, 1e-12});
  check_close(cofactor(Tensor::of<double>({3, 3}, {1, 2, 3, 1, 2, 3, 1, 2, 3})),
              Tensor(DType::float64, {3, 3}));
  check_close(cofactor(Tensor(DType::float64, {1, 1})), Tensor::of<double>({1, 1}, {1}));
}

TEST_CASE("Cofactors equal the signed minors of regular and of singular matrices") {
  for (const std::int64_t n : {2, 3, 4, 5}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Tensor regular = random_tensor({n, n}, seed);
      check_close(cofactor(regular), cofactors_by_minors(regular), {1e-9, 1e-11});
      const Tensor x = singular(n, static_cast<std::int64_t>(seed) % n, seed);
      check_close(cofactor(x), cofactors_by_minors(x), {1e-9, 1e-11});
      CHECK(run_op_tensor({"Det", {x}}).item<double>() == 0);
    }
  }
}

TEST_CASE("Det and cofactors are NaN where an element is not finite") {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    const Tensor x = Tensor::of<double>({2, 2}, {bad, 1, 1, 2});
    CHECK(std::isnan(run_op_tensor({"Det", {x}}).item<double>()));
    const Tensor c = cofactor(x);
    for (const double v : c.values<double>()) CHECK(std::isnan(v));
  }
  const Tensor one = Tensor::of<double>({1, 1}, {HUGE_VAL});
  CHECK(run_op_tensor({"Det", {one}}).item<double>() == HUGE_VAL);
  CHECK(cofactor(one).item<double>() == 1);
}

TEST_CASE("Det rejects what is not square") {
  CHECK_THROWS_AS(run_op({"Det", {random_tensor({2, 3}, 1)}}), Error);
  CHECK_THROWS_AS(run_op({"Det", {random_tensor({2}, 1)}}), Error);
}

TEST_CASE("Derivatives of Det") {
  check_gradient({"Det", {random_tensor({2, 3, 3}, 4)}});
  check_gradient({"Det", {random_tensor({2, 2}, 1)}});
  check_gradient({"Det", {Tensor::of<double>({2, 2}, {1, 2, 2, 4})}}, {.order = 1});
}
