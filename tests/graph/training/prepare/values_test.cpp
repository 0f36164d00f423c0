// Knowledge about values that follows from their definitions.
#include "graph/training/prepare/values.h"

#include <catch2/catch.hpp>

#include "tests/support/models.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT
using Ints = std::vector<std::int64_t>;

NodeDef constant(const std::string& name, const char* attribute, Attribute::Data data) {
  Attributes attributes;
  attributes.emplace_back(attribute, std::move(data));
  return node("Constant", {}, {name}, std::move(attributes));
}

}  // namespace

TEST_CASE("integers are known of int64 initializers and Constant nodes of any form") {
  GraphDef graph;
  graph.initializers = {{"ints", Tensor::of<std::int64_t>({2}, {3, -4}), "", {}},
                        {"narrow", Tensor::of<std::int32_t>({1}, {3}), "", {}}};
  graph.nodes = {constant("tensor", "value", Tensor::scalar(std::int64_t{7})),
                 constant("floats", "value", Tensor::scalar(1.5F)),
                 constant("one", "value_int", std::int64_t{5}),
                 constant("all", "value_ints", Ints{6, 0}),
                 constant("real", "value_float", 2.0F),
                 node("Constant", {}, {"empty"}),
                 node("Constant", {}, {}, {{"value_int", std::int64_t{1}}}),
                 node("Other", {}, {"other"}, {{"value_int", std::int64_t{1}}}),
                 node("Constant", {}, {"foreign"}, {{"value_int", std::int64_t{1}}}, "my.own")};
  CHECK(constant_integers(graph, "ints") == Ints{3, -4});
  CHECK(constant_integers(graph, "tensor") == Ints{7});
  CHECK(constant_integers(graph, "one") == Ints{5});
  CHECK(constant_integers(graph, "all") == Ints{6, 0});
  for (const char* name : {"narrow", "floats", "real", "empty", "other", "foreign", "", "none"}) {
    CAPTURE(name);
    CHECK_FALSE(constant_integers(graph, name));
  }
}

TEST_CASE("a number is known of one float in an initializer or Constant node") {
  GraphDef graph;
  graph.initializers = {{"single", Tensor::of<float>({1, 1}, {0.5F}), "", {}},
                        {"double", Tensor::scalar(0.1), "", {}},
                        {"two", Tensor::of<float>({2}, {1, 1}), "", {}},
                        {"integer", Tensor::scalar(std::int64_t{1}), "", {}}};
  graph.nodes = {constant("tensor", "value", Tensor::scalar(1.5F)),
                 constant("real", "value_float", 2.5F),
                 constant("whole", "value_int", std::int64_t{5})};
  CHECK(constant_number(graph, "single") == 0.5);
  CHECK(constant_number(graph, "double") == 0.1);
  CHECK(constant_number(graph, "tensor") == 1.5);
  CHECK(constant_number(graph, "real") == 2.5);
  for (const char* name : {"two", "integer", "whole", "none"}) {
    CAPTURE(name);
    CHECK_FALSE(constant_number(graph, name));
  }
}

TEST_CASE("elements are all equal where each is the first") {
  CHECK(all_equal(Tensor(DType::float32, {0})));
  CHECK(all_equal(Tensor::scalar(2.0F)));
  CHECK(all_equal(Tensor::of<float>({3}, {2, 2, 2})));
  CHECK_FALSE(all_equal(Tensor::of<float>({2}, {2, 3})));
  CHECK_FALSE(all_equal(Tensor::of<float>({3}, {3, 2, 2})));
  CHECK_FALSE(all_equal(Tensor::of<float>({3}, {2, 2, 3})));
  CHECK_FALSE(all_equal(Tensor::of<std::int64_t>({3}, {2, 2, std::int64_t{1} << 40})));
}

TEST_CASE("an integer attribute has its value, or the default where it is absent or no integer") {
  const NodeDef one =
      node("Any", {}, {}, {{"axis", std::int64_t{-2}}, {"alpha", 0.5F}, {"zero", std::int64_t{0}}});
  CHECK(integer_attribute(one, "axis", 1) == -2);
  CHECK(integer_attribute(one, "zero", 1) == 0);
  CHECK(integer_attribute(one, "alpha", 1) == 1);
  CHECK(integer_attribute(one, "none", 3) == 3);
}

TEST_CASE("known types are those given, then those of outputs, inputs and value_info") {
  GraphDef graph;
  const auto typed = [](const char* name, DType dtype) { return tensor_value(name, dtype, {}); };
  graph.outputs = {typed("a", DType::float32), typed("b", DType::float32)};
  graph.inputs = {typed("b", DType::float64), typed("c", DType::float64)};
  graph.value_infos = {typed("c", DType::int64), typed("d", DType::int64)};
  const ValueTypes types = known_types(graph, {{"a", typed("", DType::boolean).type}});
  CHECK(types.size() == 4);
  CHECK(types.at("a").dtype == DType::boolean);
  CHECK(types.at("b").dtype == DType::float32);
  CHECK(types.at("c").dtype == DType::float64);
  CHECK(types.at("d").dtype == DType::int64);
}

}  // namespace ondine::test
