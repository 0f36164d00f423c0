// Products and lookups of matrices held in few bits, beside numbers computed in double.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/error.h>

#include "core/float_formats.h"
#include "core/packed_elements.h"
#include "graph/contract/op_def.h"
#include "graph/evaluate/graph_runner.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

// A matrix b and its parameters, and the numbers that they mean.
struct Weights {
  Tensor elements, scale, zero_point;
  std::vector<double> numbers;
};

int element(const Tensor& tensor, std::size_t i) {
  if (tensor.dtype() == DType::uint8) return tensor.values<std::uint8_t>()[i];
  return static_cast<const std::int8_t*>(tensor.data())[i];
}

Tensor random_bytes(DType dtype, const Shape& shape, std::uint64_t seed) {
  Tensor result(dtype, shape);
  const bool four = dtype == DType::int4;
  const Tensor floats = random_floats(shape, seed, four ? -8 : -120, four ? 7.9F : 120);
  auto* to = static_cast<std::int8_t*>(result.mutable_data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(result.size()); ++i) {
    to[i] = static_cast<std::int8_t>(std::floor(floats.values<float>()[i]));
  }
  return result;
}

// `scales`: their shape, rows and columns of which each covers a block of the matrix.
Weights weights(DType dtype, const Shape& shape, const Shape& scales, std::int64_t axis,
                std::int64_t block, bool shifted) {
  Weights w{random_bytes(dtype, shape, 1), random_floats(scales, 2, 0.01F, 0.1F), {}, {}};
  if (shifted) w.zero_point = random_bytes(dtype, scales, 3);
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    for (std::int64_t j = 0; j < shape[1]; ++j) {
      const std::int64_t along = (axis == 0 ? i : j) / block;
      std::int64_t at = along;
      if (scales.rank() == 2) at = axis == 0 ? along * scales[1] + j : i * scales[1] + along;
      if (scales.rank() == 0) at = 0;
      const auto s = static_cast<std::size_t>(at);
      const int zero = shifted ? element(w.zero_point, s) : 0;
      const int x = element(w.elements, static_cast<std::size_t>(i * shape[1] + j));
      w.numbers.push_back(double{w.scale.values<float>()[s]} * (x - zero));
    }
  }
  return w;
}

// y(i, j) = sum over p of a(i, p) b(p, j) + bias(j).
void check_product(const Tensor& y, const Tensor& a, const Weights& w, std::int64_t k,
                   std::int64_t n, bool transposed, const Tensor& bias) {
  const auto x = a.values<float>();
  REQUIRE(y.size() == a.size() / k * n);
  double worst = 0;
  for (std::int64_t i = 0; i < a.size() / k; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = bias.defined() ? double{bias.values<float>()[static_cast<std::size_t>(j)]} : 0;
      double magnitude = 1;
      for (std::int64_t p = 0; p < k; ++p) {
        const auto at = static_cast<std::size_t>(transposed ? j * k + p : p * n + j);
        const double term = double{x[static_cast<std::size_t>(i * k + p)]} * w.numbers[at];
        sum += term;
        magnitude += std::abs(term);
      }
      const double got = double{y.values<float>()[static_cast<std::size_t>(i * n + j)]};
      worst = std::max(worst, std::abs(got - sum) / magnitude);
    }
  }
  CHECK(worst < 2e-6);
}

Value given(const Tensor& tensor) { return tensor.defined() ? Value(tensor) : Value(); }

OpCase product_of(const Tensor& a, const Weights& w, const Tensor& bias,
                  graph::Attributes attributes) {
  OpCase one{"DequantizeMatMul",
             {a, w.elements, w.scale, given(w.zero_point), given(bias)},
             std::move(attributes)};
  one.domain = "ai.ondine";
  return one;
}

}  // namespace

TEST_CASE("DequantizeMatMul multiplies by what DequantizeLinear would make of blocks") {
  const DType dtype = GENERATE(DType::int8, DType::uint8, DType::int4);
  const bool transposed = GENERATE(false, true);
  const std::int64_t axis = GENERATE(0, 1);
  const bool shifted = GENERATE(false, true);
  constexpr std::int64_t k = 70;
  constexpr std::int64_t n = 330;  // more than one strip of a deep matrix would be too slow here
  const Shape shape = transposed ? Shape{n, k} : Shape{k, n};
  const auto blocks = [&](std::size_t dim) {
    return dim == static_cast<std::size_t>(axis) ? (shape[dim] + 31) / 32 : shape[dim];
  };
  const Weights w = weights(dtype, shape, {blocks(0), blocks(1)}, axis, 32, shifted);
  const Tensor a = random_floats({2, 5, k}, 4);
  const Tensor bias = shifted ? random_floats({n}, 5) : Tensor();
  const Tensor y = run_op_tensor(product_of(
      a, w, bias,
      {{"axis", axis}, {"block_size", 32L}, {"transB", static_cast<std::int64_t>(transposed)}}));
  CHECK(y.shape() == Shape{2, 5, n});
  check_product(y, a, w, k, n, transposed, bias);
}

