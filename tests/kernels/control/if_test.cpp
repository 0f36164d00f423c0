// Branches that do not fit the shapes of a call.
#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

std::shared_ptr<const GraphDef> branch(const std::string& op, const std::string& output,
                                       std::vector<std::string> inputs) {
  auto body = std::make_shared<GraphDef>();
  body->name = output + "_branch";
  body->outputs = {tensor_value(output, DType::float32, {std::string("N"), std::monostate()})};
  body->nodes = {node(op, std::move(inputs), {output})};
  return body;
}

// y = x w without axis 2 where it has one element, else its mean over it.
ModelDef squeezing() {
  ModelDef model;
  model.ir_version = 8;
  model.opsets = {{"", 18}};
  GraphDef& graph = model.graph;
  graph.name = "squeezing";
  graph.inputs = {
      tensor_value("x", DType::float32, {std::string("N"), std::int64_t{3}, std::string("T")}),
      tensor_value("single", DType::boolean, {})};
  graph.outputs = {tensor_value("y", DType::float32, {std::string("N"), std::int64_t{3}})};
  graph.initializers = {{"w", random_floats({3, 1}, 1), "", {}},
                        {"axes", Tensor::of<std::int64_t>({1}, {2}), "", {}}};
  graph.nodes = {node("Mul", {"x", "w"}, {"h"}),
                 node("If", {"single"}, {"y"},
                      {{"then_branch", branch("Squeeze", "a", {"h", "axes"})},
                       {"else_branch", branch("ReduceMax", "b", {"h", "axes"})}})};
  auto& other = std::get<std::shared_ptr<const GraphDef>>(graph.nodes[1].attributes[1].data);
  auto copy = std::make_shared<GraphDef>(*other);
  copy->nodes[0].attributes = {{"keepdims", std::int64_t{0}}};
  other = std::move(copy);
  return model;
}

}  // namespace

TEST_CASE("a branch that is not taken need not fit the shapes of the call") {
  const Model model = Model::load(encode(squeezing()));
  const Tensor wide = random_floats({2, 3, 4}, 2);
  const Tensor w = random_floats({3, 1}, 1);
  const Tensor y = model.infer({{"x", wide}, {"single", Tensor::scalar(false)}})["y"].tensor();
  REQUIRE(y.shape() == Shape{2, 3});
  for (std::size_t i = 0; i < 6; ++i) {
    float most = -1e30F;
    for (std::size_t t = 0; t < 4; ++t) {
      most = std::max(most, wide.values<float>()[4 * i + t] * w.values<float>()[i % 3]);
    }
    CHECK(y.values<float>()[i] == most);
  }
  // Where it is taken it fails, unless it fits.
  CHECK_THROWS_WITH(model.infer({{"x", wide}, {"single", Tensor::scalar(true)}}),
                    Catch::Contains("Squeeze"));
  const Tensor narrow = random_floats({2, 3, 1}, 3);
  CHECK(model.infer({{"x", narrow}, {"single", Tensor::scalar(true)}})["y"].tensor().identical(
      model.infer({{"x", narrow}, {"single", Tensor::scalar(false)}})["y"].tensor()));
}

TEST_CASE("branches may give a dimension variable different sizes") {
  ModelDef model = squeezing();
  std::size_t copies = 1;
  for (Attribute& attribute : model.graph.nodes[1].attributes) {
    auto& body = std::get<std::shared_ptr<const GraphDef>>(attribute.data);
    auto copy = std::make_shared<GraphDef>(*body);
    ValueDef& output = copy->outputs[0];
    const std::string stacked = output.name + "_stacked";
    copy->nodes.push_back(node("Concat", std::vector<std::string>(++copies, output.name), {stacked},
                               {{"axis", std::int64_t{0}}}));
    output = tensor_value(stacked, DType::float32, {std::string("rows"), std::int64_t{3}});
    body = std::move(copy);
  }
  model.graph.outputs[0].type.dims = {std::monostate(), std::int64_t{3}};
  const Model loaded = Model::load(encode(model));
  const Tensor x = random_floats({2, 3, 1}, 3);
  for (const bool single : {true, false}) {
    const Tensor y = loaded.infer({{"x", x}, {"single", Tensor::scalar(single)}})["y"].tensor();
    CHECK(y.shape() == (single ? Shape{4, 3} : Shape{6, 3}));
  }
}

TEST_CASE("training goes through an If with a branch that does not fit") {
  Model model =
      prepare(encode(squeezing()), {.loss = Loss::mse, .optimizer = Sgd{.learning_rate = 0.1F}});
  const NamedValues batch{{"x", random_floats({2, 3, 4}, 2)},
                          {"single", Tensor::scalar(false)},
                          {"label", Tensor(DType::float32, {2, 3})}};
  const double first = model.train_step(batch).scalar("loss");
  for (int i = 0; i < 5; ++i) model.train_step(batch);
  CHECK(model.train_step(batch).scalar("loss") < first);
}
