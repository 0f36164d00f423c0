// Distributions from which initialize() draws weights: prepare chooses them by the readers.
#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/prepare.h>

using namespace ondine;

namespace {

struct Moments {
  double mean = 0;
  double deviation = 0;
  double largest = 0;
};

Moments moments(const Tensor& tensor) {
  Moments m;
  const auto values = tensor.values<float>();
  for (const float x : values) {
    m.mean += x;
    m.deviation += double{x} * x;
    m.largest = std::max(m.largest, std::abs(double{x}));
  }
  const auto n = static_cast<double>(values.size());
  m.mean /= n;
  m.deviation = std::sqrt(m.deviation / n - m.mean * m.mean);
  return m;
}

// ids [N, 6] -> rows of a table [40, 50] -> scores of 40 words, with the same table or another one.
std::vector<std::byte> word_model(bool tied) {
  ModelBuilder b("words");
  using Integers = std::vector<std::int64_t>;
  const std::string table = b.initializer("table", Tensor(DType::float32, {40, 50}));
  const std::string x = b.node("Gather", {table, b.input("ids", DType::int64, {"N", 6})});
  const std::string last = tied ? b.node("Transpose", {table}, {{"perm", Integers{1, 0}}})
                                : b.initializer("last", Tensor(DType::float32, {50, 40}));
  const std::string scores = b.node("MatMul", {x, last});
  b.node("Transpose", {scores}, {{"perm", Integers{0, 2, 1}}}, "scores");
  b.output("scores", DType::float32, {"N", 40, 6});
  return b.bytes();
}

}  // namespace

TEST_CASE("embeddings are drawn from the standard normal distribution") {
  const WeightInit init = GENERATE(WeightInit::automatic, WeightInit::xavier_uniform);
  const Model model =
      prepare(word_model(false), {.loss = Loss::softmax_cross_entropy, .init = init}, {.seed = 5});
  const Moments table = moments(model.get_state("table"));
  CHECK(std::abs(table.mean) < 0.1);
  CHECK(std::abs(table.deviation - 1) < 0.05);
  CHECK(table.largest > 2.5);
  const bool he = init == WeightInit::automatic;
  const double bound = std::sqrt(he ? 6.0 / 50 : 6.0 / 90);
  const Moments last = moments(model.get_state("last"));
  CHECK(last.largest <= bound);
  CHECK(last.largest > 0.95 * bound);
}

TEST_CASE("a table that is multiplied too is drawn as a weight") {
  const Model model = prepare(word_model(true), {.loss = Loss::softmax_cross_entropy}, {.seed = 5});
  const double bound = std::sqrt(6.0 / 50);
  const Moments table = moments(model.get_state("table"));
  CHECK(table.largest <= bound);
  CHECK(table.largest > 0.95 * bound);
}
