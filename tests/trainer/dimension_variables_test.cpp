// "A dimension variable represents the same value across the entire graph in a model."
#include <catch2/catch.hpp>

#include <ondine/error.h>
#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

ValueDef floats(const std::string& name, std::vector<DimDef> dims) {
  return tensor_value(name, DType::float32, std::move(dims));
}

DimDef named(const char* name) { return DimName(name); }

ModelDef model_of(std::vector<ValueDef> inputs, std::vector<ValueDef> outputs,
                  std::vector<NodeDef> nodes) {
  ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 18}};
  model.graph.name = "main";
  model.graph.inputs = std::move(inputs);
  model.graph.outputs = std::move(outputs);
  model.graph.nodes = std::move(nodes);
  return model;
}

Tensor vector_of(std::int64_t size) { return iota({size}); }

// Outputs are compared with their declarations when a model is loaded strictly.
const LoadOptions strict{.strict = true};

void infer(const ModelDef& model, const NamedValues& feeds) {
  Model::load(encode(model), strict).infer(feeds);
}

void refuse(const ModelDef& model, const NamedValues& feeds, const std::string& text) {
  const Model loaded = Model::load(encode(model), strict);
  try {
    loaded.infer(feeds);
    FAIL_CHECK("was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::mismatch);
    CHECK_THAT(error.what(), Catch::Contains(text));
  }
}

ValueDef holding(TypeKind kind, const std::string& name, const TypeDef& element) {
  ValueDef value;
  value.name = name;
  value.type.kind = kind;
  value.type.element = std::make_shared<const TypeDef>(element);
  return value;
}

}  // namespace

TEST_CASE("the default of an input has the sizes of the feeds") {
  ModelDef model =
      model_of({floats("x", {named("N")}), floats("d", {named("N")})}, {floats("y", {{}})},
               {node("Concat", {"x", "d"}, {"y"}, {{"axis", std::int64_t{0}}})});
  model.graph.initializers = {{"d", vector_of(4), "", {}}};
  infer(model, {{"x", vector_of(4)}});
  infer(model, {{"x", vector_of(3)}, {"d", vector_of(3)}});
  refuse(model, {{"x", vector_of(3)}}, "has 3 for dim 'N'");
  refuse(model, {{"x", vector_of(4)}, {"d", vector_of(5)}}, "has 5 for dim 'N'");
}

TEST_CASE("elements of sequences and optionals have one size per variable") {
  const TypeDef element = floats("", {named("N")}).type;
  const ModelDef sequence =
      model_of({floats("x", {named("N")}), holding(TypeKind::sequence, "s", element)},
               {tensor_value("y", DType::int64, {})}, {node("SequenceLength", {"s"}, {"y"})});
  const auto sequence_of = [](std::vector<Value> elements) {
    return Value::sequence(std::move(elements));
  };
  infer(sequence, {{"x", vector_of(2)}, {"s", sequence_of({vector_of(2), vector_of(2)})}});
  infer(sequence, {{"x", vector_of(2)}, {"s", sequence_of({})}});
  refuse(sequence, {{"x", vector_of(2)}, {"s", sequence_of({vector_of(2), vector_of(3)})}},
         "input 's' has 3 for dim 'N'");
  refuse(sequence, {{"x", vector_of(2)}, {"s", sequence_of({vector_of(3)})}},
         "input 's' has 3 for dim 'N'");
  const ModelDef optional =
      model_of({floats("x", {named("N")}), holding(TypeKind::optional, "o", element)},
               {tensor_value("y", DType::boolean, {})}, {node("OptionalHasElement", {"o"}, {"y"})});
  infer(optional, {{"x", vector_of(2)}, {"o", Value::optional(vector_of(2))}});
  refuse(optional, {{"x", vector_of(2)}, {"o", Value::optional(vector_of(3))}},
         "input 'o' has 3 for dim 'N'");
}

TEST_CASE("a tensor gives the size for sequences before and after it; sequences give none") {
  const TypeDef element = floats("", {named("N")}).type;
  ModelDef model =
      model_of({holding(TypeKind::sequence, "s", element)}, {tensor_value("y", DType::int64, {})},
               {node("SequenceLength", {"s"}, {"y"})});
  const Value mixed = Value::sequence({vector_of(2), vector_of(3)});
  infer(model, {{"s", mixed}});
  model.graph.inputs.push_back(floats("x", {named("N")}));
  refuse(model, {{"s", mixed}, {"x", vector_of(2)}}, "input 's' has 3 for dim 'N'");
  refuse(model, {{"s", Value::sequence({vector_of(3)})}, {"x", vector_of(2)}},
         "input 's' has 3 for dim 'N'");
  infer(model, {{"s", Value::sequence({vector_of(2)})}, {"x", vector_of(2)}});
}

