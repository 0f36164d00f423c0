#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// By the first row.
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

TEST_CASE("Det rejects what is not square") {
  CHECK_THROWS_AS(run_op({"Det", {random_tensor({2, 3}, 1)}}), Error);
  CHECK_THROWS_AS(run_op({"Det", {random_tensor({2}, 1)}}), Error);
}

TEST_CASE("Derivatives of Det") {
  check_gradient({"Det", {random_tensor({2, 3, 3}, 4)}});
  check_gradient({"Det", {random_tensor({2, 2}, 1)}});
  check_gradient({"Det", {Tensor::of<double>({2, 2}, {1, 2, 2, 4})}}, {.order = 1});
}
