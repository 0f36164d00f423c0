#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/contrib/waves.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Tensor standard(const std::string& op, std::vector<Value> inputs, graph::Attributes attributes) {
  return run_op_tensor({op, std::move(inputs), std::move(attributes)});
}
Tensor sum(const Tensor& a, const Tensor& b) { return standard("Add", {a, b}, {}); }

}  // namespace

TEST_CASE("SkipLayerNormalization normalizes the sum of its inputs") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const Tensor skip = random_tensor({3, 4}, 2);
  const Tensor gamma = random_tensor({4}, 3);
  const Tensor beta = random_tensor({4}, 4);
  const Tensor bias = random_tensor({4}, 5);
  const graph::Attributes epsilon{{"epsilon", 1e-3F}};
  const Tensor total = sum(sum(x, skip), bias);
  const auto got =
      run_op({"SkipLayerNormalization", {x, skip, gamma, beta, bias}, epsilon, 4, contrib});
  const auto want = run_op({"LayerNormalization", {total, gamma, beta}, epsilon, 3});
  for (std::size_t i = 0; i < 3; ++i) check_close(got[i].tensor(), want[i].tensor());
  check_close(got[3].tensor(), total);
  check_close(run_op_tensor({"SkipLayerNormalization", {x, x, gamma}, {}, 1, contrib}),
              standard("LayerNormalization", {sum(x, x), gamma}, {{"epsilon", 1e-12F}}));
  CHECK_THROWS_AS(run_op({"SkipLayerNormalization", {x, bias}, {}, 1, contrib}), Error);
  CHECK_THROWS_AS(
      run_op({"SkipLayerNormalization", {x, skip, random_tensor({3}, 1)}, {}, 1, contrib}), Error);
}

TEST_CASE("Simplified layer normalizations divide by the root of the mean square") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const Tensor skip = random_tensor({2, 3, 4}, 2);
  const Tensor gamma = random_tensor({4}, 3);
  const Tensor bias = random_tensor({4}, 4);
  const graph::Attributes epsilon{{"epsilon", 1e-2F}};
  check_close(
      run_op_tensor(
          {"SkipSimplifiedLayerNormalization", {x, skip, gamma, bias}, epsilon, 1, contrib}),
      standard("RMSNormalization", {sum(sum(x, skip), bias), gamma}, epsilon));
  const auto got = run_op({"SimplifiedLayerNormalization",
                           {x, random_tensor({3, 4}, 5)},
                           {{"axis", 1L}, {"epsilon", 1e-2F}, {"stash_type", 1L}},
                           2});
  check_close(got[0].tensor(), standard("RMSNormalization", {x, random_tensor({3, 4}, 5)},
                                        {{"axis", 1L}, {"epsilon", 1e-2F}}));
  const auto xs = as_doubles(x);
  std::vector<double> inverse;
  for (std::size_t row = 0; row < 2; ++row) {
    double square = 0;
    for (std::size_t i = 0; i < 12; ++i) square += xs[row * 12 + i] * xs[row * 12 + i] / 12;
    inverse.push_back(1 / std::sqrt(square + double{1e-2F}));
  }
  check_close(got[1].tensor(), Tensor::of<double>({2, 1, 1}, inverse));
}

TEST_CASE("Derivatives of the layer normalizations of com.microsoft") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const Tensor skip = random_tensor({2, 3, 4}, 2);
  const Tensor row = random_tensor({4}, 3);
  const graph::Attributes epsilon{{"epsilon", 1e-2F}};
  check_gradient({"SkipLayerNormalization", {x, skip, row, row, row}, epsilon, 1, contrib},
                 {.elements = 8});
  check_gradient({"SkipSimplifiedLayerNormalization", {x, skip, row, row}, epsilon, 1, contrib},
                 {.elements = 8});
  check_gradient({"SimplifiedLayerNormalization", {x, row}, epsilon, 2}, {.elements = 8});
}

