#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Tensor bytes(const Shape& shape, std::uint64_t seed, DType dtype) {
  const bool is_signed = dtype == DType::int8;
  return as_dtype(random_tensor(shape, seed, is_signed ? -128 : 0, is_signed ? 127 : 255), dtype);
}

// [m, k] x [k, n] with a zero point for each row and column (one element: for all).
std::vector<double> product(const Tensor& a, const Tensor& b, const std::vector<double>& za,
                            const std::vector<double>& zb) {
  const auto x = as_doubles(a);
  const auto y = as_doubles(b);
  const auto m = static_cast<std::size_t>(a.shape()[0]);
  const auto k = static_cast<std::size_t>(a.shape()[1]);
  const auto n = static_cast<std::size_t>(b.shape()[1]);
  std::vector<double> result;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l) {
        sum += (x[i * k + l] - za[za.size() == 1 ? 0 : i]) *
               (y[l * n + j] - zb[zb.size() == 1 ? 0 : j]);
      }
      result.push_back(sum);
    }
  }
  return result;
}

}  // namespace

TEST_CASE("MatMulInteger is exact, zero points for all, rows and columns") {
  for (const DType a_type : {DType::int8, DType::uint8}) {
    for (const DType b_type : {DType::int8, DType::uint8}) {
      for (const std::int64_t k : {5, 300}) {
        const Tensor a = bytes({3, k}, 1, a_type);
        const Tensor b = bytes({k, 4}, 2, b_type);
        check_close(run_op_tensor({"MatMulInteger", {a, b}}),
                    numbers({3, 4}, product(a, b, {0}, {0}), DType::int32));
        const Tensor za = bytes({3}, 3, a_type);
        const Tensor zb = bytes({4}, 4, b_type);
        check_close(run_op_tensor({"MatMulInteger", {a, b, za, zb}}),
                    numbers({3, 4}, product(a, b, as_doubles(za), as_doubles(zb)), DType::int32));
        const Tensor one = bytes({}, 5, a_type);
        check_close(run_op_tensor({"MatMulInteger", {a, b, one}}),
                    numbers({3, 4}, product(a, b, as_doubles(one), {0}), DType::int32));
      }
    }
  }
  const Tensor empty = run_op_tensor(
      {"MatMulInteger", {Tensor(DType::int8, {0, 3}), bytes({3, 2}, 1, DType::uint8)}});
  CHECK(empty.shape() == Shape{0, 2});
  CHECK(run_op_tensor({"MatMulInteger",
                       {bytes({2, 1, 3, 4}, 1, DType::int8), bytes({5, 4, 2}, 2, DType::int8)}})
            .shape() == Shape{2, 5, 3, 2});
}

TEST_CASE("Integer products reject what does not fit") {
  const Tensor a = bytes({3, 5}, 1, DType::int8);
  CHECK_THROWS_AS(run_op({"MatMulInteger", {a, a}}), Error);
  CHECK_THROWS_AS(
      run_op({"MatMulInteger", {a, bytes({5, 2}, 1, DType::int8), bytes({2}, 1, DType::int8)}}),
      Error);
  const Tensor x = bytes({1, 2, 4, 4}, 1, DType::uint8);
  CHECK_THROWS_AS(run_op({"ConvInteger", {x, bytes({1, 3, 2, 2}, 1, DType::uint8)}}), Error);
  CHECK_THROWS_AS(
      run_op({"ConvInteger",
              {x, bytes({2, 2, 2, 2}, 1, DType::uint8), Value(), bytes({3}, 1, DType::uint8)}}),
      Error);
}

TEST_CASE("QLinearMatMul rounds to even and saturates") {
  const Tensor a = bytes({3, 6}, 1, DType::uint8);
  const Tensor b = bytes({6, 4}, 2, DType::int8);
  const Tensor za = bytes({}, 3, DType::uint8);
  const Tensor zb = bytes({4}, 4, DType::int8);
  const Tensor sa = Tensor::scalar(0.5F);
  const auto sb = Tensor::of<float>({4}, {0.25F, 0.5F, 1, 2});
  const Tensor sy = Tensor::scalar(32.0F);
  for (const DType y_type : {DType::int8, DType::uint8}) {
    const Tensor zy = as_dtype(numbers({}, {17}), y_type);
    const auto sums = product(a, b, as_doubles(za), as_doubles(zb));
    std::vector<double> want;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double scale = 0.5 * std::vector<double>{0.25, 0.5, 1, 2}[i % 4] / 32;
      const double y = std::nearbyint(sums[i] * scale) + 17;
      want.push_back(y_type == DType::int8 ? std::clamp(y, -128.0, 127.0)
                                           : std::clamp(y, 0.0, 255.0));
    }
    check_close(run_op_tensor({"QLinearMatMul", {a, sa, za, b, sb, zb, sy, zy}}),
                numbers({3, 4}, want, y_type));
  }
}

