#include "graph/training/prepare/parameters/operands.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/prepare.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

void add(ModelDef& model, const std::string& name, Tensor value) {
  InitializerDef& one = model.graph.initializers.emplace_back();
  one.name = name;
  one.value = std::move(value);
}

Tensor floats(const Shape& shape, std::vector<float> values) {
  return Tensor::of<float>(shape, values);
}

Tensor even(std::int64_t size, const Shape& shape) {
  Tensor result(DType::float32, shape);
  for (std::int64_t i = 0; i < size; ++i) {
    result.mutable_values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(size - i);
  }
  return result;
}

// x[N, 4] -> y, without nodes.
ModelDef empty(std::int64_t classes = 8) {
  ModelDef model;
  model.ir_version = 8;
  model.opsets = {{"", 17}};
  model.graph.name = "small";
  model.graph.inputs = {value("x", {std::string("N"), std::int64_t{4}})};
  model.graph.outputs = {value("y", {std::string("N"), classes})};
  return model;
}

PrepareReport prepared(ModelDef model, PrepareOptions options = {}) {
  options.loss = Loss::mse;
  return prepare(model, options);
}

bool trains(const PrepareReport& report, const std::string& name) {
  return std::count(report.trained.begin(), report.trained.end(), name) == 1;
}

std::string warnings_of(const PrepareReport& report) {
  std::string text;
  for (const std::string& one : report.warnings) text += one + "\n";
  return text;
}

// y = x w with a weight that counts up, and `nodes` after it.
ModelDef with_product(std::vector<NodeDef> nodes, const std::string& made = "h") {
  ModelDef model = empty();
  add(model, "w", Tensor(DType::float32, {4, 8}));
  model.graph.nodes = {named_node("MatMul", {"x", "w"}, {made})};
  for (NodeDef& node : nodes) model.graph.nodes.push_back(std::move(node));
  return model;
}

}  // namespace

TEST_CASE("biases of layers train whatever their elements are") {
  for (const Tensor& bias :
       {even(8, {8}), even(8, {1, 8}), floats({8}, {3e6F, 0, 0, 1, -2e7F, 0, 1, 0}),
        floats({8}, {1, 2, 4, 8, 16, 32, 64, 128})}) {
    ModelDef model = with_product({named_node("Add", {"b", "h"}, {"y"})});
    add(model, "b", bias);
    const PrepareReport added = prepared(model);
    CHECK(trains(added, "b"));
    CHECK(added.warnings.empty());
    model.graph.nodes = {named_node("Gemm", {"x", "w", "b"}, {"y"})};
    CHECK(trains(prepared(model), "b"));
  }
  // An intercept of one element, and a name that buffers have too.
  ModelDef price = empty(1);
  add(price, "mask", floats({1}, {-3594023}));
  add(price, "grid", floats({4, 1}, {1e7F, 2e7F, 4e7F, 8e7F}));
  price.graph.nodes = {named_node("Gemm", {"x", "grid", "mask"}, {"y"})};
  CHECK(prepared(price).trained == std::vector<std::string>{"mask", "grid"});
}

TEST_CASE("a mask that is added to scores is frozen with a warning") {
  ModelDef model = with_product({named_node("Add", {"h", "suppress"}, {"y"})});
  add(model, "suppress", floats({8}, {0, 0, -1e9F, 0, 0, -1e9F, 0, 0}));
  const PrepareReport report = prepared(model);
  CHECK_FALSE(trains(report, "suppress"));
  CHECK_THAT(warnings_of(report), Catch::Contains("'suppress' (a mask of 0 and -1e+09)") &&
                                      Catch::Contains("--train") && Catch::Contains("--freeze"));
  PrepareOptions options;
  options.freeze = {"suppress"};
  CHECK(prepared(model, options).warnings.empty());
  options = {};
  options.train = {"suppress", "w"};
  CHECK(trains(prepared(model, options), "suppress"));
  CHECK(prepared(model, options).warnings.empty());
  // Patterns that do not speak of it need no warning.
  options.train = {"w"};
  CHECK(prepared(model, options).warnings.empty());
}

