#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/error.h>
#include <ondine/privacy.h>

using namespace ondine;
using Catch::Contains;

namespace {

struct Spent {
  double noise, rate;
  std::uint64_t steps;
  double delta, epsilon;
};

const Spent opacus[] = {
#include "tests/trainer/privacy/opacus_values.inc"
};

double epsilon_of(const Spent& one) {
  PrivacyAccountant accountant;
  accountant.add(one.noise, one.rate, one.steps);
  return accountant.epsilon(one.delta);
}

}  // namespace

TEST_CASE("epsilons are those of Opacus with the same orders") {
  int finite = 0;
  for (const Spent& one : opacus) {
    CAPTURE(one.noise, one.rate, one.steps, one.delta);
    CHECK(epsilon_of(one) == Approx(std::max(0.0, one.epsilon)).epsilon(1e-6).margin(1e-9));
    if (one.epsilon > 0 && std::isfinite(one.epsilon)) ++finite;
  }
  CHECK(finite > 150);
}

TEST_CASE("one step of every row costs what the Gaussian mechanism does") {
  // Renyi divergence order / (2 noise^2), converted to epsilon by hand at the best order.
  const double noise = 2, delta = 1e-5;
  double least = 1e9;
  for (double order = 1.1; order < 63; order += 0.1) {
    least = std::min(least, order / (2 * noise * noise) +
                                (std::log(1 / delta) - std::log(order)) / (order - 1) +
                                std::log1p(-1 / order));
  }
  CHECK(epsilon_of({noise, 1, 1, delta, 0}) == Approx(least).epsilon(1e-3));
}

TEST_CASE("more noise, fewer steps and rarer rows cost less") {
  const double base = epsilon_of({1, 0.02, 1000, 1e-5, 0});
  CHECK(epsilon_of({1.1, 0.02, 1000, 1e-5, 0}) < base);
  CHECK(epsilon_of({1, 0.02, 900, 1e-5, 0}) < base);
  CHECK(epsilon_of({1, 0.01, 1000, 1e-5, 0}) < base);
  CHECK(epsilon_of({1, 0.02, 1000, 1e-4, 0}) < base);
}

TEST_CASE("steps of several kinds add up") {
  PrivacyAccountant parts, whole;
  for (int i = 0; i < 10; ++i) parts.add(1.2, 0.01, 7);
  whole.add(1.2, 0.01, 70);
  CHECK(parts.epsilon(1e-5) == Approx(whole.epsilon(1e-5)).epsilon(1e-12));
  parts.add(0.8, 0.05, 10);
  CHECK(parts.epsilon(1e-5) > whole.epsilon(1e-5));
}

TEST_CASE("steps without noise have no epsilon, and no steps cost nothing") {
  CHECK(PrivacyAccountant().epsilon(1e-5) == 0);
  CHECK(std::isinf(epsilon_of({0, 0.1, 1, 1e-5, 0})));
  CHECK(epsilon_of({0, 0, 1, 1e-5, 0}) == 0);
}

TEST_CASE("the noise for an epsilon gives it and hardly more") {
  const double noise = noise_for(2, 1e-5, 0.01, 3000);
  CHECK(epsilon_of({noise, 0.01, 3000, 1e-5, 0}) <= 2);
  CHECK(epsilon_of({noise * 0.995, 0.01, 3000, 1e-5, 0}) > 2);
  CHECK_THROWS_WITH(noise_for(1e-9, 1e-5, 0.5, 1000), Contains("no noise up to"));
}

TEST_CASE("values out of range are refused") {
  PrivacyAccountant accountant;
  CHECK_THROWS_WITH(accountant.add(-1, 0.1, 1), Contains("noise"));
  CHECK_THROWS_WITH(accountant.add(std::nan(""), 0.1, 1), Contains("noise"));
  CHECK_THROWS_WITH(accountant.add(1, 1.5, 1), Contains("[0, 1]"));
  CHECK_THROWS_WITH(accountant.epsilon(0), Contains("delta"));
  CHECK_THROWS_WITH(noise_for(0, 1e-5, 0.1, 1), Contains("epsilon"));
}