TEST_CASE("ConvInteger and QLinearConv") {
  const Tensor x = bytes({2, 4, 5, 5}, 1, DType::uint8);
  const Tensor w = bytes({6, 2, 3, 2}, 2, DType::int8);
  const Tensor zx = bytes({}, 3, DType::uint8);
  const Tensor zw = bytes({6}, 4, DType::int8);
  const graph::Attributes attributes{{"group", 2L},
                                     {"pads", std::vector<std::int64_t>{1, 0, 1, 1}},
                                     {"strides", std::vector<std::int64_t>{2, 1}}};
  Tensor wide_x = Tensor::of<double>(x.shape(), as_doubles(x));
  for (double& v : wide_x.mutable_values<double>()) v -= as_doubles(zx)[0];
  Tensor wide_w = Tensor::of<double>(w.shape(), as_doubles(w));
  for (std::size_t i = 0; i < 72; ++i) {
    wide_w.mutable_values<double>()[i] -= as_doubles(zw)[i / 12];
  }
  const Tensor sums = run_op_tensor({"Conv", {wide_x, wide_w}, attributes});
  check_close(run_op_tensor({"ConvInteger", {x, w, zx, zw}, attributes}),
              as_dtype(sums, DType::int32));

  const Tensor scales = random_floats({6}, 5, 0.001F, 0.002F);
  const Tensor bias = as_dtype(random_tensor({6}, 6, -9999, 9999), DType::int32);
  const Tensor y = run_op_tensor({"QLinearConv",
                                  {x, Tensor::scalar(0.5F), zx, w, scales, zw,
                                   Tensor::scalar(0.25F), Tensor::scalar(std::uint8_t{100}), bias},
                                  attributes});
  REQUIRE(y.shape() == sums.shape());
  const auto plane = static_cast<std::size_t>(y.shape()[2] * y.shape()[3]);
  for (std::size_t i = 0; i < static_cast<std::size_t>(y.size()); ++i) {
    const std::size_t channel = i / plane % 6;
    const double scale = 0.5 * static_cast<double>(scales.values<float>()[channel]) / 0.25;
    const double sum = sums.values<double>()[i] + as_doubles(bias)[channel];
    const double want = std::clamp(std::nearbyint(sum * scale) + 100, 0.0, 255.0);
    CHECK(static_cast<double>(y.values<std::uint8_t>()[i]) == want);
  }
}

TEST_CASE("Int8Conv bounds its results by the activation") {
  const Tensor x = bytes({1, 3, 6, 5}, 1, DType::int8);
  const Tensor w = bytes({4, 3, 3, 3}, 2, DType::uint8);
  const Tensor zx = bytes({}, 3, DType::int8);
  const Tensor zw = bytes({4}, 4, DType::uint8);
  const Tensor sums = run_op_tensor({"ConvInteger", {x, w, zx, zw}});
  const auto sw = Tensor::of<float>({4}, {0.001F, 0.002F, 0.003F, 0.004F});
  for (const bool bounded : {false, true}) {
    OpCase one{"Int8Conv",
               {x, zx, w, zw, Value(), Tensor::scalar(0.5F), sw, Tensor::scalar(0.25F),
                Tensor::scalar(std::int8_t{-90})},
               {{"activation", std::string(bounded ? "Relu6" : "Relu")}}};
    one.domain = "ai.ondine";
    const Tensor y = run_op_tensor(one);
    REQUIRE(y.shape() == sums.shape());
    for (std::size_t i = 0; i < static_cast<std::size_t>(y.size()); ++i) {
      const double scale = 0.5 * as_doubles(sw)[i / 12] / 0.25;
      const double v = std::max(0.0, std::nearbyint(as_doubles(sums)[i] * scale));
      const double want = std::min((bounded ? std::min(v, 24.0) : v) - 90, 127.0);
      CHECK(static_cast<double>(y.values<std::int8_t>()[i]) == want);
    }
  }
}