TEST_CASE("an element of a sequence has the declared sizes, whatever the others have") {
  const ModelDef model =
      model_of({holding(TypeKind::sequence, "s", floats("", {named("N"), std::int64_t{2}}).type)},
               {tensor_value("y", DType::int64, {})}, {node("SequenceLength", {"s"}, {"y"})});
  infer(model, {{"s", Value::sequence({iota({3, 2}), iota({3, 2})})}});
  refuse(model, {{"s", Value::sequence({iota({3, 2}), iota({3, 4})})}}, "input 's' must be a");
}

TEST_CASE("outputs have the sizes of the inputs that share their variables") {
  const ModelDef twice = model_of({floats("x", {named("N")})}, {floats("y", {named("N")})},
                                  {node("Concat", {"x", "x"}, {"y"}, {{"axis", std::int64_t{0}}})});
  refuse(twice, {{"x", vector_of(2)}}, "value 'y' has 4 for dim 'N'");
  infer(twice, {{"x", vector_of(0)}});
  // Known to be another size when the model is loaded.
  const ModelDef reshaped =
      model_of({floats("x", {named("N"), std::int64_t{2}})}, {floats("y", {named("N")})},
               {node("Constant", {}, {"axes"}, {{"value", int64s({0})}}),
                node("ReduceSum", {"x", "axes"}, {"y"}, {{"keepdims", std::int64_t{0}}})});
  infer(reshaped, {{"x", iota({2, 2})}});
  refuse(reshaped, {{"x", iota({3, 2})}}, "for dim 'N'");
}

TEST_CASE("outputs whose shape only a run tells are compared, too") {
  const ModelDef model = model_of({floats("x", {named("N")})},
                                  {tensor_value("y", DType::int64, {std::int64_t{1}, named("N")})},
                                  {node("NonZero", {"x"}, {"y"})});
  infer(model, {{"x", Tensor::of<float>({2}, {1, 1})}});
  refuse(model, {{"x", Tensor::of<float>({2}, {0, 1})}}, "value 'y' has 1 for dim 'N'");
}

TEST_CASE("outputs have the fixed dims and the rank that the model declares") {
  const auto found = [](std::vector<DimDef> dims) {
    return model_of({floats("x", {named("N")})}, {tensor_value("y", DType::int64, std::move(dims))},
                    {node("NonZero", {"x"}, {"y"})});
  };
  const Tensor x = Tensor::of<float>({3}, {1, 0, 1});
  infer(found({std::int64_t{1}, std::int64_t{2}}), {{"x", x}});
  refuse(found({std::int64_t{1}, std::int64_t{3}}), {{"x", x}},
         "value 'y' has 2 along axis 1, the model declares 3");
  // Known before the run, but not when the model is loaded.
  const ModelDef reshaped =
      model_of({floats("x", {named("N")}), tensor_value("s", DType::int64, {std::int64_t{1}})},
               {floats("y", {std::int64_t{4}})}, {node("Reshape", {"x", "s"}, {"y"})});
  infer(reshaped, {{"x", vector_of(4)}, {"s", int64s({4})}});
  refuse(reshaped, {{"x", vector_of(2)}, {"s", int64s({2})}}, "the model declares 4");
  const TypeDef element = tensor_value("", DType::int64, {std::int64_t{1}, std::int64_t{3}}).type;
  const ModelDef sequence =
      model_of({floats("x", {named("N")})}, {holding(TypeKind::sequence, "s", element)},
               {node("NonZero", {"x"}, {"found"}), node("SequenceConstruct", {"found"}, {"s"})});
  refuse(sequence, {{"x", x}}, "value 's' has 2 along axis 1, the model declares 3");
}

TEST_CASE("elements of a fed sequence have the sizes that outputs give") {
  const TypeDef element = floats("", {named("N")}).type;
  const ModelDef model =
      model_of({holding(TypeKind::sequence, "s", element), floats("x", {{}})},
               {floats("y", {named("N")}), tensor_value("n", DType::int64, {})},
               {node("Relu", {"x"}, {"y"}), node("SequenceLength", {"s"}, {"n"})});
  infer(model, {{"s", Value::sequence({vector_of(2), vector_of(2)})}, {"x", vector_of(2)}});
  refuse(model, {{"s", Value::sequence({vector_of(2), vector_of(3)})}, {"x", vector_of(2)}},
         "has 3 for dim 'N'");
}

TEST_CASE("elements of outputs whose shape only a run tells are compared, too") {
  const TypeDef element = tensor_value("", DType::int64, {std::int64_t{1}, named("N")}).type;
  const ModelDef model =
      model_of({floats("x", {named("N")})}, {holding(TypeKind::sequence, "s", element)},
               {node("NonZero", {"x"}, {"found"}), node("SequenceConstruct", {"found"}, {"s"})});
  infer(model, {{"x", Tensor::of<float>({2}, {1, 1})}});
  refuse(model, {{"x", Tensor::of<float>({2}, {0, 1})}}, "value 's' has 1 for dim 'N'");
}

