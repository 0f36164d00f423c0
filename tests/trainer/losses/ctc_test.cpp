#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/random_tensor.h"
#include "tests/trainer/losses/loss_run.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Tensor integers(const Shape& shape, const std::vector<std::int64_t>& values) {
  Tensor tensor(DType::int64, shape);
  std::copy(values.begin(), values.end(), tensor.mutable_values<std::int64_t>().begin());
  return tensor;
}

// Without repetitions and blanks.
std::vector<std::int64_t> labels_of_path(const std::vector<std::int64_t>& path,
                                         std::int64_t blank) {
  std::vector<std::int64_t> result;
  for (std::size_t t = 0; t < path.size(); ++t) {
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) result.push_back(path[t]);
  }
  return result;
}

// - log of the sum over all paths of classes that give the labels.
double by_enumeration(const Tensor& y, std::size_t example, std::size_t steps,
                      const std::vector<std::int64_t>& labels, std::int64_t blank) {
  const auto all_steps = static_cast<std::size_t>(y.shape()[1]);
  const auto classes = static_cast<std::size_t>(y.shape()[2]);
  std::vector<std::vector<double>> log_p;
  for (std::size_t t = 0; t < steps; ++t) {
    const auto* row = y.values<double>().data() + (example * all_steps + t) * classes;
    log_p.push_back(log_softmax_of({row, row + classes}));
  }
  std::vector<std::int64_t> path(steps, 0);
  double total = 0;
  while (true) {
    if (labels_of_path(path, blank) == labels) {
      double score = 0;
      for (std::size_t t = 0; t < steps; ++t) score += log_p[t][static_cast<std::size_t>(path[t])];
      total += std::exp(score);
    }
    std::size_t t = 0;
    while (t < steps && ++path[t] == static_cast<std::int64_t>(classes)) path[t++] = 0;
    if (t == steps) return -std::log(total);
  }
}

}  // namespace

TEST_CASE("CTC is the sum over all paths, divided by the number of labels") {
  const std::int64_t blank = GENERATE(0, 2);
  const std::int64_t a = blank == 0 ? 1 : 0;
  const std::int64_t b = blank == 0 ? 2 : 1;
  const Tensor y = random_tensor({4, 5, 3}, 21);
  // A repeated label, one that is cut short, one with room to spare and none.
  const std::vector<std::vector<std::int64_t>> labels{{a, a, b}, {b, a}, {a}, {}};
  const std::vector<std::int64_t> steps{5, 3, 4, 2};
  Tensor padded = integers({4, 3}, std::vector<std::int64_t>(12, -1));
  double want = 0;
  for (std::size_t n = 0; n < 4; ++n) {
    std::copy(labels[n].begin(), labels[n].end(),
              padded.mutable_values<std::int64_t>().begin() + static_cast<std::ptrdiff_t>(3 * n));
    const double count = std::max<double>(1, static_cast<double>(labels[n].size()));
    want += by_enumeration(y, n, static_cast<std::size_t>(steps[n]), labels[n], blank) / count / 4;
  }
  const LossRun run = check_loss({.loss = Loss::ctc, .ctc_blank = blank}, y,
                                 {{"label", padded},
                                  {"label_lengths", integers({4}, {3, 2, 1, 0})},
                                  {"label_input_lengths", integers({4}, steps)}});
  CHECK(run.loss == Approx(want).epsilon(1e-12));
}

TEST_CASE("labels that the steps have no room for have CTC loss 0 and no derivative") {
  const Tensor y = random_tensor({2, 3, 3}, 22);
  // A blank must be between equal labels: 4 steps for 3 of which two are equal.
  const LossRun run = run_loss({.loss = Loss::ctc}, y,
                               {{"label", integers({2, 3}, {1, 1, 2, 1, 2, 0})},
                                {"label_lengths", integers({2}, {3, 2})},
                                {"label_input_lengths", integers({2}, {3, 3})}});
  CHECK(run.loss == Approx(by_enumeration(y, 1, 3, {1, 2}, 0) / 2 / 2).epsilon(1e-12));
  for (std::size_t i = 0; i < 9; ++i) CHECK(run.gradient[i] == 0);
  for (std::size_t i = 9; i < 18; ++i) CHECK(run.gradient[i] != 0);
}
