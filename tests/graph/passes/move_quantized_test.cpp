// Operators that move elements move the quantized ones between equal scales.
#include "graph/passes/quantization.h"

#include <catch2/catch.hpp>

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

const OpDef dequantize{.name = "DequantizeLinear"};
const OpDef quantize{.name = "QuantizeLinear"};
const OpDef transpose{.name = "Transpose"};
const OpDef max_pool{.name = "MaxPool"};
const OpDef relu{.name = "Relu"};

struct Chain {
  const OpDef& op = transpose;
  std::int64_t version = 13;
  float scale = 0.5F;  // after it
  std::uint8_t zero = 3;
  bool read_twice = false;
  std::size_t masks = 0;  // further outputs
};

Node made(const OpDef& op, std::vector<ValueId> inputs, ValueId output) {
  Node node;
  node.op = &op;
  node.version = 13;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return node;
}

// x, as it was quantized by 0.5 and 3, through the operator to y. The last node.
struct Result {
  bool changed = false;
  Node last;
  ValueId x = no_value;
};

Result moved(const Chain& chain) {
  Graph graph;
  const Type bytes = Type::tensor(DType::uint8, Dims{2, 2});
  const Type floats = Type::tensor(DType::float32, Dims{2, 2});
  const ValueId x = graph.add_value("x", bytes);
  const ValueId a = graph.add_value("a", floats);
  const ValueId b = graph.add_value("b", floats);
  const ValueId y = graph.add_value("y", bytes);
  const ValueId z = graph.add_value("z", floats);
  const auto scale = [&](float value) {
    return add_constant(graph, "scale", Tensor::scalar(value));
  };
  const auto zero = [&](std::uint8_t value) {
    return add_constant(graph, "zero", Tensor::scalar(value));
  };
  graph.inputs = {x};
  graph.outputs = {y};
  graph.nodes = {made(dequantize, {x, scale(0.5F), zero(3)}, a), made(chain.op, {a}, b),
                 made(quantize, {b, scale(chain.scale), zero(chain.zero)}, y)};
  graph.nodes[1].version = chain.version;
  for (std::size_t i = 0; i < chain.masks; ++i) {
    graph.nodes[1].outputs.push_back(graph.add_value("mask", floats));
  }
  if (chain.read_twice) {
    graph.nodes.insert(graph.nodes.begin() + 2, made(relu, {b}, z));
    graph.outputs.push_back(z);
  }
  const Uses uses(graph);
  Result result;
  result.changed = move_quantized(graph.nodes.back(), graph, uses);
  result.last = graph.nodes.back();
  result.x = x;
  return result;
}

}  // namespace

TEST_CASE("what moves elements between equal scales moves the quantized ones") {
  for (const Chain& chain : {Chain{}, Chain{.op = max_pool, .version = 12}}) {
    const Result result = moved(chain);
    CHECK(result.changed);
    CHECK(result.last.op == &chain.op);
    CHECK(result.last.inputs[0] == result.x);
  }
  for (const Chain& chain :
       {Chain{.op = max_pool, .version = 11}, Chain{.op = relu}, Chain{.scale = 0.25F},
        Chain{.zero = 4}, Chain{.read_twice = true}, Chain{.masks = 1}}) {
    const Result result = moved(chain);
    CHECK_FALSE(result.changed);
    CHECK(result.last.op == &quantize);
  }
}

}  // namespace ondine::test
