// How the inputs of a loss model become labels, and the loss a function.
#include "graph/training/prepare/losses/loss_model.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/graph/check/sample_model.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

using DimDefs = std::vector<DimDef>;
using List = std::vector<std::string>;

const DimDef n = DimName("N");
const DimDef batch = DimName("batch");
const DimDef two = std::int64_t{2};
const DimDef open = std::monostate();

// y = x * w of shape [N, 2].
GraphDef main_graph() {
  GraphDef graph = sample_model().graph;
  graph.inputs = {value("x", {n, two})};
  graph.outputs = {value("y", {n, two})};
  return graph;
}

// mean((y - target)^2)
ModelDef squares() {
  ModelDef loss;
  loss.ir_version = 4;
  loss.opsets = {{"", 13}};
  loss.graph.inputs = {value("y", {batch, two}), value("target", {batch, two})};
  loss.graph.nodes = {node("Sub", {"y", "target"}, {"d"}), node("Mul", {"d", "d"}, {"each"}),
                      node("ReduceMean", {"each"}, {"mean"}, {{"keepdims", std::int64_t{0}}})};
  loss.graph.outputs = {value("mean", {})};
  return loss;
}

MatchedLoss matched(const ModelDef& loss, const GraphDef& main = main_graph()) {
  return match_loss_model(loss, main, {});
}

void refuse(const ModelDef& loss, const std::string& why, const GraphDef& main = main_graph()) {
  CHECK_THROWS_WITH(matched(loss, main), Catch::Contains(why));
}

struct Written {
  ModelDef model = sample_model();
  GraphDef step;
  LossValues values;
};

Written written(const ModelDef& loss, MatchedLoss match, std::int64_t ir_version = 4) {
  Written result;
  result.model.ir_version = ir_version;
  Names names(result.model);
  GraphWriter writer(result.step, names, 13);
  result.values = write_loss_model(writer, result.model, loss, match, {"train.y"});
  return result;
}

}  // namespace

TEST_CASE("inputs of a loss model are values of the model or labels, whose dims are translated") {
  ModelDef loss = squares();
  loss.graph.inputs.push_back(value("other", {DimName("K"), open}));
  loss.graph.inputs.push_back(value("unranked"));
  loss.graph.inputs.back().type.dims.reset();
  loss.graph.inputs.push_back(value("w"));
  loss.graph.inputs.push_back(value("constant"));
  loss.graph.initializers = {initializer("constant", {1, 2})};
  const MatchedLoss match = matched(loss);
  CHECK(match.reads == List{"y", "w"});
  CHECK(match.casts == std::vector<bool>{false, false});
  CHECK(match.reason == "inputs of the loss model: 'y', 'w'");
  CHECK(match.dtype == DType::float32);
  REQUIRE(match.labels.size() == 3);
  CHECK(match.labels[0].name == "target");
  CHECK(*match.labels[0].type.dims == DimDefs{n, two});
  CHECK(*match.labels[1].type.dims == DimDefs{open, open});
  CHECK_FALSE(match.labels[2].type.dims);
}

TEST_CASE("a value without dims or a loss model without them says nothing of labels") {
  GraphDef main = main_graph();
  main.outputs[0].type.dims.reset();
  CHECK(*matched(squares(), main).labels[0].type.dims == DimDefs{open, two});
  ModelDef loss = squares();
  loss.graph.inputs[0].type.dims.reset();
  CHECK(*matched(loss).labels[0].type.dims == DimDefs{open, two});
}

TEST_CASE("a loss model reads values of low precision as float") {
  GraphDef main = main_graph();
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    main.outputs[0].type.dtype = dtype;
    CHECK(matched(squares(), main).casts == std::vector<bool>{true});
  }
  main.outputs[0].type.dtype = DType::float64;
  refuse(squares(),
         "input 'y' of the loss model is float, the value of this name in the model is "
         "double",
         main);
}

TEST_CASE("a loss model whose parts do not fit is refused") {
  ModelDef loss = squares();
  loss.training.emplace_back();
  refuse(loss, "the loss model has training information");
  loss = squares();
  loss.graph.outputs.clear();
  refuse(loss, "the loss model has 0 outputs (none), needed: one, the loss");
  loss.graph.outputs = {value("mean", {}), value("each", {})};
  refuse(loss, "the loss model has 2 outputs ('mean', 'each')");
  loss.graph.outputs = {value("mean", {}, DType::int64)};
  refuse(loss, "output 'mean' of the loss model is no floating point tensor");
  loss.graph.outputs = {value("mean", {two})};
  refuse(loss, "output 'mean' of the loss model has rank 1, a loss is one number of rank 0");
  loss.graph.outputs[0].type.dims.reset();
  CHECK_NOTHROW(matched(loss));
  loss = squares();
  loss.graph.inputs[0] = value("y", {batch, two, two});
  refuse(loss,
         "input 'y' of the loss model is of rank 3, the value of this name in the model is "
         "of rank 2");
  loss.graph.inputs[0] = value("y", {batch, std::int64_t{3}});
  refuse(loss, "is 3 along axis 1, the value of this name in the model is 2 along axis 1");
  loss.graph.inputs[0] = value("z", {batch, two});
  refuse(loss,
         "no floating point input of the loss model (it has 'z', 'target') has the name of a "
         "value of the model, whose outputs are 'y'");
  loss = squares();
  loss.graph.inputs[1].type.kind = TypeKind::sequence;
  refuse(loss, "input 'target' of the loss model is neither a value of the model nor a tensor");
}