TEST_CASE("what elements or a name alone freeze is named in a warning") {
  const auto warned = [](const std::string& op, const std::string& name, const Tensor& tensor) {
    ModelDef model = with_product({named_node("Relu", {"h"}, {"r"})});
    model.graph.nodes.push_back(named_node(op, {"r", name}, {"y"}));
    add(model, name, tensor);
    const PrepareReport report = prepared(model);
    CHECK_FALSE(trains(report, name));
    return warnings_of(report).find("'" + name + "' (") != std::string::npos;
  };
  const Tensor any = floats({8}, {3, 1, 4, 1, 5, 9, 2, 6.25F});
  CHECK(warned("Div", "tau", any));
  CHECK(warned("Div", "tau", floats({1}, {0.5F})));
  CHECK(warned("Mul", "gain", floats({1}, {0.5F})));
  CHECK(warned("Pow", "gamma", floats({1}, {0.5F})));
  CHECK(warned("Add", "offset", Tensor::scalar(0.5F)));
  CHECK(warned("Mul", "grid", any));
  CHECK(warned("Add", "mask", any));
  CHECK(warned("Mul", "slopes", floats({8}, {1, 2, 4, 8, 16, 32, 64, 128})));
  CHECK(warned("Add", "positions", even(8, {8})));
  CHECK(warned("Add", "shift", floats({8}, {1e6F, 1, 1, 1, 2, 3, 5, 8})));
  // Numbers of a program, and masks of infinities.
  CHECK_FALSE(warned("Mul", "const_fold_opt__7", floats({1}, {0.5F})));
  CHECK_FALSE(warned("Div", "truediv/y:0", Tensor::scalar(0.5F)));
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK_FALSE(warned("Add", "hidden", floats({8}, {0, -infinity, 0, 0, 0, 0, 0, 0})));
  CHECK(warned("Add", "broken", floats({8}, {0.5F, -infinity, 0.25F, 0, 0, 0, 0, 0})));
}

TEST_CASE("a scalar is a parameter where an operator reads it as one") {
  ModelDef model = empty();
  add(model, "w", Tensor(DType::float32, {4, 8}));
  add(model, "b", Tensor::scalar(0.0F));
  add(model, "slope", Tensor::scalar(0.25F));
  add(model, "c", Tensor::scalar(0.0F));
  add(model, "v", Tensor(DType::float32, {8, 8}));
  model.graph.nodes = {
      named_node("Gemm", {"x", "w", "b"}, {"h"}), named_node("PRelu", {"h", "slope"}, {"r"}),
      named_node("MatMul", {"r", "v"}, {"m"}), named_node("Add", {"m", "c"}, {"y"})};
  const PrepareReport report = prepared(model);
  for (const char* name : {"b", "slope", "c"}) CHECK(trains(report, name));
  CHECK(report.warnings.empty());
  // Parameters in Constant nodes train likewise.
  std::vector<NodeDef> nodes;
  for (const char* name : {"b", "slope"}) {
    const Tensor held = Tensor::scalar(0.5F);
    nodes.push_back(named_node("Constant", {}, {name}, {{"value", held}}));
  }
  std::erase_if(model.graph.initializers,
                [](const auto& one) { return one.name == "b" || one.name == "slope"; });
  nodes.insert(nodes.end(), model.graph.nodes.begin(), model.graph.nodes.end());
  model.graph.nodes = nodes;
  for (const char* name : {"b", "slope"}) CHECK(trains(prepared(model), name));
}

TEST_CASE("factor and term of a line are its parameters") {
  for (const Shape& shape : {Shape{}, Shape{1}}) {
    ModelDef model = empty(4);
    add(model, "w", Tensor(DType::float32, shape));
    add(model, "b", Tensor(DType::float32, shape));
    model.graph.nodes = {named_node("Mul", {"x", "w"}, {"h"}),
                         named_node("Add", {"h", "b"}, {"y"})};
    CHECK(prepared(model).trained == std::vector<std::string>{"w", "b"});
    // Beside layers they are numbers.
    add(model, "v", Tensor(DType::float32, {4, 4}));
    model.graph.nodes.back().outputs = {"l"};
    model.graph.nodes.push_back(named_node("MatMul", {"l", "v"}, {"y"}));
    CHECK_FALSE(trains(prepared(model), "w"));
  }
}