TEST_CASE("DequantizeMatMul takes one scale, and one for each row or column") {
  constexpr std::int64_t k = 40;
  constexpr std::int64_t n = 24;
  const Tensor a = random_floats({7, k}, 4);
  const Weights whole = weights(DType::int8, {k, n}, {}, 1, 1, true);
  check_product(run_op_tensor(product_of(a, whole, {}, {})), a, whole, k, n, false, {});
  const std::int64_t axis = GENERATE(0, 1);
  const Weights each = weights(DType::int8, {k, n}, {axis == 0 ? k : n}, axis, 1, false);
  check_product(run_op_tensor(product_of(a, each, {}, {{"axis", axis}})), a, each, k, n, false, {});
}

TEST_CASE("pieces of a deep matrix have the bits of the product with all of it") {
  // Several of rows and of columns, with a rest that is a piece and one that joins another.
  const std::int64_t k = GENERATE(4100, 5990);
  const std::int64_t n = GENERATE(130, 150);
  const std::int64_t m = GENERATE(1, 3, 4, 5, 33);
  const bool transposed = GENERATE(false, true);
  const Shape shape = transposed ? Shape{n, k} : Shape{k, n};
  const Tensor a = random_floats({m, k}, 4);
  const Tensor bias = random_floats({n}, 5);
  const Tensor numbers = random_floats(shape, 6);
  Tensor b(DType::float32, shape);
  Weights w{Tensor(DType::float16, shape), {}, {}, {}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(b.size()); ++i) {
    const float16 half = to_float16(numbers.values<float>()[i]);
    w.elements.mutable_values<float16>()[i] = half;
    b.mutable_values<float>()[i] = to_float(half);
  }
  OpCase pieces{"DequantizeMatMul",
                {a, w.elements, Value(), Value(), bias},
                {{"transB", static_cast<std::int64_t>(transposed)}}};
  pieces.domain = "ai.ondine";
  OpCase whole{"Gemm", {a, b, bias}, {{"transB", static_cast<std::int64_t>(transposed)}}};
  CHECK(run_op_tensor(pieces).identical(run_op_tensor(whole)));
}

TEST_CASE("DequantizeMatMul of a matrix without rows is its bias") {
  const Weights none{Tensor(DType::int8, {0, 3}), Tensor::scalar(1.0F), {}, {}};
  const Tensor bias = Tensor::of<float>({3}, {1, 2, 3});
  const Tensor y = run_op_tensor(product_of(Tensor(DType::float32, {2, 0}), none, bias, {}));
  CHECK(y.identical(Tensor::of<float>({2, 3}, {1, 2, 3, 1, 2, 3})));
}

TEST_CASE("DequantizeMatMul widens float16 and bfloat16 without a scale") {
  const DType dtype = GENERATE(DType::float16, DType::bfloat16);
  const Tensor floats = random_floats({20, 30}, 1);
  Weights w{Tensor(dtype, {20, 30}), {}, {}, {}};
  for (std::size_t i = 0; i < 600; ++i) {
    const float x = floats.values<float>()[i];
    if (dtype == DType::float16) w.elements.mutable_values<float16>()[i] = to_float16(x);
    if (dtype == DType::bfloat16) w.elements.mutable_values<bfloat16>()[i] = to_bfloat16(x);
    w.numbers.push_back(
        double{dtype == DType::float16 ? to_float(to_float16(x)) : to_float(to_bfloat16(x))});
  }
  const Tensor a = random_floats({6, 20}, 2);
  OpCase one{"DequantizeMatMul", {a, w.elements}, {}};
  one.domain = "ai.ondine";
  check_product(run_op_tensor(one), a, w, 20, 30, false, {});
}

TEST_CASE("DequantizeGather dequantizes the rows that it reads") {
  const bool shifted = GENERATE(false, true);
  const Weights w = weights(DType::int4, {9, 70}, {9, 3}, 1, 32, shifted);
  const Tensor indices = Tensor::of<std::int64_t>({2, 2}, {8, 0, -2, 3});
  OpCase one{"DequantizeGather",
             {indices, w.elements, w.scale, given(w.zero_point)},
             {{"axis", 1L}, {"block_size", 32L}}};
  one.domain = "ai.ondine";
  const Tensor y = run_op_tensor(one);
  REQUIRE(y.shape() == Shape{2, 2, 70});
  const std::size_t rows[] = {8, 0, 7, 3};
  for (std::size_t i = 0; i < 280; ++i) {
    CHECK(double{y.values<float>()[i]} == Approx(w.numbers[rows[i / 70] * 70 + i % 70]));
  }
  one.inputs[0] = Tensor::of<std::int64_t>({1}, {9});
  CHECK_THROWS_AS(run_op(one), Error);
}