TEST_CASE("value_info relates variables, also where passes remove the value") {
  ModelDef model = model_of(
      {floats("x", {named("N")}), floats("z", {named("M")})},
      {floats("y", {named("N")}), floats("w", {named("M")})},
      {node("Identity", {"x"}, {"h"}), node("Relu", {"h"}, {"y"}), node("Relu", {"z"}, {"w"})});
  infer(model, {{"x", vector_of(2)}, {"z", vector_of(3)}});
  model.graph.value_infos = {floats("h", {named("M")})};
  infer(model, {{"x", vector_of(2)}, {"z", vector_of(2)}});
  refuse(model, {{"x", vector_of(2)}, {"z", vector_of(3)}}, "has 3 for dim 'M'");
  model.graph.value_infos.clear();
  model.graph.initializers = {{"c", vector_of(4), "", {}}};
  model.graph.value_infos = {floats("c", {named("N")})};
  infer(model, {{"x", vector_of(4)}, {"z", vector_of(3)}});
  refuse(model, {{"x", vector_of(2)}, {"z", vector_of(3)}}, "has 2 for dim 'N'");
}

TEST_CASE("a variable with two sizes is an error when the model is loaded") {
  ModelDef model = model_of({floats("x", {{}})}, {floats("y", {{}})}, {node("Relu", {"x"}, {"y"})});
  model.graph.initializers = {{"c", vector_of(4), "", {}}, {"d", vector_of(3), "", {}}};
  model.graph.value_infos = {floats("c", {named("K")}), floats("d", {named("K")})};
  CHECK_THROWS_WITH(Model::load(encode(model), strict),
                    Catch::Contains("value 'd' has 3 for dim 'K', which is 4 elsewhere"));
}

TEST_CASE("subgraphs share the variables of the main graph") {
  GraphDef branch;
  branch.name = "branch";
  branch.nodes = {node("Concat", {"x", "x"}, {"double"}, {{"axis", std::int64_t{0}}}),
                  node("ReduceSum", {"double"}, {"r"}, {{"keepdims", std::int64_t{0}}})};
  branch.outputs = {floats("r", {})};
  const auto with = [&](const GraphDef& graph) {
    const auto shared = std::make_shared<const GraphDef>(graph);
    return model_of({floats("x", {named("N")}), tensor_value("c", DType::boolean, {})},
                    {floats("y", {})},
                    {node("If", {"c"}, {"y"}, {{"then_branch", shared}, {"else_branch", shared}})});
  };
  Tensor yes(DType::boolean, {});
  infer(with(branch), {{"x", vector_of(2)}, {"c", yes}});
  branch.value_infos = {floats("double", {named("N")})};
  refuse(with(branch), {{"x", vector_of(2)}, {"c", yes}}, "value 'double' has 4 for dim 'N'");
}

TEST_CASE("branches may give a variable different sizes: only one of them runs") {
  const auto branch = [](const char* name, std::int64_t size) {
    GraphDef graph;
    graph.name = name;
    graph.initializers = {{"c", vector_of(size), "", {}}};
    graph.nodes = {node("ReduceSum", {"c"}, {"r"}, {{"keepdims", std::int64_t{0}}})};
    graph.outputs = {floats("r", {})};
    graph.value_infos = {floats("c", {named("K")})};
    return std::make_shared<const GraphDef>(graph);
  };
  const ModelDef model =
      model_of({tensor_value("c", DType::boolean, {})}, {floats("y", {})},
               {node("If", {"c"}, {"y"},
                     {{"then_branch", branch("yes", 2)}, {"else_branch", branch("no", 3)}})});
  infer(model, {{"c", Tensor(DType::boolean, {})}});
}

TEST_CASE("a training step keeps the sizes of variables, too") {
  ModelDef model = model_of({floats("x", {named("N")})}, {floats("y", {named("N")})},
                            {node("Relu", {"x"}, {"y"})});
  model.graph.initializers = {{"w", Tensor::of<float>({}, {1}), "", {}}};
  TrainingInfoDef& info = model.training.emplace_back();
  info.algorithm.emplace();
  info.algorithm->name = "step";
  info.algorithm->inputs = {floats("t", {named("N")})};
  info.algorithm->nodes = {node("ReduceSum", {"t"}, {"s"}, {{"keepdims", std::int64_t{0}}}),
                           node("Add", {"w", "s"}, {"w_new"})};
  info.algorithm->outputs = {floats("w_new", {})};
  info.update_binding = {{"w", "w_new"}};
  Model loaded = Model::load(encode(model), strict);
  loaded.train_step({{"x", vector_of(2)}, {"t", vector_of(2)}});
  check_close(loaded.get_state("w"), Tensor::of<float>({}, {2}));
  CHECK_THROWS_WITH(loaded.train_step({{"x", vector_of(2)}, {"t", vector_of(3)}}),
                    Catch::Contains("input 't' has 3 for dim 'N'"));
  check_close(loaded.get_state("w"), Tensor::of<float>({}, {2}));
}
