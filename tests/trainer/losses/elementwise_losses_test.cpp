// Hinge, dice and cosine losses.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/random_tensor.h"
#include "tests/trainer/losses/loss_run.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("the hinge loss is max(0, 1 - x t)") {
  const Tensor y = Tensor::of<double>({2, 2}, {0.5, 2, -0.25, 3});
  const Tensor t = Tensor::of<double>({2, 2}, {1, 1, -1, -1});
  const LossRun run = check_loss({.loss = Loss::hinge}, y, {{"label", t}});
  CHECK(run.loss == Approx((0.5 + 0 + 0.75 + 4) / 4));
  CHECK(run.gradient == std::vector<double>{-0.25, 0, 0.25, 0.25});
}

TEST_CASE("the dice loss sums over the positions of each example and channel") {
  const Shape shape = GENERATE(Shape{2, 3, 2, 2}, Shape{2, 3, 4}, Shape{6, 4});
  const Tensor y = random_tensor(shape, 5);
  const Tensor t = random_tensor(shape, 6, 0, 1);
  double want = 0;
  for (std::size_t group = 0; group < 6; ++group) {
    double both = 1;
    double sum = 1;
    for (std::size_t i = group * 4; i < group * 4 + 4; ++i) {
      const double p = 1 / (1 + std::exp(-y.values<double>()[i]));
      both += 2 * p * t.values<double>()[i];
      sum += p + t.values<double>()[i];
    }
    want += (1 - both / sum) / 6;
  }
  CHECK(check_loss({.loss = Loss::dice}, y, {{"label", t}}).loss == Approx(want).epsilon(1e-12));
}

TEST_CASE("the dice loss of an empty mask that is predicted as empty is 0") {
  const Tensor y = Tensor::of<double>({1, 1, 3}, {-50, -50, -50});
  const LossRun run =
      run_loss({.loss = Loss::dice}, y, {{"label", Tensor(DType::float64, {1, 1, 3})}});
  CHECK(run.loss == Approx(0).margin(1e-15));
}

TEST_CASE("the cosine loss is 1 - cos along the last axis") {
  const Tensor y = random_tensor({2, 2, 3}, 8);
  const Tensor t = random_tensor({2, 2, 3}, 9);
  double want = 0;
  for (std::size_t row = 0; row < 4; ++row) {
    double dot = 0;
    double a = 0;
    double b = 0;
    for (std::size_t i = row * 3; i < row * 3 + 3; ++i) {
      const double u = y.values<double>()[i];
      const double v = t.values<double>()[i];
      dot += u * v;
      a += u * u;
      b += v * v;
    }
    want += (1 - dot / std::sqrt(a * b)) / 4;
  }
  CHECK(check_loss({.loss = Loss::cosine}, y, {{"label", t}}).loss == Approx(want).epsilon(1e-12));
}

TEST_CASE("the cosine loss is 0, 1 or 2 for parallel, orthogonal or opposite vectors") {
  const Tensor y = Tensor::of<double>({3, 2}, {2, 0, 0, 3, -1, -1});
  const Tensor t = Tensor::of<double>({3, 2}, {5, 0, 1, 0, 2, 2});
  CHECK(run_loss({.loss = Loss::cosine}, y, {{"label", t}}).loss == Approx((0 + 1 + 2) / 3.0));
}

TEST_CASE("a vector of zeros has cosine loss 1 and no derivative") {
  const Tensor some = Tensor::of<double>({1, 2}, {1, 2});
  const Tensor none(DType::float64, {1, 2});
  for (const auto& [y, t] : {std::pair{none, some}, std::pair{some, none}, std::pair{none, none}}) {
    const LossRun run = run_loss({.loss = Loss::cosine}, y, {{"label", t}});
    CHECK(run.loss == 1);
    CHECK(run.gradient == std::vector<double>{0, 0});
  }
}
