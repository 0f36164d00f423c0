// Kernels that cut long work into pieces compute what they compute in one.
#include <catch2/catch.hpp>

#include <algorithm>

#include "graph/evaluate/graph_runner.h"
#include "tests/deadline/case_parts.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

Tensor run(const OpCase& one) { return run_op_tensor(one); }

// Channel c of [1, C, H, W] as [1, 1, H, W].
Tensor channel(const Tensor& x, std::int64_t c) {
  const std::int64_t plane = x.shape()[2] * x.shape()[3];
  const auto values = x.values<float>().subspan(static_cast<std::size_t>(c * plane),
                                                static_cast<std::size_t>(plane));
  return Tensor::of<float>({1, 1, x.shape()[2], x.shape()[3]},
                           std::vector<float>(values.begin(), values.end()));
}

}  // namespace

TEST_CASE("depthwise convolutions of large planes are those of their channels") {
  for (const std::int64_t stride : {1, 2}) {
    const Tensor x = random_floats({1, 2, 500, 500}, 1);
    const Tensor kernel = random_floats({2, 1, 13, 11}, 2);
    Tensor w0 = Tensor::of<float>(
        {1, 1, 13, 11},
        std::vector<float>(kernel.values<float>().begin(), kernel.values<float>().begin() + 143));
    const Attributes window{{"pads", Ints{6, 5, 6, 5}}, {"strides", Ints{stride, stride}}};
    Attributes grouped = window;
    grouped.emplace_back("group", std::int64_t{2});
    const Tensor y = run(op("Conv", {x, kernel}, grouped));
    check_close(channel(y, 0), run(op("Conv", {channel(x, 0), w0}, window)), {1e-4, 1e-4});
    const Tensor dx = run(
        op("ConvGradInput", {y, kernel, shape_of({1, 2, 500, 500})}, grouped, 1, ondine_domain));
    check_close(channel(dx, 0),
                run(op("ConvGradInput", {channel(y, 0), w0, shape_of({1, 1, 500, 500})}, window, 1,
                       ondine_domain)),
                {1e-3, 1e-2});
  }
}

TEST_CASE("convolutions to many channels are those to each of them") {
  const Tensor x = random_floats({1, 8, 200, 200}, 1);
  const Tensor kernel = random_floats({512, 8, 3, 3}, 2);
  const Tensor y = run(op("Conv", {x, kernel}, {{"pads", Ints{1, 1, 1, 1}}}));
  const auto last = kernel.values<float>().last(72);
  const Tensor w = Tensor::of<float>({1, 8, 3, 3}, std::vector<float>(last.begin(), last.end()));
  check_close(channel(y, 511), run(op("Conv", {x, w}, {{"pads", Ints{1, 1, 1, 1}}})), {1e-4, 1e-4});
}

TEST_CASE("windows of very many taps have the mean and the maximum of their elements") {
  constexpr std::int64_t n = 8000, k = 4001;
  const Tensor x = random_floats({1, 1, n}, 3);
  const auto values = x.values<float>();
  std::vector<float> means, greatest;
  for (std::int64_t o = 0; o + k <= n; ++o) {
    const auto window = values.subspan(static_cast<std::size_t>(o), k);
    double sum = 0;
    for (const float v : window) sum += static_cast<double>(v);
    means.push_back(static_cast<float>(sum / k));
    greatest.push_back(*std::max_element(window.begin(), window.end()));
  }
  const Shape shape{1, 1, n - k + 1};
  const Attributes window{{"kernel_shape", Ints{k}}};
  check_close(run(op("MaxPool", {x}, window)), Tensor::of<float>(shape, greatest), {0, 0});
  check_close(run(op("AveragePool", {x}, window)), Tensor::of<float>(shape, means), {1e-4, 1e-5});
}

TEST_CASE("determinants and inverses of large matrices are those of their blocks") {
  constexpr std::int64_t n = 600;
  Tensor a(DType::float32, {n, n});
  const auto values = a.mutable_values<float>();
  double product = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    // A cyclic permutation, scaled.
    const float scale = i % 2 == 0 ? 2.0F : 0.5F;
    values[static_cast<std::size_t>(i * n + (i + 1) % n)] = scale;
    product *= static_cast<double>(scale);
  }
  const double sign = (n - 1) % 2 == 0 ? 1 : -1;
  check_close(run(op("Det", {a})), Tensor::of<float>({}, {static_cast<float>(sign * product)}));
  const Tensor inverse = run(op("Inverse", {a}, {}, 1, "com.microsoft"));
  const Tensor one = run(op("MatMul", {a, inverse}));
  for (std::int64_t i = 0; i < n * n; ++i) {
    const float want = i % (n + 1) == 0 ? 1.0F : 0.0F;
    if (one.values<float>()[static_cast<std::size_t>(i)] != want) {
      FAIL_CHECK("element " << i);
      break;
    }
  }
}
