// The loss of pairs within a batch against sums written out in double.
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/losses.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"

namespace ondine::test {
namespace {

using Catch::Matchers::Contains;
using Rows = std::vector<std::vector<double>>;

constexpr std::int64_t pairs = 5;
constexpr std::int64_t width = 4;
constexpr std::int64_t size = 3;

// a = x u, b = y v; scores = a b^T.
std::vector<std::byte> towers() {
  ModelBuilder b("towers", 17);
  const std::string x = b.input("x", DType::float32, {"N", width});
  const std::string y = b.input("y", DType::float32, {"N", width});
  b.node("MatMul", {x, b.initializer("u", random_floats({width, size}, 1))}, {}, "a");
  b.node("MatMul", {y, b.initializer("v", random_floats({width, size}, 2))}, {}, "b");
  b.node("MatMul", {"a", b.node("Transpose", {"b"})}, {}, "scores");
  b.output("a", DType::float32, {"N", size});
  b.output("b", DType::float32, {"N", size});
  b.output("scores", DType::float32, {"N", "N"});
  return b.bytes();
}

NamedValues batch() {
  return {{"x", random_floats({pairs, width}, 3)}, {"y", random_floats({pairs, width}, 4)}};
}

Rows product(const Tensor& x, const Tensor& u) {
  Rows result;
  const std::int64_t depth = x.shape()[1];
  for (std::int64_t i = 0; i < x.shape()[0]; ++i) {
    std::vector<double>& row = result.emplace_back();
    for (std::int64_t j = 0; j < u.shape()[1]; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum += double{x.values<float>()[static_cast<std::size_t>(i * depth + k)]} *
               double{u.values<float>()[static_cast<std::size_t>(k * u.shape()[1] + j)]};
      }
      row.push_back(sum);
    }
  }
  return result;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The mean over rows and columns of -log softmax at the diagonal.
double loss_of(const Rows& s) {
  double loss = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    double row = 0;
    double column = 0;
    for (std::size_t j = 0; j < s.size(); ++j) {
      row += std::exp(s[i][j]);
      column += std::exp(s[j][i]);
    }
    loss += std::log(row) + std::log(column) - 2 * s[i][i];
  }
  return loss / 2 / static_cast<double>(s.size());
}

// Expected loss as a function of u; v stays as it is.
double expected(const Tensor& u, double temperature, bool is_scores) {
  const NamedValues feeds = batch();
  const Rows a = product(feeds[0].second.tensor(), u);
  const Rows b = product(feeds[1].second.tensor(), random_floats({width, size}, 2));
  Rows s;
  for (const auto& p : a) {
    std::vector<double>& row = s.emplace_back();
    for (const auto& q : b) {
      const double lengths = is_scores ? 1 : std::sqrt(dot(p, p) * dot(q, q)) * temperature;
      row.push_back(dot(p, q) / lengths);
    }
  }
  return loss_of(s);
}

PrepareOptions with(std::vector<std::byte> loss) {
  PrepareOptions options;
  options.loss_model = std::move(loss);
  options.init = WeightInit::keep;
  return options;
}

void check(std::vector<std::byte> loss, double temperature, bool is_scores) {
  const Model model = prepare(towers(), with(std::move(loss)));
  const NamedValues feeds = batch();
  const Tensor u = random_floats({width, size}, 1);
  CHECK(model.eval_step(feeds)["loss"].tensor().item<float>() ==
        Approx(expected(u, temperature, is_scores)).epsilon(1e-5));
  const Tensor gradient = model.gradients(feeds)["u"].tensor();
  constexpr float step = 1e-2F;
  for (std::size_t i = 0; i < static_cast<std::size_t>(u.size()); ++i) {
    const auto moved = [&](float by) {
      Tensor other = Tensor::of<float>(u.shape(), u.values<float>());
      other.mutable_values<float>()[i] += by;
      return expected(other, temperature, is_scores);
    };
    const double difference = (moved(step) - moved(-step)) / (2 * double{step});
    CHECK(double{gradient.values<float>()[i]} == Approx(difference).epsilon(0.01).margin(2e-3));
  }
}

}  // namespace

TEST_CASE("pairs are told from the other rows of a batch, along rows and columns") {
  check(in_batch_loss("a", "b", 0.5F), 0.5, false);
  check(in_batch_loss("b", "a", 2), 2, false);
  check(in_batch_loss("scores"), 1, true);
}

TEST_CASE("the loss of pairs has no label and takes batches of any size") {
  Model model = prepare(towers(), with(in_batch_loss("a", "b")));
  const auto inputs = model.algorithm(0).inputs;
  CHECK(std::none_of(inputs.begin(), inputs.end(),
                     [](const PortInfo& one) { return one.name == "label"; }));
  // A pair alone is told from none.
  const NamedValues one{{"x", random_floats({1, width}, 3)}, {"y", random_floats({1, width}, 4)}};
  CHECK(model.eval_step(one)["loss"].tensor().item<float>() == Approx(0).margin(1e-6));
  const double before = double{model.eval_step(batch())["loss"].tensor().item<float>()};
  for (int i = 0; i < 20; ++i) model.train_step(batch());
  CHECK(double{model.eval_step(batch())["loss"].tensor().item<float>()} < before);
}

TEST_CASE("the loss of pairs refuses values that are not there, and one twice") {
  CHECK_THROWS_WITH(prepare(towers(), with(in_batch_loss("a", "c"))),
                    Contains("the model has no value 'c' for the loss to read"));
  CHECK_THROWS_WITH(in_batch_loss("a", "a"), Contains("'a' twice"));
  CHECK_THROWS_WITH(in_batch_loss("a", "b", 0), Contains("temperature must be a positive number"));
  // Embeddings are no scores of each with each.
  const Model model = prepare(towers(), with(in_batch_loss("a")));
  CHECK_THROWS_AS(model.eval_step(batch()), Error);
}

}  // namespace ondine::test
