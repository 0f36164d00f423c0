#include "graph/training/prepare/head/head.h"
#include "graph/record/record.h"

#include <catch2/catch.hpp>

#include <cmath>

#include <ondine/error.h>

#include "core/random/random.h"
#include "core/to_doubles.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/writer.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

using List = std::vector<std::string>;

// The small network in elements of another type.
ModelDef network_of(DType dtype) {
  ModelDef model = network();
  for (InitializerDef& one : model.graph.initializers) one.value = Tensor(dtype, one.value.shape());
  for (auto* values : {&model.graph.inputs, &model.graph.outputs}) {
    for (ValueDef& value : *values) value.type.dtype = dtype;
  }
  return model;
}

}  // namespace

TEST_CASE("the weight of a head is uniform in 1 over the root of its fan in, its bias is zero") {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    INFO(to_string(dtype));
    ModelDef model = network_of(dtype);
    ValueTypes types;
    for (const char* name : {"c", "n", "r", "f", "d", "logits", "p"}) {
      types[name] = tensor_type(dtype, std::nullopt);
    }
    const PlacedHead placed = put_head(model, {.head = NewHead{.classes = 5}}, types);
    const InitializerDef* weight = find_initializer(model.graph, placed.weight);
    REQUIRE(weight != nullptr);
    CHECK(weight->value.dtype() == dtype);
    REQUIRE(weight->value.size() == 5 * 8);
    const ReadElement read = element_reader(dtype);
    const double precision = dtype == DType::bfloat16 ? 0x1p-8 : 0x1p-10;
    for (std::size_t i = 0; i < 40; ++i) {
      const double drawn = (2 * uniform_at(RandomKey{}, i) - 1) / std::sqrt(8.0);
      CHECK(read(weight->value.data(), i) == Approx(drawn).epsilon(precision).margin(1e-7));
    }
    const InitializerDef* bias = find_initializer(model.graph, "head.bias");
    REQUIRE(bias != nullptr);
    CHECK(bias->value.identical(Tensor(dtype, {5})));
  }
}

TEST_CASE("a head takes the place of the last layers and of what only these needed") {
  ModelDef model = network();
  model.metadata = {{"kept", "a"}, {"names", "old"}, {"id2label", "old"}, {"class_names", "old"}};
  const std::vector<DimDef> dims{std::string("N"), std::int64_t{8}};
  ValueTypes types;
  for (const char* name : {"f", "d"}) types[name] = tensor_type(DType::float32, dims);
  const PlacedHead placed =
      put_head(model, {.head = NewHead{.classes = 2, .names = {"cat", "dog"}}}, types);
  List ops;
  for (const NodeDef& node : model.graph.nodes) ops.push_back(node.op);
  CHECK(ops.back() == "Gemm");
  CHECK(ops.front() == "Conv");
  CHECK(model.graph.nodes.back().outputs == List{placed.output});
  CHECK(model.graph.nodes.back().inputs == List{placed.cut, placed.weight, "head.bias"});
  CHECK(find_initializer(model.graph, "conv.w") != nullptr);
  for (const char* name : {"fc.w", "fc.b", "unused"}) {
    INFO(name);
    CHECK(find_initializer(model.graph, name) == nullptr);
  }
  REQUIRE(model.graph.outputs.size() == 1);
  CHECK(model.graph.outputs[0].name == placed.output);
  CHECK(model.graph.outputs[0].type.dims == std::vector<DimDef>{std::string("N"), std::int64_t{2}});
  CHECK(placed.class_axis == 1);
  REQUIRE(model.metadata.size() == 2);
  CHECK(model.metadata[0] == std::pair<std::string, std::string>{"kept", "a"});
  const DataRecord record = read_record(model.metadata);
  CHECK(record.class_count == 2);
  CHECK(record.classes == List{"cat", "dog"});
}

TEST_CASE("a head has as many classes as names, at least one and at most 2^24") {
  const auto refusal = [](const NewHead& head) -> std::string {
    ModelDef model = network();
    try {
      put_head(model, {.head = head}, {});
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  CHECK(refusal({.classes = 1}).empty());
  CHECK(refusal({.classes = 0}) == "a head needs at least one class and at most 2^24, found 0");
  CHECK(refusal({.classes = (1 << 24) + 1}) ==
        "a head needs at least one class and at most 2^24, found 16777217");
  CHECK(refusal({.classes = 2, .names = {"a", "b", "c"}}) == "a head of 2 classes has 3 names");
  CHECK(refusal({.classes = 2, .names = {"a"}}) == "a head of 2 classes has 1 names");
  CHECK(refusal({.classes = 2, .names = {"a", "b"}}).empty());
}
