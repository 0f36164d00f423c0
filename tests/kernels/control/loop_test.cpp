// The types of values that a loop carries.
#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

using Names = std::vector<std::string>;

std::string numbered(const std::string& name, std::size_t i) { return name + std::to_string(i); }

// Carries v0 that `change` changes, and v1, v2, ... that are each the one before of the iteration
// before; all begin as x.
ModelDef delayed(std::size_t count, const NodeDef& change) {
  GraphDef body;
  body.name = "body";
  body.inputs = {tensor_value("i", DType::int64, {}), tensor_value("going", DType::boolean, {})};
  body.outputs = {tensor_value("go_on", DType::boolean, {})};
  body.nodes = {node("Identity", {"going"}, {"go_on"}), change};
  ModelDef model;
  model.ir_version = 8;
  model.opsets = {{"", 18}};
  GraphDef& graph = model.graph;
  graph.name = "delayed";
  graph.inputs = {tensor_value("times", DType::int64, {}),
                  tensor_value("x", DType::float32, {std::int64_t{2}})};
  graph.initializers = {{"axis", Tensor::of<std::int64_t>({1}, {0}), "", {}}};
  Names starts{"times", ""};
  Names results;
  for (std::size_t k = 0; k < count; ++k) {
    ValueDef formal = tensor_value(numbered("v", k), DType::float32, {});
    formal.type.dims.reset();
    body.inputs.push_back(formal);
    formal.name = numbered("w", k);
    body.outputs.push_back(formal);
    if (k > 0) {
      body.nodes.push_back(node("Identity", {numbered("v", k - 1)}, {numbered("w", k)}));
    }
    starts.emplace_back("x");
    results.push_back(numbered("y", k));
    formal.name = results.back();
    graph.outputs.push_back(formal);
  }
  graph.nodes = {
      node("Loop", starts, results, {{"body", std::make_shared<const GraphDef>(std::move(body))}})};
  return model;
}

}  // namespace

TEST_CASE("values that a loop carries may change their shapes one after the other") {
  for (const std::size_t count : {1, 2, 3, 4, 5, 12}) {
    INFO(count);
    const Model longer = Model::load(
        encode(delayed(count, node("Concat", {"v0", "x"}, {"w0"}, {{"axis", std::int64_t{0}}}))));
    const Model deeper =
        Model::load(encode(delayed(count, node("Unsqueeze", {"v0", "axis"}, {"w0"}))));
    for (const std::int64_t times : {0, 1, 3, 14}) {
      const NamedValues feeds{{"times", Tensor::scalar(times)},
                              {"x", Tensor::of<float>({2}, {1, -2})}};
      const auto long_ones = longer.infer(feeds);
      const auto deep_ones = deeper.infer(feeds);
      for (std::size_t k = 0; k < count; ++k) {
        const std::int64_t changes = std::max<std::int64_t>(0, times - static_cast<int>(k));
        CHECK(long_ones[k].second.tensor().shape() == Shape{2 + 2 * changes});
        Shape deep;
        for (std::int64_t i = 0; i < changes; ++i) deep.push_back(1);
        deep.push_back(2);
        CHECK(deep_ones[k].second.tensor().shape() == deep);
      }
    }
  }
}
