#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "trainer/text/generate/sampler.h"

using namespace ondine;
using Catch::Contains;
using text::Sampler;
using Numbers = std::vector<double>;

namespace {

// Scores of which the softmax has these probabilities.
Numbers scores_of(const Numbers& probabilities) {
  Numbers scores;
  for (const double p : probabilities) scores.push_back(std::log(p) + 3);
  return scores;
}

// Probabilities by which the sampler draws.
Numbers distribution(const GenerateOptions& options, const Numbers& scores,
                     std::initializer_list<std::int64_t> seen = {}) {
  Sampler sampler(options);
  for (const std::int64_t token : seen) sampler.see(token);
  Numbers weights = sampler.weights(scores);
  double sum = 0;
  for (const double weight : weights) sum += weight;
  for (double& weight : weights) weight /= sum;
  return weights;
}

void check_equal(const Numbers& found, const Numbers& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i] == Approx(wanted[i]).margin(1e-12));
  }
}

const Numbers five{0.1, 0.4, 0.05, 0.25, 0.2};

}  // namespace

TEST_CASE("without filters tokens are drawn by the softmax at the temperature") {
  check_equal(distribution({}, scores_of(five)), five);
  // p^2 / (0.01 + 0.16 + 0.0025 + 0.0625 + 0.04), which is 0.275.
  check_equal(distribution({.temperature = 0.5}, scores_of(five)),
              {0.01 / 0.275, 0.16 / 0.275, 0.0025 / 0.275, 0.0625 / 0.275, 0.04 / 0.275});
}

TEST_CASE("top-k leaves the largest scores, of equal ones those with the smaller ids") {
  check_equal(distribution({.top_k = 2}, scores_of(five)), {0, 0.4 / 0.65, 0, 0.25 / 0.65, 0});
  check_equal(distribution({.top_k = 9}, scores_of(five)), five);
  check_equal(distribution({.top_k = 2}, {1, 2, 1, 1}),
              {1 / (1 + std::exp(1.0)), std::exp(1.0) / (1 + std::exp(1.0)), 0, 0});
}

TEST_CASE("top-p leaves the fewest tokens that have this probability together") {
  check_equal(distribution({.top_p = 0.6}, scores_of(five)), {0, 0.4 / 0.65, 0, 0.25 / 0.65, 0});
  check_equal(distribution({.top_p = 0.66}, scores_of(five)),
              {0, 0.4 / 0.85, 0, 0.25 / 0.85, 0.2 / 0.85});
  check_equal(distribution({.top_p = 0.01}, scores_of(five)), {0, 1, 0, 0, 0});
  check_equal(distribution({.top_p = 1}, scores_of(five)), five);
}

TEST_CASE("min-p leaves tokens with a share of the largest probability") {
  check_equal(distribution({.min_p = 0.45}, scores_of(five)),
              {0, 0.4 / 0.85, 0, 0.25 / 0.85, 0.2 / 0.85});
  check_equal(distribution({.min_p = 1}, scores_of(five)), {0, 1, 0, 0, 0});
}

TEST_CASE("filters follow one another: penalty, temperature, top-k, top-p, min-p") {
  // top-k leaves 0.4, 0.25 and 0.2, of 0.85: 0.4 and 0.25 are 0.765 of that, where of all tokens
  // they were 0.65.
  check_equal(distribution({.top_k = 3, .top_p = 0.7}, scores_of(five)),
              {0, 0.4 / 0.65, 0, 0.25 / 0.65, 0});
  // At temperature 0.5 the second is (0.25 / 0.4)^2 = 0.39 of the first.
  check_equal(distribution({.temperature = 0.5, .min_p = 0.45}, scores_of(five)), {0, 1, 0, 0, 0});
  // The penalty comes before the temperature: ln 9 / 2 = ln 3, twice that is ln 9 again.
  const double ninth = std::log(9.0);
  check_equal(distribution({.temperature = 0.5, .repeat_penalty = 2}, {ninth, 0}, {0}), {0.9, 0.1});
}

TEST_CASE("a repeat penalty makes tokens that were seen less likely, whatever their sign") {
  const double ln4 = std::log(4.0);
  check_equal(distribution({.repeat_penalty = 2}, {ln4, 0, ln4}, {0}), {2.0 / 7, 1.0 / 7, 4.0 / 7});
  check_equal(distribution({.repeat_penalty = 2}, {-ln4, 0, -ln4}, {0, 0}),
              {1.0 / 21, 16.0 / 21, 4.0 / 21});
  Sampler greedy({.temperature = 0, .repeat_penalty = 2});
  CHECK(greedy.choose({3, 2}, 0) == 0);
  greedy.see(0);
  CHECK(greedy.choose({3, 2}, 0) == 1);
}

TEST_CASE("choices have the weights' frequencies and are a function of seed and step") {
  const Sampler sampler({.top_k = 2, .seed = 7});
  const Sampler other({.top_k = 2, .seed = 8});
  int second = 0;
  int differences = 0;
  constexpr int draws = 4000;
  for (std::uint64_t step = 0; step < draws; ++step) {
    const std::int64_t token = sampler.choose(scores_of(five), step);
    REQUIRE((token == 1 || token == 3));
    CHECK(token == sampler.choose(scores_of(five), step));
    second += token == 3 ? 1 : 0;
    differences += token != other.choose(scores_of(five), step) ? 1 : 0;
  }
  const double p = 0.25 / 0.65;
  CHECK(second / double{draws} == Approx(p).margin(4 * std::sqrt(p * (1 - p) / draws)));
  CHECK(differences > 0);
}

TEST_CASE("scores that are no numbers are refused, minus infinity is a token left out") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
  for (const double temperature : {0.0, 1.0}) {
    const Sampler sampler({.temperature = temperature});
    CHECK_THROWS_WITH(sampler.choose({0, not_a_number}, 0), Contains("token 1 is nan"));
    CHECK_THROWS_WITH(sampler.choose({infinity, 1}, 0), Contains("token 0 is inf"));
    CHECK_THROWS_WITH(sampler.choose({-infinity, -infinity}, 0), Contains("no token"));
    CHECK(sampler.choose({-infinity, -3}, 0) == 1);
  }
}