TEST_CASE("a model of constants alone is refused with their names and reasons") {
  ModelDef model = empty(4);
  add(model, "tau", Tensor::scalar(2.0F));
  model.graph.nodes = {named_node("Div", {"x", "tau"}, {"y"})};
  CHECK_THROWS_WITH(prepared(model), Catch::Contains("'tau' (divisor of an input)") &&
                                         Catch::Contains("--train") && !Catch::Contains("options"));
  PrepareOptions options;
  options.freeze = {"w"};
  CHECK_THROWS_WITH(prepared(with_product({named_node("Relu", {"h"}, {"y"})}), options),
                    Catch::Contains("options freeze every parameter"));
}

TEST_CASE("a trained model gives the same parameters again") {
  ModelDef model =
      with_product({named_node("Add", {"h", "b"}, {"s"}), named_node("Mul", {"s", "g"}, {"m"}),
                    named_node("Add", {"m", "t"}, {"y"})});
  for (const char* name : {"b", "g", "t"}) add(model, name, Tensor(DType::float32, {8}));
  const std::vector<std::string> before = prepared(model).trained;
  for (InitializerDef& one : model.graph.initializers) {
    const auto values = one.value.mutable_values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = one.name == "b" ? 1e7F * static_cast<float>(i) : 0.3F * static_cast<float>(i % 3);
    }
  }
  CHECK(prepared(model).trained == before);
}

TEST_CASE("zeros and infinities between which Where chooses are no parameters") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float low : {-infinity, -1e9F, -1e4F}) {
    for (const bool first : {false, true}) {
      ModelDef model = with_product({});
      add(model, "zeros", Tensor(DType::float32, {1, 8}));
      add(model, "low", Tensor::scalar(low));
      add(model, "keep", Tensor(DType::boolean, {1, 8}));
      model.graph.nodes.push_back(
          named_node("Where", {"keep", first ? "low" : "zeros", first ? "zeros" : "low"}, {"m"}));
      model.graph.nodes.push_back(named_node("Add", {"h", "m"}, {"y"}));
      const PrepareReport report = prepared(model);
      CHECK(report.trained == std::vector<std::string>{"w"});
      CHECK(report.warnings.empty());
    }
  }
}

TEST_CASE("weights and biases that only a branch reads are parameters") {
  ModelDef model = empty();
  add(model, "w", Tensor(DType::float32, {4, 8}));
  add(model, "b", even(8, {8}));
  add(model, "c", Tensor::scalar(true));
  const auto branch = [](const std::string& output) {
    auto body = std::make_shared<GraphDef>();
    body->name = output + "_branch";
    body->outputs = {value(output, {std::string("N"), std::int64_t{8}})};
    body->nodes = {named_node("MatMul", {"x", "w"}, {output + "m"}),
                   named_node("Add", {output + "m", "b"}, {output})};
    return std::shared_ptr<const GraphDef>(body);
  };
  model.graph.nodes = {
      named_node("If", {"c"}, {"y"}, {{"then_branch", branch("p")}, {"else_branch", branch("q")}})};
  CHECK(prepared(model).trained == std::vector<std::string>{"w", "b"});
}

TEST_CASE("a factor of products of data is no layer") {
  ModelDef model = with_product({named_node("Transpose", {"h"}, {"t"}),
                                 named_node("MatMul", {"h", "t"}, {"scores"}),
                                 named_node("Add", {"scores", "mask"}, {"y"})});
  add(model, "mask", even(8, {8}));
  const Operands operands(model.graph);
  CHECK(operands.of("w", Tensor(DType::float32, {4, 8})) == LayerUse::operand);
  CHECK(operands.of("mask", even(8, {8})) == LayerUse::none);
  CHECK_FALSE(trains(prepared(model), "mask"));
}
