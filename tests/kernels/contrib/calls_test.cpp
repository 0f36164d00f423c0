// Operators of com.microsoft refuse calls that they do not have: inputs that are missing or too
// many, outputs and attributes of other versions, operands of other types.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "core/message.h"
#include "tests/kernels/contrib/waves.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Positions = std::vector<std::size_t>;

// A call with every input that the operator has.
struct Call {
  std::string op;
  std::vector<Value> inputs;
  Positions required;
  std::vector<Positions> floats;  // inputs that share one type of floats
  Positions bytes = {};           // inputs of 8 bits
  graph::Attributes attributes = {};
  std::size_t outputs = 1;      // at most
  std::size_t last_inputs = 0;  // more, which this call lacks
  bool runs_with_required = true;
};

Tensor f(Shape shape) { return random_floats(shape, 1, 0.1F, 1); }

Tensor u8(Shape shape) {
  Tensor tensor(DType::uint8, shape);
  for (std::uint8_t& value : tensor.mutable_values<std::uint8_t>()) value = 3;
  return tensor;
}

Tensor ids(Shape shape) { return Tensor(DType::int32, shape); }

std::vector<Call> calls() {
  const Tensor one = Tensor::scalar(0.5F);
  const Tensor zero = Tensor::scalar(std::uint8_t{2});
  const Tensor x = f({2, 3, 4});
  const Tensor row = f({4});
  return {
      {"Gelu", {x}, {0}, {{0}}},
      {"QuickGelu", {x}, {0}, {{0}}},
      {"BiasGelu", {x, row}, {0, 1}, {{0, 1}}},
      {"FastGelu", {x, row}, {}, {{0, 1}}, {}, {}, 1, 0, false},
      {"FusedMatMul", {f({3, 4}), f({4, 2})}, {0, 1}, {{0, 1}}},
      {"FusedGemm", {f({3, 4}), f({4, 2}), f({2})}, {0, 1}, {{0, 1, 2}}},
      {"FusedConv",
       {f({1, 2, 5, 5}), f({3, 2, 3, 3}), f({3}), f({1, 3, 3, 3})},
       {0, 1},
       {{0, 1, 2, 3}}},
      {"NhwcConv", {f({1, 5, 5, 2}), f({3, 2, 3, 3}), f({3})}, {0, 1}, {{0, 1, 2}}},
      {"SkipLayerNormalization", {x, x, row, row, row}, {0, 1, 2}, {{0, 1, 2, 3, 4}}, {}, {}, 4},
      {"SkipSimplifiedLayerNormalization",
       {x, x, row, row},
       {0, 1, 2},
       {{0, 1, 2, 3}},
       {},
       {},
       4,
       0,
       true},
      {"EmbedLayerNormalization",
       {ids({2, 3}), ids({2, 3}), f({5, 4}), f({3, 4}), f({2, 4}), row, row, ids({2, 3}),
        ids({2, 3})},
       {0, 2, 3, 5, 6},
       {{2, 3, 4, 5, 6}},
       {},
       {},
       3},
      {"RotaryEmbedding",
       {f({1, 2, 3, 4}), Tensor(DType::int64, {1, 3}), f({3, 2}), f({3, 2})},
       {0, 1, 2, 3},
       {{0, 2, 3}}},
      {"MatMulIntegerToFloat",
       {u8({3, 4}), u8({4, 2}), one, one, zero, zero, f({2})},
       {0, 1, 2, 3},
       {{2, 3, 6}},
       {0, 1, 4, 5}},
      {"DynamicQuantizeMatMul",
       {f({3, 4}), u8({4, 2}), one, zero, f({2})},
       {0, 1, 2},
       {{0, 2, 4}},
       {1, 3}},
      {"QLinearSigmoid", {u8({3}), one, zero, one, zero}, {0, 1, 3}, {{1}, {3}}, {0, 2, 4}},
      {"QLinearLeakyRelu", {u8({3}), one, zero, one, zero}, {0, 1, 3}, {{1}, {3}}, {0, 2, 4}},
      {"QLinearAdd",
       {u8({3}), one, zero, u8({3}), one, zero, one, zero},
       {0, 1, 3, 4, 6},
       {{1}, {4}, {6}},
       {0, 2, 3, 5, 7}},
      {"QLinearMul",
       {u8({3}), one, zero, u8({3}), one, zero, one, zero},
       {0, 1, 3, 4, 6},
       {{1}, {4}, {6}},
       {0, 2, 3, 5, 7}},
      {"QLinearAveragePool",
       {u8({1, 2, 4, 4}), one, zero, one, zero},
       {0, 1, 3},
       {{1}, {3}},
       {0, 2, 4},
       {{"kernel_shape", std::vector<std::int64_t>{2, 2}}}},
      {"QLinearGlobalAveragePool",
       {u8({1, 2, 4, 4}), one, zero, one, zero},
       {0, 1, 3},
       {{1}, {3}},
       {0, 2, 4}},
      {"QGemm",
       {u8({3, 4}), one, zero, u8({4, 2}), one, zero, ids({2}), one, zero},
       {0, 1, 2, 3, 4, 5},
       {{1}, {4}},
       {0, 2, 3, 5}},
      {"MatMulNBits",
       {f({1, 16}), u8({2, 1, 8}), f({2, 1}), u8({2, 1})},
       {0, 1, 2},
       {{0, 2}},
       {1},
       {{"N", std::int64_t{2}}, {"K", std::int64_t{16}}, {"block_size", std::int64_t{16}}},
       1,
       2},
      {"GatherBlockQuantized",
       {u8({3, 8}), ids({2}), f({3, 1}), u8({3, 1})},
       {0, 1, 2},
       {{2}},
       {},
       {{"block_size", std::int64_t{16}}}},
      {"CropAndResize",
       {f({1, 2, 4, 4}), f({1, 4}), ids({1}), Tensor::of<std::int32_t>({2}, {2, 2})},
       {0, 1, 2, 3},
       {{0, 1}}},
      {"DynamicQuantizeLSTM",
       {f({2, 1, 3}), u8({1, 3, 8}), u8({1, 2, 8}), f({1, 16}), ids({1}), f({1, 1, 2}),
        f({1, 1, 2}), f({1, 6}), f({1}), u8({1}), f({1}), u8({1})},
       {0, 1, 2, 8, 9, 10, 11},
       {{0, 3, 5, 6, 7, 8, 10}},
       {1, 2, 9, 11},
       {},
       3},
      {"QAttention",
       {u8({2, 3, 4}), u8({4, 12}), f({12}), one, one, ids({2}), zero, zero},
       {0, 1, 2, 3, 4},
       {{2, 3, 4}},
       {0, 1, 6, 7},
       {{"num_heads", std::int64_t{2}}},
       2,
       1},
      {"Attention",
       {x, f({4, 12}), f({12})},
       {0, 1},
       {{0, 1, 2}},
       {},
       {{"num_heads", std::int64_t{2}}},
       2,
       3},
      {"Unique", {f({4})}, {0}, {}, {}, {}, 3},
      {"Trilu", {f({3, 3}), Tensor::scalar(std::int64_t{1})}, {}, {}, {}, {}, 1, 0, false},
  };
}

