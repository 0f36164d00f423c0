// Operators that onnxruntime has in ai.onnx besides those that the standard defines.
#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/contract/added_versions.h"
#include "tests/kernels/contrib/waves.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Ints = std::vector<std::int64_t>;

OpCase early(const std::string& op, std::vector<Value> inputs, graph::Attributes attributes) {
  return {op, std::move(inputs), std::move(attributes), 1, {}, 8};
}

template <class F>
Tensor mapped(const Tensor& x, F f) {
  std::vector<double> values;
  for (const double v : as_doubles(x)) values.push_back(f(v));
  return Tensor::of<double>(x.shape(), values);
}

}  // namespace

TEST_CASE("curves that were experiments follow their equations") {
  const Tensor x = random_tensor({2, 3}, 1, -2, 2);
  const graph::Attributes both{{"alpha", 0.5F}, {"beta", 2.0F}};
  const auto check = [&](const std::string& op, const graph::Attributes& attributes, auto f) {
    CAPTURE(op);
    check_close(run_op_tensor(early(op, {x}, attributes)), mapped(x, f));
    check_gradient(early(op, {x}, attributes));
  };
  check("Affine", both, [](double v) { return 0.5 * v + 2; });
  check("Scale", {{"scale", 3.0F}}, [](double v) { return 3 * v; });
  check("ScaledTanh", both, [](double v) { return 0.5 * std::tanh(2 * v); });
  check("ParametricSoftplus", both, [](double v) { return 0.5 * std::log1p(std::exp(2 * v)); });
  CHECK_THROWS_WITH(run_op(early("ScaledTanh", {x}, {{"alpha", 1.0F}})),
                    Catch::Contains("attribute 'beta' is missing"));
  CHECK_THROWS_WITH(run_op({"Affine", {x}, both, 1, {}, 10}),
                    Catch::Contains("version 10 of ai.onnx does not define Affine"));
}

TEST_CASE("ImageScaler scales pictures and adds a bias to each channel") {
  const Tensor x = random_tensor({2, 3, 2, 2}, 1);
  const auto attributes = [](std::vector<float> bias) {
    return graph::Attributes{{"bias", std::move(bias)}, {"scale", 2.0F}};
  };
  std::vector<double> want = as_doubles(x);
  for (std::size_t i = 0; i < want.size(); ++i) {
    want[i] = 2 * want[i] + static_cast<double>(i / 4 % 3);
  }
  const OpCase one = early("ImageScaler", {x}, attributes({0, 1, 2}));
  check_close(run_op_tensor(one), Tensor::of<double>(x.shape(), want));
  check_gradient(one, {.variants = false});
  CHECK_THROWS_WITH(run_op(early("ImageScaler", {x}, attributes({0, 1}))),
                    Catch::Contains("channels and elements of bias differ: 3 and 2"));
}

TEST_CASE("Crop takes off a border or takes a window") {
  const Tensor x = random_tensor({1, 2, 4, 5}, 1);
  const auto cut = [&](Ints starts, Ints ends) {
    return run_op_tensor(
        {"Slice",
         {x, Tensor::of<std::int64_t>({2}, starts), Tensor::of<std::int64_t>({2}, ends),
          Tensor::of<std::int64_t>({2}, {2, 3})}});
  };
  const auto crop = [&](Ints border, Ints size = {}) {
    graph::Attributes attributes{{"border", std::move(border)}};
    if (!size.empty()) attributes.push_back({"scale", std::move(size)});
    return early("Crop", {x}, attributes);
  };
  check_close(run_op_tensor(crop({1, 0, 2, 1})), cut({0, 1}, {3, 3}));
  check_close(run_op_tensor(crop({0, 0, 0, 0})), x);
  check_close(run_op_tensor(crop({3, 1, 0, 0}, {3, 2})), cut({1, 3}, {4, 5}));
  check_gradient(crop({1, 0, 2, 1}), {.variants = false});
  CHECK_THROWS_WITH(run_op(crop({3, 0, 3, 0})), Catch::Contains("does not fit into 5"));
  CHECK_THROWS_WITH(run_op(crop({4, 0, 0, 0}, {3, 2})), Catch::Contains("does not fit into 5"));
  CHECK_THROWS_WITH(run_op(crop({1, 1})), Catch::Contains("'border' has 2 elements"));
  CHECK_THROWS_WITH(run_op(crop({-1, 0, 0, 0})), Catch::Contains("must not be negative"));
}

TEST_CASE("MeanVarianceNormalization below version 9 has flags for axes") {
  const Tensor x = random_tensor({2, 3, 4, 5}, 1);
  const auto flags = [](std::int64_t channels, std::int64_t variance) {
    return graph::Attributes{{"across_channels", channels}, {"normalize_variance", variance}};
  };
  const auto by_axes = [&](Ints axes) {
    return run_op_tensor({"MeanVarianceNormalization", {x}, {{"axes", std::move(axes)}}});
  };
  const std::string op = "MeanVarianceNormalization";
  check_close(run_op_tensor(early(op, {x}, flags(0, 1))), by_axes({2, 3}));
  check_close(run_op_tensor(early(op, {x}, flags(1, 1))), by_axes({1, 2, 3}));
  const Tensor mean =
      run_op_tensor({"ReduceMean", {x, Tensor::of<std::int64_t>({2}, {2, 3})}, {{"keepdims", 1L}}});
  check_close(run_op_tensor(early(op, {x}, flags(0, 0))), run_op_tensor({"Sub", {x, mean}}));
  CHECK_THROWS_AS(run_op(early(op, {x}, {{"axes", Ints{2, 3}}})), Error);
}

TEST_CASE("operators that onnxruntime adds to old operator sets follow a later version") {
  using graph::defining_version;
  CHECK(defining_version("", "LayerNormalization", 13) == 17);
  CHECK(defining_version("", "LayerNormalization", 18) == 18);
  CHECK(defining_version("ai.onnx", "ThresholdedRelu", 1) == 10);
  CHECK(defining_version("", "MeanVarianceNormalization", 8) == 8);
  CHECK(defining_version("com.microsoft", "LayerNormalization", 1) == 1);
  CHECK(defining_version("", "Gelu", 13) == 13);
  CHECK(graph::is_added("", "MeanVarianceNormalization", 8));
  CHECK_FALSE(graph::is_added("", "MeanVarianceNormalization", 9));
  CHECK_FALSE(graph::is_added("", "Gelu", 13));
}