TEST_CASE("Windows of 3 x 3 over many channels are exact too") {
  const Tensor x = bytes({1, 16, 18, 18}, 1, DType::uint8);
  const Tensor w = bytes({16, 16, 3, 3}, 2, DType::int8);
  const graph::Attributes attributes{{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  const Tensor in_double = run_op_tensor(
      {"Conv",
       {Tensor::of<double>(x.shape(), as_doubles(x)), Tensor::of<double>(w.shape(), as_doubles(w))},
       attributes});
  check_close(run_op_tensor({"ConvInteger", {x, w}, attributes}),
              as_dtype(in_double, DType::int32));
}

TEST_CASE("Integer products of several tiles, in batches, and of transposed constants") {
  for (const DType a_type : {DType::int8, DType::uint8}) {
    const Tensor a = bytes({100, 70}, 1, a_type);
    const Tensor b = bytes({70, 600}, 2, DType::int8);
    const Tensor za = bytes({1}, 3, a_type);
    check_close(run_op_tensor({"MatMulInteger", {a, b, za}}),
                numbers({100, 600}, product(a, b, as_doubles(za), {0}), DType::int32));
    const Tensor deep = bytes({3, 1500}, 4, a_type);
    const Tensor wide = bytes({1500, 5}, 5, DType::uint8);
    const Tensor zb = bytes({5}, 6, DType::uint8);
    check_close(run_op_tensor({"MatMulInteger", {deep, wide, za, zb}}),
                numbers({3, 5}, product(deep, wide, as_doubles(za), as_doubles(zb)), DType::int32));
  }
  const Tensor a = bytes({2, 3, 8}, 7, DType::uint8);
  const Tensor b = bytes({2, 8, 5}, 8, DType::int8);
  const Tensor za = bytes({3}, 9, DType::uint8);
  const Tensor y = run_op_tensor({"MatMulInteger", {a, b, za}});
  REQUIRE(y.shape() == Shape{2, 3, 5});
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor left =
        Tensor::wrap(DType::uint8, {3, 8}, a.values<std::uint8_t>().data() + i * 24);
    const Tensor right = Tensor::wrap(DType::int8, {8, 5}, b.values<std::int8_t>().data() + i * 40);
    const auto want = product(left, right, as_doubles(za), {0});
    for (std::size_t j = 0; j < 15; ++j) CHECK(y.values<std::int32_t>()[i * 15 + j] == want[j]);
  }
}

TEST_CASE("Int8MatMul with a bias, transposed weights and an activation") {
  const Tensor a = bytes({4, 6}, 1, DType::uint8);
  const Tensor b = bytes({6, 5}, 2, DType::int8);
  Tensor turned(DType::int8, {5, 6});
  for (std::size_t i = 0; i < 30; ++i) {
    turned.mutable_values<std::int8_t>()[i % 5 * 6 + i / 5] = b.values<std::int8_t>()[i];
  }
  const Tensor za = bytes({}, 3, DType::uint8);
  const Tensor zb = bytes({}, 4, DType::int8);
  const auto bias = Tensor::of<std::int32_t>({5}, {100, -2000, 30000, 7, 0});
  const auto sa = Tensor::of<float>({4}, {0.5F, 0.25F, 1, 2});  // of the rows
  const auto sb = Tensor::of<float>({5}, {0.001F, 0.002F, 0.003F, 0.001F, 0.004F});
  const Tensor sy = Tensor::scalar(0.0625F);
  const Tensor zy = Tensor::scalar(std::uint8_t{20});
  const auto sums = product(a, b, as_doubles(za), as_doubles(zb));
  for (const char* activation : {"", "Relu", "Relu6"}) {
    std::vector<double> want;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double scale = as_doubles(sa)[i / 5] * as_doubles(sb)[i % 5] / 0.0625;
      double y = std::nearbyint((sums[i] + as_doubles(bias)[i % 5]) * scale);
      if (*activation != 0) y = std::max(y, 0.0);
      if (std::string(activation) == "Relu6") y = std::min(y, 96.0);
      want.push_back(std::clamp(y + 20, 0.0, 255.0));
    }
    graph::Attributes attributes{{"transB", 1L}};
    if (*activation != 0) attributes.emplace_back("activation", std::string(activation));
    OpCase one{"Int8MatMul", {a, za, turned, zb, bias, sa, sb, sy, zy}, attributes};
    one.domain = "ai.ondine";
    check_close(run_op_tensor(one), numbers({4, 5}, want, DType::uint8));
  }
}
