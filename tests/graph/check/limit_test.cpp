#include <catch2/catch.hpp>

#include "tests/graph/check/sample_model.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

SparseTensorDef sparse(const std::string& name, std::int64_t size) {
  return {name, Tensor::of<float>({1}, {3}), Tensor::of<std::int64_t>({1}, {0}), {size}};
}

// A model whose node "c" has an attribute, beside the weight of two floats.
ModelDef with_attribute(Attribute::Data data, const std::string& attribute) {
  ModelDef model = sample_model();
  NodeDef constant = test::node("Constant", {}, {"c"}, {{attribute, std::move(data)}});
  constant.name = "c";
  model.graph.nodes.push_back(std::move(constant));
  return model;
}

}  // namespace

TEST_CASE("tensors count by their dense size, whether in initializers or in attributes") {
  ModelDef initializers = sample_model();
  initializers.graph.sparse_initializers = {sparse("c", 100)};
  const ModelDef attribute = with_attribute(sparse("c", 100), "sparse_value");
  const ModelDef dense = with_attribute(Tensor(DType::float32, Shape{100}), "value");
  for (const ModelDef& model : {initializers, attribute, dense}) {
    CHECK(findings_of(model) == "");
    CHECK(findings_of(model, {.tensor_bytes = 400}) == "");
    CHECK_THAT(findings_of(model, {.tensor_bytes = 399}),
               Catch::Contains("tensor 'c' of shape [100] is too large"));
    CHECK(findings_of(model, {.weight_bytes = 408}) == "");
    CHECK_THAT(findings_of(model, {.weight_bytes = 407}),
               Catch::Contains("with tensor 'c' the model has more than the limit of 407 bytes"));
  }
}

TEST_CASE("the length of all names is bounded") {
  const std::string text(9, 'n');
  const auto check = [&](const ModelDef& model) {
    CHECK_THAT(findings_of(model, {.name_length = 8}),
               Catch::Contains("name 'nnnnnnnnn' has 9 bytes, the limit is 8"));
  };
  ModelDef model = sample_model();
  model.graph.nodes[0].name = text;
  CHECK(findings_of(model, {.name_length = 9}) == "");
  check(model);
  model = sample_model();
  model.graph.name = text;
  check(model);
  model = sample_model();
  model.graph.inputs.push_back(value(text));
  check(model);
  model = sample_model();
  model.graph.initializers.push_back(initializer(text, {1}));
  check(model);
  model = with_attribute(sparse("c", 1), text);
  check(model);
}