// Equivalent node with its matrix in packed form.
OpCase packed(OpCase one) {
  const Tensor elements = one.inputs[1].tensor();
  const DType dtype = elements.dtype();
  Tensor bytes(DType::uint8, {static_cast<std::int64_t>(packed_size(dtype, elements.size()))});
  pack(dtype, {static_cast<const std::byte*>(elements.data()), elements.bytes()},
       std::as_writable_bytes(bytes.mutable_values<std::uint8_t>()));
  one.inputs[1] = bytes;
  one.attributes.emplace_back("packed_type", static_cast<std::int64_t>(dtype));
  one.attributes.emplace_back("packed_shape",
                              std::vector<std::int64_t>{elements.shape()[0], elements.shape()[1]});
  return one;
}

// Result of the standard's operators that the node stands for.
Tensor expanded(const OpCase& one) {
  graph::Graph graph;
  graph::Builder builder(graph, catalogue());
  builder.set_expand([](const graph::Node& node) { return node.op->domain == "ai.ondine"; });
  std::vector<graph::Val> inputs;
  std::vector<Value> fed;
  for (const Value& value : one.inputs) {
    if (value.kind() == Value::Kind::none) {
      inputs.emplace_back();
      continue;
    }
    graph.inputs.push_back(graph.add_temporary("x", graph::type_of(value)));
    inputs.push_back(builder.value(graph.inputs.back()));
    fed.push_back(value);
  }
  graph.outputs = {builder.nodes(one.op, inputs, one.attributes, 1, one.domain)[0].id()};
  for (const graph::Node& node : graph.nodes) CHECK(node.op->domain.empty());
  return graph::evaluate(graph, fed).at(0).tensor();
}

// Element i is `offset` + i * 5 within the numbers of `count` that the dtype has.
Tensor small_numbers(DType dtype, const Shape& shape, int count, int offset) {
  Tensor result(dtype, shape);
  auto* const to = static_cast<std::int8_t*>(result.mutable_data());
  for (std::int64_t i = 0; i < result.size(); ++i) {
    to[i] = static_cast<std::int8_t>(i * 5 / 3 % count + offset);
  }
  return result;
}

TEST_CASE("packed matrices give the bits of matrices with an element a byte") {
  struct Case {
    DType dtype;
    int count, offset;
  };
  const Case one = GENERATE(Case{DType::int4, 16, -8}, Case{DType::uint4, 16, 0},
                            Case{DType::int2, 4, -2}, Case{DType::uint2, 4, 0});
  const bool transposed = GENERATE(false, true);
  const std::int64_t axis = GENERATE(0, 1);
  const bool shifted = GENERATE(false, true);
  // Odd: rows begin within a byte. More than a strip, and rows longer than a piece.
  const std::int64_t k = transposed ? 1051 : 61;
  const std::int64_t n = transposed ? 61 : 1051;
  const Shape shape = transposed ? Shape{n, k} : Shape{k, n};
  const Shape scales =
      axis == 0 ? Shape{(shape[0] + 31) / 32, shape[1]} : Shape{shape[0], (shape[1] + 31) / 32};
  Weights w{small_numbers(one.dtype, shape, one.count, one.offset),
            random_floats(scales, 2, 0.01F, 0.1F),
            {},
            {}};
  if (shifted) w.zero_point = small_numbers(one.dtype, scales, one.count, one.offset);
  const OpCase plain = product_of(
      random_floats({17, k}, 4), w, random_floats({n}, 5),
      {{"axis", axis}, {"block_size", 32L}, {"transB", static_cast<std::int64_t>(transposed)}});
  CHECK(run_op_tensor(packed(plain)).identical(run_op_tensor(plain)));
  check_close(run_op_tensor(packed(plain)), expanded(packed(plain)), {1e-5, 1e-5});
  OpCase lookup{"DequantizeGather",
                {Tensor::of<std::int64_t>({3}, {1, shape[0] - 1, 2}), w.elements, w.scale,
                 given(w.zero_point)},
                {{"axis", axis}, {"block_size", 32L}}};
  lookup.domain = "ai.ondine";
  CHECK(run_op_tensor(packed(lookup)).identical(run_op_tensor(lookup)));
  CHECK(expanded(packed(lookup)).identical(run_op_tensor(lookup)));
}

