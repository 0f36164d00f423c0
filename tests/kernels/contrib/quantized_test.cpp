// The values come from onnxruntime 1.31.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/contrib/waves.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr Closeness tolerance{1e-5, 2e-6};

// element i: (i step) % modulus + shift
template <class T>
Tensor counted(const Shape& shape, int step, int modulus = 256, int shift = 0) {
  std::vector<T> values;
  for (int i = 0; i < shape.size(); ++i) {
    values.push_back(static_cast<T>(i * step % modulus + shift));
  }
  return Tensor::of<T>(shape, values);
}

Tensor bytes(const Shape& shape, std::vector<std::uint8_t> values) {
  return Tensor::of<std::uint8_t>(shape, values);
}
Tensor u8(int value) { return Tensor::scalar(static_cast<std::uint8_t>(value)); }
Tensor s8(int value) { return Tensor::scalar(static_cast<std::int8_t>(value)); }

Tensor run(const std::string& op, std::vector<Value> inputs, graph::Attributes attributes = {}) {
  return run_op_tensor({op, std::move(inputs), std::move(attributes), 1, contrib});
}

const Tensor x = counted<std::uint8_t>({1, 1, 3, 4}, 37);

}  // namespace

TEST_CASE("MatMulNBits unpacks weights of 4 and 2 bits") {
  const graph::Attributes four{{"N", 2L}, {"K", 20L}, {"bits", 4L}, {"block_size", 16L}};
  const graph::Attributes two{{"N", 2L}, {"K", 20L}, {"bits", 2L}, {"block_size", 16L}};
  const Tensor a = wave({1, 20}, 0);
  const Tensor scales = wave({2, 2}, 1);
  check_close(
      run("MatMulNBits",
          {a, counted<std::uint8_t>({2, 2, 8}, 7), scales, bytes({2, 1}, {0x57, 0x93})}, four),
      Tensor::of<float>({1, 2}, {-4.578106F, 5.726063F}), tolerance);
  check_close(run("MatMulNBits", {a, counted<std::uint8_t>({2, 2, 4}, 37), scales}, two),
              Tensor::of<float>({1, 2}, {-0.2163055F, 0.6316636F}), tolerance);
  CHECK_THROWS_AS(run("MatMulNBits", {a, counted<std::uint8_t>({2, 2, 8}, 7), scales},
                      {{"N", 2L}, {"K", 20L}, {"bits", 3L}, {"block_size", 16L}}),
                  Error);
}

TEST_CASE("Derivatives of MatMulNBits") {
  const Tensor q = counted<std::uint8_t>({2, 2, 16}, 7);
  const graph::Attributes eight{{"N", 2L}, {"K", 20L}, {"bits", 8L}, {"block_size", 16L}};
  check_gradient({"MatMulNBits",
                  {random_tensor({2, 20}, 1), q, random_tensor({2, 2}, 2, 0.1, 0.2),
                   random_tensor({2, 2}, 3, 90, 110), Value(), random_tensor({2}, 4)},
                  eight,
                  1,
                  contrib},
                 {.elements = 6, .variants = false});
  // The blocks of g_idx: the first 16 and the rest exchanged.
  std::vector<std::int32_t> group(20, 1);
  for (std::size_t i = 16; i < 20; ++i) group[i] = 0;
  const Tensor scales = random_tensor({2, 2}, 2, 0.1, 0.2);
  const auto s = as_doubles(scales);
  const Tensor exchanged = Tensor::of<double>({2, 2}, {s[1], s[0], s[3], s[2]});
  const Tensor a = random_tensor({2, 20}, 1);
  check_close(
      run("MatMulNBits", {a, q, exchanged, Value(), Tensor::of<std::int32_t>({20}, group)}, eight),
      run("MatMulNBits", {a, q, scales}, eight));
}

