#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/random_tensor.h"
#include "tests/trainer/losses/loss_run.h"

using namespace ondine;
using namespace ondine::test;

namespace {

const std::vector<std::int64_t> classes{0, 1, 0, 2, 1, 0};

NamedValues labels_of(const std::vector<std::int64_t>& values) {
  Tensor label(DType::int64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), label.mutable_values<std::int64_t>().begin());
  return {{"label", label}};
}

double distance(const Tensor& y, std::size_t a, std::size_t b) {
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double d = y.values<double>()[a * 3 + i] - y.values<double>()[b * 3 + i];
    sum += d * d;
  }
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("the triplet loss is the mean over all triplets of a batch") {
  const auto margin = GENERATE(0.5F, 2.0F);
  const Tensor y = random_tensor({6, 3}, 11);
  double sum = 0;
  int count = 0;
  for (std::size_t a = 0; a < 6; ++a) {
    for (std::size_t p = 0; p < 6; ++p) {
      for (std::size_t n = 0; n < 6; ++n) {
        if (a == p || classes[a] != classes[p] || classes[a] == classes[n]) continue;
        sum += std::max(0.0, distance(y, a, p) - distance(y, a, n) + double{margin});
        ++count;
      }
    }
  }
  const LossRun run = check_loss({.loss = Loss::triplet, .margin = margin}, y, labels_of(classes));
  CHECK(run.loss == Approx(sum / count).epsilon(1e-12));
}

TEST_CASE("the contrastive loss is the mean over all pairs of a batch") {
  const auto margin = GENERATE(1.0F, 3.0F);
  const Tensor y = random_tensor({6, 3}, 12);
  double sum = 0;
  for (std::size_t a = 0; a < 6; ++a) {
    for (std::size_t b = a + 1; b < 6; ++b) {
      const double d = distance(y, a, b);
      const double rest = std::max(0.0, double{margin} - d);
      sum += classes[a] == classes[b] ? d * d : rest * rest;
    }
  }
  const LossRun run =
      check_loss({.loss = Loss::contrastive, .margin = margin}, y, labels_of(classes));
  CHECK(run.loss == Approx(sum / 15).epsilon(1e-12));
}

TEST_CASE("batches without a triplet or a pair have loss 0, equal rows finite derivatives") {
  const auto loss = GENERATE(Loss::triplet, Loss::contrastive);
  const Tensor y = random_tensor({3, 3}, 13);
  CHECK(run_loss({.loss = Loss::triplet}, y, labels_of({1, 1, 1})).loss == 0);
  CHECK(run_loss({.loss = loss}, random_tensor({1, 3}, 13), labels_of({1})).loss == 0);
  const LossRun equal =
      run_loss({.loss = loss}, Tensor(DType::float64, {3, 3}), labels_of({0, 0, 1}));
  CHECK(equal.loss == Approx(loss == Loss::triplet ? 1 : 2.0 / 3));
  for (const double one : equal.gradient) CHECK(std::isfinite(one));
}