TEST_CASE("elements that are indices of levels mean these levels times the scale") {
  constexpr std::int64_t k = 70;
  constexpr std::int64_t n = 131;
  const std::int64_t axis = GENERATE(0, 1);
  const Shape scales = axis == 0 ? Shape{2, n} : Shape{k, 3};
  Weights w{
      small_numbers(DType::uint4, {k, n}, 16, 0), random_floats(scales, 2, 0.01F, 0.1F), {}, {}};
  const Tensor table = random_floats({16}, 3);
  const auto levels = table.values<float>();
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t at = axis == 0 ? i / 64 * n + j : i * 3 + j / 64;
      const float scale = w.scale.values<float>()[static_cast<std::size_t>(at)];
      const int x = element(w.elements, static_cast<std::size_t>(i * n + j));
      w.numbers.push_back(double{levels[static_cast<std::size_t>(x)] * scale});
    }
  }
  const graph::Attributes attributes{{"axis", axis},
                                     {"block_size", 64L},
                                     {"levels", std::vector<float>(levels.begin(), levels.end())}};
  const Tensor a = random_floats({6, k}, 4);
  const OpCase product = product_of(a, w, {}, attributes);
  check_product(run_op_tensor(product), a, w, k, n, false, {});
  CHECK(run_op_tensor(packed(product)).identical(run_op_tensor(product)));
  check_close(run_op_tensor(product), expanded(packed(product)), {1e-5, 1e-6});
  check_close(run_op_tensor(product), expanded(product), {1e-5, 1e-6});
  OpCase lookup{
      "DequantizeGather", {Tensor::of<std::int64_t>({1}, {5}), w.elements, w.scale}, attributes};
  lookup.domain = "ai.ondine";
  const Tensor row = run_op_tensor(packed(lookup));
  for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
    CHECK(double{row.values<float>()[j]} == w.numbers[5 * static_cast<std::size_t>(n) + j]);
  }
}

TEST_CASE("packed matrices and levels that are none are refused") {
  const Weights w = weights(DType::int4, {6, 5}, {6, 1}, 1, 32, false);
  const OpCase good =
      packed(product_of(random_floats({2, 6}, 1), w, {}, {{"axis", 1L}, {"block_size", 32L}}));
  CHECK(run_op_tensor(good).shape() == Shape{2, 5});
  const auto refuses = [&](const char* name, const graph::Attribute& other, const char* message) {
    OpCase one = good;
    std::erase_if(one.attributes, [&](const auto& each) { return each.name == name; });
    one.attributes.push_back(other);
    CHECK_THROWS_WITH(run_op(one), Catch::Contains(message));
  };
  const auto shape_of = [](std::vector<std::int64_t> dims) {
    return graph::Attribute{"packed_shape", std::move(dims)};
  };
  refuses("packed_type", {"packed_type", std::int64_t{3}}, "packed_type is 3");
  refuses("packed_shape", shape_of({30}), "packed_shape has no rows and columns");
  refuses("packed_shape", shape_of({-6, 5}), "packed_shape has no rows and columns");
  refuses("packed_shape", shape_of({6, 7}), "bytes of packed elements");
  refuses("levels", {"levels", std::vector<float>(16)}, "16 levels of int4");
  OpCase wide = good;
  wide.inputs[1] = Tensor(DType::int8, {15});
  CHECK_THROWS_WITH(run_op(wide), Catch::Contains("packed elements are int8"));
  wide.inputs[1] = Tensor(DType::uint8, {3, 5});
  CHECK_THROWS_WITH(run_op(wide), Catch::Contains("needed: one dim"));
}

TEST_CASE("DequantizeMatMul refuses factors that it has no numbers for") {
  const Tensor a = random_floats({2, 3}, 1);
  const auto throws = [](std::vector<Value> inputs) {
    OpCase one{"DequantizeMatMul", std::move(inputs), {}};
    one.domain = "ai.ondine";
    CHECK_THROWS_AS(run_op(one), Error);
  };
  throws({a, Tensor(DType::int8, {3, 4})});                           // no scale
  throws({a, Tensor(DType::int32, {3, 4}), Tensor::scalar(1.0F)});    // too many bits
  throws({a, Tensor(DType::int8, {4, 3}), Tensor::scalar(1.0F)});     // inner dims
  throws({a, Tensor(DType::int8, {2, 3, 4}), Tensor::scalar(1.0F)});  // no matrix
  throws({a, Tensor(DType::int8, {3, 4}), Tensor::scalar(1.0)});      // a scale in double
  throws(
      {a, Tensor(DType::int8, {3, 4}), Tensor::scalar(1.0F), Value(), Tensor(DType::float32, {3})});
}

}  // namespace ondine::test