TEST_CASE("Products of quantized factors give floats") {
  const Tensor b = counted<std::int8_t>({3, 4}, 17, 100, -50);
  check_close(
      run("DynamicQuantizeMatMul", {wave({2, 3}, 0), b, wave({4}, 1),
                                    Tensor::of<std::int8_t>({4}, {1, 2, 3, 4}), wave({4}, 2)}),
      Tensor::of<float>({2, 4}, {-2.305167F, 22.49671F, -11.14663F, -0.4045078F, -26.96703F,
                                 -18.95539F, -26.9364F, -1.895951F}),
      tolerance);
  check_close(
      run("MatMulIntegerToFloat", {counted<std::uint8_t>({2, 3}, 41), b, Tensor::scalar(0.1F),
                                   Tensor::scalar(0.02F), u8(100), s8(3), wave({4}, 2)}),
      Tensor::of<float>({2, 4}, {10.3513F, 3.85138F, 8.950459F, 2.369723F, -3.178703F, 2.86738F,
                                 -4.087542F, 1.877723F}),
      tolerance);
  const GradientCheck check{.elements = 6, .variants = false};
  check_gradient(
      {"MatMulIntegerToFloat",
       {counted<std::uint8_t>({2, 3}, 41), b, Tensor::scalar(0.1), random_tensor({4}, 1, 0.1, 0.2),
        u8(100), Tensor::of<std::int8_t>({4}, {1, 2, 3, 4}), random_tensor({4}, 2)},
       {},
       1,
       contrib},
      check);
  check_gradient({"DynamicQuantizeMatMul",
                  {random_tensor({2, 3}, 3), b, random_tensor({4}, 1, 0.1, 0.2),
                   Tensor::of<std::int8_t>({4}, {1, 2, 3, 4}), random_tensor({4}, 2)},
                  {},
                  1,
                  contrib},
                 {.elements = 6, .variants = false, .floats = false, .skip = {0}});
}

TEST_CASE("QLinearAdd and QLinearMul broadcast and saturate") {
  const Tensor y = counted<std::uint8_t>({4}, 83);
  const std::vector<Value> operands{x,     Tensor::scalar(0.03F), u8(7), y, Tensor::scalar(0.02F),
                                    u8(3), Tensor::scalar(0.05F), u8(12)};
  check_close(run("QLinearAdd", operands),
              bytes(x.shape(), {7, 62, 117, 173, 95, 151, 206, 108, 31, 86, 141, 197}));
  check_close(run("QLinearMul", operands),
              bytes(x.shape(), {12, 41, 143, 255, 7, 183, 255, 0, 11, 79, 221, 255}));
  auto mixed = operands;
  mixed[3] = counted<std::int8_t>({4}, 3);
  CHECK_THROWS_AS(run("QLinearAdd", mixed), Error);
}

TEST_CASE("Activations of quantized operands") {
  check_close(
      run("QLinearSigmoid", {x, Tensor::scalar(0.03F), u8(120), Tensor::scalar(1.0F / 256), u8(5)}),
      bytes(x.shape(), {12, 25, 56, 116, 184, 229, 250, 12, 26, 60, 122, 189}));
  check_close(
      run("QLinearLeakyRelu", {x, Tensor::scalar(0.03F), u8(120), Tensor::scalar(0.03F), u8(50)},
          {{"alpha", 0.25F}}),
      bytes(x.shape(), {20, 29, 38, 48, 78, 115, 152, 21, 30, 39, 48, 81}));
}

TEST_CASE("Average pools of quantized operands, channels first and last") {
  const std::vector<Value> operands{x, Tensor::scalar(0.03F), u8(7), Tensor::scalar(0.04F), u8(9)};
  const std::vector<std::int64_t> square{2, 2};
  check_close(run("QLinearAveragePool", operands,
                  {{"kernel_shape", square}, {"pads", std::vector<std::int64_t>{1, 0, 0, 0}}}),
              bytes({1, 1, 3, 3}, {18, 45, 73, 73, 101, 81, 88, 116, 96}));
  auto last = operands;
  last[0] = x.reshaped({1, 3, 2, 2});
  check_close(run("QLinearAveragePool", last, {{"kernel_shape", square}, {"channels_last", 1L}}),
              bytes({1, 2, 1, 2}, {87, 67, 102, 82}));
  check_close(run("QLinearGlobalAveragePool", operands), bytes({1, 1, 1, 1}, {76}));
}