// "" where the call runs.
std::string refusal(const Call& call, std::vector<Value> inputs, std::size_t outputs = 1,
                    const graph::Attributes& more = {}) {
  graph::Attributes attributes = call.attributes;
  attributes.insert(attributes.end(), more.begin(), more.end());
  try {
    run_op({call.op, std::move(inputs), attributes, outputs, contrib});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<Value> with(const Call& call, const Positions& positions, DType dtype) {
  std::vector<Value> inputs = call.inputs;
  for (const std::size_t i : positions) inputs[i] = Tensor(dtype, inputs[i].tensor().shape());
  return inputs;
}

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("operators of com.microsoft run with all of their inputs and with those required") {
  for (const Call& call : calls()) {
    CAPTURE(call.op);
    CHECK(refusal(call, call.inputs).empty());
    if (!call.runs_with_required) continue;
    std::vector<Value> least(call.inputs.size());
    for (const std::size_t i : call.required) least[i] = call.inputs[i];
    CHECK(refusal(call, least).empty());
  }
}

TEST_CASE("each required input of an operator of com.microsoft is missed by its number") {
  for (const Call& call : calls()) {
    for (const std::size_t i : call.required) {
      CAPTURE(call.op, i);
      std::vector<Value> inputs = call.inputs;
      inputs[i] = Value();
      CHECK_THAT(refusal(call, inputs), Contains(cat("input ", i, " is missing")));
    }
  }
}

TEST_CASE("operators of com.microsoft take no more inputs, outputs and attributes") {
  for (const Call& call : calls()) {
    CAPTURE(call.op);
    std::vector<Value> inputs = call.inputs;
    inputs.resize(inputs.size() + call.last_inputs);
    inputs.emplace_back(f({1}));
    CHECK_THAT(refusal(call, inputs),
               Contains(cat("input ", inputs.size() - 1, " is not supported")));
    CHECK_THAT(refusal(call, call.inputs, call.outputs + 1),
               Contains(cat("output ", call.outputs, " is not supported")));
    CHECK_THAT(refusal(call, call.inputs, 1, {{"unheard_of", std::int64_t{1}}}),
               Contains("attribute 'unheard_of' is not supported"));
  }
}

TEST_CASE("operands of operators of com.microsoft have one type of floats") {
  for (const Call& call : calls()) {
    for (const Positions& group : call.floats) {
      CAPTURE(call.op, group);
      CHECK_THAT(refusal(call, with(call, group, DType::int32)),
                 Contains(" is int32, needed: float, double, float16 or bfloat16"));
      for (const std::size_t i : group) {
        CAPTURE(i);
        if (group.size() > 1) {
          const std::size_t other = i == group[0] ? group[1] : i;
          CHECK_THAT(refusal(call, with(call, {i}, DType::float64)),
                     Contains(cat("inputs ", group[0], " and ", other, " differ in dtype: ")));
        }
        CHECK_THAT(refusal(call, with(call, {i}, DType::int32)), Contains("input"));
      }
    }
  }
}

TEST_CASE("quantized operands of operators of com.microsoft have 8 bits") {
  for (const Call& call : calls()) {
    for (const std::size_t i : call.bytes) {
      CAPTURE(call.op, i);
      for (const DType dtype : {DType::int32, DType::float32}) {
        const std::string text = refusal(call, with(call, {i}, dtype));
        CHECK_THAT(text, Contains(cat(" is ", dtype, ", needed: ")) ||
                             Contains(cat(", its zero point ", dtype)));
      }
    }
  }
}