TEST_CASE("the loss becomes a function of its own operator sets, its constants inside") {
  ModelDef loss = squares();
  loss.graph.initializers = {initializer("c", {1, 2})};
  loss.graph.sparse_initializers = {
      {"s", Tensor::of<float>({1}, {3}), Tensor::of<std::int64_t>({1}, {0}), Shape{4}}};
  loss.functions = {sample_function()};
  const Written made = written(loss, matched(loss));
  CHECK(made.model.ir_version == 8);
  CHECK(written(loss, matched(loss), 10).model.ir_version == 10);
  REQUIRE(made.model.functions.size() == 2);
  CHECK(made.model.functions[0].name == "double_it");
  const FunctionDef& function = made.model.functions[1];
  CHECK(function.name == "loss");
  CHECK(function.domain == "ondine.loss");
  CHECK(function.inputs == List{"y", "target"});
  CHECK(function.outputs == List{"mean"});
  REQUIRE(function.opsets.size() == 1);
  CHECK(function.opsets[0].version == 13);
  REQUIRE(function.nodes.size() == 5);
  CHECK(function.nodes[0].outputs == List{"c"});
  CHECK(function.nodes[0].attributes[0].name == "value");
  CHECK(function.nodes[1].outputs == List{"s"});
  CHECK(function.nodes[1].attributes[0].name == "sparse_value");
  CHECK(function.nodes[2].op == "Sub");
  CHECK(made.model.opsets.back().domain == "ondine.loss");
  CHECK(made.model.opsets.back().version == 1);
  REQUIRE(made.step.nodes.size() == 1);
  CHECK(made.step.nodes[0].op == "loss");
  CHECK(made.step.nodes[0].domain == "ondine.loss");
  CHECK(made.step.nodes[0].inputs == List{"train.y", "target"});
  CHECK(made.values.loss == made.step.nodes[0].outputs[0]);
  CHECK(made.step.outputs[0].name == made.values.loss);
  CHECK(made.step.outputs[0].type.dims->empty());
  REQUIRE(made.step.inputs.size() == 1);
  CHECK(made.step.inputs[0].name == "target");
}

TEST_CASE(
    "what a loss model reads in float is cast, and a constant of it that is given stays out") {
  ModelDef loss = squares();
  loss.graph.initializers = {initializer("y", {1, 2})};
  MatchedLoss match = matched(loss);
  match.casts = {true};
  const Written made = written(loss, match);
  CHECK(made.model.functions[0].nodes.size() == 3);
  REQUIRE(made.step.nodes.size() == 2);
  CHECK(made.step.nodes[0].op == "Cast");
  CHECK(made.step.nodes[0].inputs == List{"train.y"});
  CHECK(made.step.nodes[1].inputs == List{made.step.nodes[0].outputs[0], "target"});
}

TEST_CASE(
    "labels and functions of names that the model has are refused, an older loss is replaced") {
  const MatchedLoss match = matched(squares());
  ModelDef model = sample_model();
  model.graph.nodes.push_back(node("Relu", {"x"}, {"target"}));
  const auto write = [&](const ModelDef& loss) {
    GraphDef step;
    Names names(model);
    GraphWriter writer(step, names, 13);
    write_loss_model(writer, model, loss, match, {"train.y"});
  };
  CHECK_THROWS_WITH(write(squares()),
                    Catch::Contains("input 'target' of the loss model has the name of a value "
                                    "inside the model; rename it"));
  model.graph.nodes.pop_back();
  write(squares());
  const std::size_t imports = model.opsets.size();
  write(squares());
  CHECK(model.functions.size() == 1);
  CHECK(model.opsets.size() == imports);
  ModelDef loss = squares();
  loss.functions = {sample_function()};
  model.functions.push_back(sample_function());
  model.functions.back().overload = "other";
  CHECK_NOTHROW(write(loss));
  CHECK_THROWS_WITH(write(loss),
                    Catch::Contains("the model and the loss model both have a function "
                                    "'double_it' of domain 'local'"));
}
