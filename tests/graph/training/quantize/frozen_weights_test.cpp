// The nodes and initializers that frozen weights of few bits become.
#include "graph/training/quantize/frozen_weights.h"

#include <limits>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

// y = x w with w [rows, columns].
ModelDef product(std::int64_t opset, std::int64_t ir_version, std::int64_t rows = 64,
                 std::int64_t columns = 16) {
  ModelDef model;
  model.ir_version = ir_version;
  model.opsets = {{"", opset}};
  model.graph.name = "main";
  model.graph.inputs = {tensor_value("x", DType::float32, {DimName("N"), rows})};
  model.graph.outputs = {tensor_value("y", DType::float32, {DimName("N"), columns})};
  model.graph.initializers = {{"w", random_floats({rows, columns}, 1), "", {}}};
  model.graph.nodes = {node("MatMul", {"x", "w"}, {"y"})};
  return model;
}

const InitializerDef& named(const ModelDef& model, const std::string& name) {
  for (const InitializerDef& one : model.graph.initializers) {
    if (one.name == name) return one;
  }
  FAIL("no initializer " << name);
  return model.graph.initializers[0];
}

std::int64_t integer(const NodeDef& node, const std::string& name) {
  const Attribute* found = find(node.attributes, name);
  REQUIRE(found != nullptr);
  return std::get<std::int64_t>(found->data);
}

}  // namespace

TEST_CASE("frozen weights become integers with scales of blocks from version 21 on") {
  for (const std::int64_t opset : {20, 21}) {
    CAPTURE(opset);
    ModelDef model = product(opset, 8);
    const auto report = quantize_frozen(model, {}, DType::int8);
    REQUIRE(report.size() == 1);
    REQUIRE(model.graph.nodes.size() == 2);
    const NodeDef& first = model.graph.nodes[0];
    CHECK(first.op == "DequantizeLinear");
    CHECK(first.name == "w.dequantize");
    CHECK(first.inputs == std::vector<std::string>{"w.quantized", "w.scale"});
    CHECK(first.outputs == std::vector<std::string>{"w"});
    CHECK(named(model, "w.quantized").value.dtype() == DType::int8);
    const Tensor& scale = named(model, "w.scale").value;
    if (opset == 21) {
      CHECK(integer(first, "axis") == 0);
      CHECK(scale.shape() == Shape{64 / integer(first, "block_size"), 16});
    } else {
      CHECK(integer(first, "axis") == 1);
      CHECK(find(first.attributes, "block_size") == nullptr);
      CHECK(scale.shape() == Shape{16});
    }
    CHECK(report[0].bytes_after == scale.bytes() + 64 * 16);
    // Integers of 8 bits are as old as the format.
    CHECK(model.ir_version == 8);
  }
}

TEST_CASE("elements of 4 bits need version 10 of the format, other formats none") {
  for (const FrozenFormat& format : {FrozenFormat(DType::int4), FrozenFormat::nf4()}) {
    ModelDef old = product(21, 8);
    quantize_frozen(old, {}, format);
    CHECK(old.ir_version == 10);
    ModelDef recent = product(21, 11);
    const auto report = quantize_frozen(recent, {}, format);
    CHECK(recent.ir_version == 11);
    CHECK(report.at(0).bytes_after == named(recent, "w.scale").value.bytes() + 64 * 16 / 2);
  }
  ModelDef half = product(21, 8);
  const auto report = quantize_frozen(half, {}, DType::bfloat16);
  CHECK(half.ir_version == 8);
  CHECK(report.at(0).bytes_after == 64 * 16 * 2);
  CHECK(half.graph.nodes[0].op == "Cast");
  CHECK(integer(half.graph.nodes[0], "to") == static_cast<std::int64_t>(DType::float32));
}

TEST_CASE("small weights, those that are trained and those at the border of the graph stay") {
  ModelDef small = product(21, 10, 64, 15);
  CHECK(quantize_frozen(small, {}, DType::int8).empty());
  CHECK(small.graph.nodes.size() == 1);
  ModelDef trained = product(21, 10);
  CHECK(quantize_frozen(trained, {"w"}, DType::int8).empty());
  ModelDef input = product(21, 10);
  input.graph.inputs.push_back(
      tensor_value("w", DType::float32, {std::int64_t{64}, std::int64_t{16}}));
  CHECK(quantize_frozen(input, {}, DType::int8).empty());
  ModelDef output = product(21, 10);
  output.graph.outputs.push_back(
      tensor_value("w", DType::float32, {std::int64_t{64}, std::int64_t{16}}));
  CHECK(quantize_frozen(output, {}, DType::int8).empty());
  ModelDef infinite = product(21, 10);
  infinite.graph.initializers[0].value.mutable_values<float>()[7] =
      std::numeric_limits<float>::infinity();
  CHECK(quantize_frozen(infinite, {}, DType::int8).empty());
}

TEST_CASE("a format needs its version of ai.onnx") {
  CHECK_NOTHROW(check_frozen_format(DType::int8, 13));
  CHECK_NOTHROW(check_frozen_format(DType::bfloat16, 13));
  CHECK_NOTHROW(check_frozen_format(DType::int4, 13));
  CHECK_NOTHROW(check_frozen_format(FrozenFormat::nf4(), 13));
  using Catch::Contains;
  CHECK_THROWS_WITH(
      check_frozen_format(DType::int8, 12),
      Contains("frozen weights of int8 need ai.onnx 13, the model imports ai.onnx 12"));
  CHECK_THROWS_WITH(check_frozen_format(DType::int4, 12), Contains("int4 need ai.onnx 13"));
  CHECK_THROWS_WITH(check_frozen_format(FrozenFormat::nf4(), 12), Contains("nf4 need ai.onnx 13"));
  CHECK_THROWS_WITH(check_frozen_format(DType::uint4, 21), Contains("quantize_frozen is uint4"));
  CHECK_THROWS_WITH(check_frozen_format(DType::float16, 21),
                    Contains("quantize_frozen is float16"));
}
