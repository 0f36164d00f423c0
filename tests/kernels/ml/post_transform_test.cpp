// Transformations of scores at and around their bounds, by their definitions.
#include "kernels/ml/post_transform.h"

#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

using namespace ondine;
using namespace ondine::kernels;

namespace {

using Scores = std::vector<double>;

Scores transformed(PostTransform transform, Scores scores) {
  kernels::apply(transform, scores);
  return scores;
}

void check(const Scores& got, const Scores& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i] == Approx(want[i]).epsilon(1e-12).margin(1e-300));
  }
}

constexpr double infinite = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a softmax divides powers by their sum, also of large scores") {
  const double sum = std::exp(-1) + std::exp(-3) + 1;
  const Scores want{std::exp(-1) / sum, 1 / sum, std::exp(-3) / sum};
  check(transformed(PostTransform::softmax, {2, 3, 0}), want);
  check(transformed(PostTransform::softmax, {1002, 1003, 1000}), want);
  check(transformed(PostTransform::softmax, {-1001, -1000, -1003}), want);
  check(transformed(PostTransform::softmax, {7}), {1});
  CHECK(transformed(PostTransform::softmax, {}).empty());
  CHECK(transformed(PostTransform::softmax_zero, {}).empty());
}

TEST_CASE("scores within 1e-7 of zero are scaled by a softmax that leaves them out") {
  for (const double small : {0.0, 0.99e-7, -0.99e-7}) {
    CAPTURE(small);
    const double sum = std::exp(-1) + 1;
    check(transformed(PostTransform::softmax_zero, {2, small, 3}),
          {std::exp(-1) / sum, small * std::exp(-3) / sum, 1 / sum});
  }
  for (const double counted : {1e-7, -1e-7}) {
    CAPTURE(counted);
    check(transformed(PostTransform::softmax_zero, {counted, 3}),
          transformed(PostTransform::softmax, {counted, 3}));
  }
  check(transformed(PostTransform::softmax_zero, {0, 0}), {0.5, 0.5});
  check(transformed(PostTransform::softmax_zero, {-2, 0}), {1, 0});
}

TEST_CASE("a probit is where the normal distribution has reached its argument") {
  for (const double p : {1e-20, 1e-5, 0.1, 0.49, 0.51, 0.9, 0.999}) {
    CAPTURE(p);
    const double x = transformed(PostTransform::probit, {p})[0];
    CHECK(std::erfc(-x / std::sqrt(2.0)) / 2 == Approx(p).epsilon(1e-9));
    CHECK((x > 0) == (p > 0.5));
  }
  CHECK(transformed(PostTransform::probit, {0.5})[0] == Approx(0).margin(1e-12));
  CHECK(transformed(PostTransform::probit, {0, 1}) == Scores{-infinite, infinite});
  for (const double outside : {-0.1, 1.1, -infinite, std::nan("")}) {
    CHECK(std::isnan(transformed(PostTransform::probit, {outside})[0]));
  }
  // Where the density underflows the approximation stands.
  CHECK(std::isfinite(transformed(PostTransform::probit, {5e-324})[0]));
}

TEST_CASE("logistic functions are of each score, and without a transformation nothing changes") {
  check(transformed(PostTransform::logistic, {0, 1, -2}),
        {0.5, 1 / (1 + std::exp(-1)), 1 / (1 + std::exp(2))});
  CHECK(transformed(PostTransform::none, {0, 1, -2}) == Scores{0, 1, -2});
}

TEST_CASE("the score of the other class is the complement of a probability, else the negative") {
  const auto other = [](PostTransform transform, SingleScore meaning) {
    Scores scores{9, 0.25};
    kernels::make_pair(transform, meaning, scores);
    CHECK(scores[1] == 0.25);
    return scores[0];
  };
  for (const PostTransform transform :
       {PostTransform::none, PostTransform::softmax, PostTransform::logistic,
        PostTransform::softmax_zero, PostTransform::probit}) {
    const bool untransformed =
        transform == PostTransform::none || transform == PostTransform::probit;
    CHECK(other(transform, SingleScore::probability) == (untransformed ? 0.75 : -0.25));
    CHECK(other(transform, SingleScore::margin) == -0.25);
  }
}

TEST_CASE("of equal greatest scores the first is the top") {
  CHECK(top_class(Scores{1, 3, 3, 2}) == 1);
  CHECK(top_class(Scores{-1}) == 0);
  CHECK(top_class(Scores{-3, -2, -1}) == 2);
}