TEST_CASE("QLinearConcat brings its operands to one scale") {
  const Tensor row = bytes({1, 1, 1, 4}, {0, 37, 74, 111});
  check_close(
      run("QLinearConcat",
          {Tensor::scalar(0.04F), u8(9), x, Tensor::scalar(0.03F), u8(7), row, Tensor::scalar(0.1F),
           u8(0)},
          {{"axis", 2L}}),
      bytes({1, 1, 4, 4}, {4, 31, 59, 87, 115, 143, 170, 6, 34, 61, 89, 117, 9, 101, 194, 255}));
  CHECK_THROWS_AS(run("QLinearConcat", {Tensor::scalar(0.04F), u8(9), x, Tensor::scalar(0.03F)},
                      {{"axis", 2L}}),
                  Error);
}

TEST_CASE("QGemm adds c in steps of both scales") {
  const Tensor a = counted<std::uint8_t>({2, 3}, 41);
  const Tensor b = counted<std::int8_t>({3, 4}, 17, 100, -50);
  const auto c = Tensor::of<std::int32_t>({4}, {100, -200, 300, 7});
  const std::vector<Value> operands{
      a, Tensor::scalar(0.1F), u8(100), b, Tensor::scalar(0.02F), s8(3), c};
  auto quantized = operands;
  quantized.emplace_back(Tensor::scalar(0.5F));
  quantized.emplace_back(u8(90));
  check_close(run("QGemm", quantized, {{"alpha", 0.5F}}),
              bytes({2, 4}, {100, 93, 100, 93, 86, 92, 87, 93}));
  const Tensor y = run("QGemm", operands, {{"alpha", 0.5F}});
  // Row 0 of a is -100, -59, -18, column 0 of b -53, 15, -17 without the zero points.
  const double sum = -100.0 * -53 + -59.0 * 15 + -18.0 * -17 + 100;
  CHECK(y.item<float>() == Approx(0.5 * 0.1 * 0.02 * sum));
}

TEST_CASE("QAttention projects quantized inputs") {
  std::vector<std::int8_t> weights;
  for (int row = 0; row < 2; ++row) {
    for (int i = 0; i < 12; ++i) {
      weights.push_back(static_cast<std::int8_t>((row * 24 + i) * 17 % 100 - 50));
    }
  }
  const Tensor w = Tensor::of<std::int8_t>({2, 12}, weights);
  const Tensor data = counted<std::uint8_t>({1, 3, 2}, 41);
  const auto lengths = Tensor::of<std::int32_t>({1}, {2});
  check_close(run("QAttention",
                  {data, w, wave({12}, 2), Tensor::scalar(0.01F), Tensor::scalar(0.02F), lengths,
                   u8(100), s8(3)},
                  {{"num_heads", 2L}}),
              Tensor::of<float>({1, 3, 4}, {1.025333F, 0.9273986F, 0.1750856F, -0.7272297F,
                                            1.124418F, 0.8969107F, 0.2530051F, -0.5862325F,
                                            1.284964F, 0.847512F, 0.3178173F, -0.4689531F}),
              {2e-5, 2e-6});
  check_gradient({"QAttention",
                  {data, w, random_tensor({12}, 2), Tensor::scalar(0.01), Tensor::scalar(0.02),
                   lengths, u8(100), s8(3), random_tensor({2, 1, 2, 1, 2}, 3)},
                  {{"num_heads", 2L}},
                  2,
                  contrib},
                 {.elements = 4, .variants = false});
}

TEST_CASE("QuantizeLinear and DequantizeLinear of com.microsoft are the standard's") {
  const Tensor value = wave({2, 3}, 0);
  const Tensor scale = Tensor::scalar(0.001F);
  const Tensor point = Tensor::scalar(std::int16_t{5});
  const Tensor q = run("QuantizeLinear", {value, scale, point});
  check_close(q, run_op_tensor({"QuantizeLinear", {value, scale, point}}));
  check_close(run("DequantizeLinear", {q, scale, point}), value, {0, 5.1e-4});
}