// Values of onnxruntime 1.31.
TEST_CASE("EmbedLayerNormalization normalizes the sum of three embeddings") {
  const auto ids = Tensor::of<std::int32_t>({1, 2}, {2, 0});
  const auto segments = Tensor::of<std::int32_t>({1, 2}, {1, 0});
  const auto mask = Tensor::of<std::int32_t>({1, 2}, {1, 0});
  const graph::Attributes epsilon{{"epsilon", 1e-3F}};
  const auto got = run_op({"EmbedLayerNormalization",
                           {ids, segments, wave({3, 4}, 0), wave({2, 4}, 1), wave({2, 4}, 2),
                            wave({4}, 3), wave({4}, 4), mask},
                           epsilon,
                           3,
                           contrib});
  check_close(got[0].tensor(),
              Tensor::of<float>({1, 2, 4}, {-0.9664026F, -0.8341063F, -1.444552F, -1.193399F,
                                            -0.5687904F, -1.257454F, -0.2548485F, 0.9974048F}),
              {1e-5, 1e-6});
  CHECK(got[1].tensor().item<std::int32_t>() == 1);
  const Tensor words = random_tensor({3, 4}, 1);
  const Tensor table = random_tensor({2, 4}, 2);
  const Tensor row = random_tensor({4}, 3);
  const auto places = Tensor::of<std::int32_t>({1, 2}, {1, 1});
  check_gradient({"EmbedLayerNormalization",
                  {ids, segments, words, table, table, row, row, mask, places},
                  epsilon,
                  1,
                  contrib},
                 {.elements = 8, .variants = false});
  const auto without = run_op({"EmbedLayerNormalization",
                               {ids, Value(), words, table, Value(), row, row},
                               epsilon,
                               3,
                               contrib});
  CHECK(without[1].tensor().item<std::int32_t>() == 0);
  const auto w = as_doubles(words);
  const auto p = as_doubles(table);
  std::vector<double> sums;
  for (std::size_t i = 0; i < 4; ++i) sums.push_back(w[8 + i] + p[i]);
  for (std::size_t i = 0; i < 4; ++i) sums.push_back(w[i] + p[4 + i]);
  check_close(without[2].tensor(), Tensor::of<double>({1, 2, 4}, sums));
}

TEST_CASE("EmbedLayerNormalization takes tables of one type of floats") {
  const auto ids = Tensor::of<std::int32_t>({1, 2}, {2, 0});
  const auto refuse = [&](const Tensor& words, const Tensor& positions, const std::string& text) {
    CHECK_THROWS_WITH(run_op({"EmbedLayerNormalization",
                              {ids, Value(), words, positions, Value(), Tensor(words.dtype(), {4}),
                               Tensor(words.dtype(), {4})},
                              {},
                              3,
                              contrib}),
                      Catch::Contains(text));
  };
  refuse(Tensor(DType::int32, {3, 4}), Tensor(DType::int32, {2, 4}),
         "input 2 is int32, needed: float, double, float16 or bfloat16");
  refuse(Tensor(DType::float32, {3, 4}), Tensor(DType::float64, {2, 4}), "differ");
}

TEST_CASE("QEmbedLayerNormalization has quantized tables") {
  const auto ids = Tensor::of<std::int32_t>({1, 2}, {2, 0});
  const auto segments = Tensor::of<std::int32_t>({1, 2}, {1, 0});
  const auto table = [](const Shape& shape, int step) {
    std::vector<std::uint8_t> values;
    for (int i = 0; i < shape.size(); ++i) {
      values.push_back(static_cast<std::uint8_t>(i * step % 256));
    }
    return Tensor::of<std::uint8_t>(shape, values);
  };
  const std::vector<Tensor> quantized{table({3, 4}, 37), table({2, 4}, 53), table({2, 4}, 71),
                                      table({4}, 29), table({4}, 31)};
  std::vector<Value> inputs{ids, segments};
  std::vector<Value> plain{ids, segments};
  std::vector<Value> scales;
  std::vector<Value> points;
  for (std::size_t k = 0; k < 5; ++k) {
    const double scale = 0.01 * static_cast<double>(k + 1);
    inputs.emplace_back(quantized[k]);
    scales.emplace_back(Tensor::scalar(scale));
    points.emplace_back(Tensor::scalar(static_cast<std::uint8_t>(100 + k)));
    std::vector<double> values;
    for (const double q : as_doubles(quantized[k])) {
      values.push_back((q - 100 - static_cast<double>(k)) * scale);
    }
    plain.emplace_back(Tensor::of<double>(quantized[k].shape(), values));
  }
  inputs.emplace_back(Value());
  inputs.insert(inputs.end(), scales.begin(), scales.end());
  inputs.insert(inputs.end(), points.begin(), points.end());
  const graph::Attributes epsilon{{"epsilon", 1e-3F}};
  check_close(run_op_tensor({"QEmbedLayerNormalization", inputs, epsilon, 2, contrib}),
              run_op_tensor({"EmbedLayerNormalization", plain, epsilon, 1, contrib}));
}
