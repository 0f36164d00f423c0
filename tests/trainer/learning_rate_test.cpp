#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

const NamedValues& feeds() {
  static const NamedValues values{{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                                  {"t", Tensor::of<float>({2, 1}, {1, -1})}};
  return values;
}

// db of linear_regression's first step is -3.5.
float bias_after_step(Model& model, Feeds fed = feeds()) {
  model.initialize();
  model.train_step(fed, 0, {"loss"});
  return model.get_state("b").item<float>();
}

// linear_regression with its rate as an input called `name`.
graph::ModelDef with_input(const std::string& name, const Tensor& value) {
  graph::ModelDef def = linear_regression(0.1F);
  graph::GraphDef& step = *def.training[0].algorithm;
  step.initializers = {{name, value, "", {}}};
  for (graph::NodeDef& node : step.nodes) {
    for (std::string& input : node.inputs) {
      if (input == "rate") input = name;
    }
  }
  std::vector<graph::DimDef> dims(value.shape().begin(), value.shape().end());
  step.inputs.push_back(tensor_value(name, value.dtype(), dims));
  return def;
}

}  // namespace

TEST_CASE("the learning rate is the input that prepare wrote, also when its name was taken") {
  graph::ModelDef def = linear_regression(0.1F);
  def.training.clear();
  def.graph.nodes[0].outputs[0] = def.graph.nodes[1].inputs[0] = "learning_rate";
  Model model = prepare(encode(def), {.loss = Loss::mse, .optimizer = Sgd{.learning_rate = 0.25F}});
  CHECK(model.learning_rate() == 0.25F);
  const NamedValues fed{feeds()[0], {"label", feeds()[1].second}};
  CHECK(bias_after_step(model, fed) == 0.25F + 0.25F * 3.5F);
  model.set_learning_rate(0.5F);
  CHECK(model.learning_rate() == 0.5F);
  CHECK(bias_after_step(model, fed) == 0.25F + 0.5F * 3.5F);
  CHECK(bias_after_step(model, fed) == 0.25F + 0.5F * 3.5F);
}

TEST_CASE("an input named lr is the learning rate, and a feed overrides what was set") {
  Model model = Model::load(encode(with_input("lr", Tensor::of<float>({1}, {0.125F}))));
  CHECK(model.learning_rate() == 0.125F);
  model.set_learning_rate(1);
  CHECK(bias_after_step(model) == 0.25F + 3.5F);
  const Tensor two = Tensor::of<float>({1}, {2});
  CHECK(bias_after_step(model, {feeds()[0], feeds()[1], {"lr", two}}) == 0.25F + 7);
  CHECK(bias_after_step(model) == 0.25F + 3.5F);
}

TEST_CASE("an input without a default has one once the learning rate is set") {
  graph::ModelDef def = with_input("learning_rate", Tensor::scalar(0.5F));
  def.training[0].algorithm->initializers.clear();
  Model model = Model::load(encode(def));
  CHECK_THROWS_WITH(model.learning_rate(), Catch::Contains("'learning_rate' has no default"));
  CHECK_THROWS_AS(model.train_step(feeds()), Error);
  model.set_learning_rate(0.5F);
  CHECK(model.learning_rate() == 0.5F);
  CHECK(bias_after_step(model) == 0.25F + 0.5F * 3.5F);
}

TEST_CASE("a state variable that is the learning rate is assigned and kept by checkpoints") {
  graph::ModelDef def = linear_regression(0.1F);
  graph::GraphDef& step = *def.training[0].algorithm;
  for (graph::NodeDef& node : step.nodes) {
    for (std::string& input : node.inputs) {
      if (input == "rate") input = "lr";
    }
  }
  step.initializers = {{"lr", Tensor::scalar(0.5F), "", {}},
                       {"half", Tensor::scalar(0.5F), "", {}}};
  step.nodes.push_back(node("Mul", {"lr", "half"}, {"lr_new"}));
  step.outputs.push_back(tensor_value("lr_new", DType::float32, {}));
  def.training[0].update_binding.emplace_back("lr", "lr_new");
  Model model = Model::load(encode(def));
  CHECK(model.learning_rate() == 0.5F);
  model.train_step(feeds());
  CHECK(model.learning_rate() == 0.25F);
  model.set_learning_rate(2);
  CHECK(model.get_state("lr").item<float>() == 2);
  const TemporaryFolder folder;
  model.save_checkpoint(folder / "run.ckpt");
  Model restored = Model::load(encode(def));
  restored.restore_checkpoint(folder / "run.ckpt");
  CHECK(restored.learning_rate() == 2);
}

TEST_CASE("the learning rate is the value that the standard's optimizers read, through casts") {
  graph::ModelDef def = dropout_classifier();
  graph::GraphDef& step = *def.training[0].algorithm;
  step.inputs.push_back(tensor_value("alpha", DType::float64, {}));
  std::erase_if(step.initializers, [](const auto& one) { return one.name == "rate"; });
  step.initializers.push_back({"alpha", Tensor::scalar(0.0625), "", {}});
  step.nodes.insert(step.nodes.begin(),
                    node("Cast", {"alpha"}, {"rate"}, {{"to", std::int64_t{1}}}));
  Model model = Model::load(encode(def));
  CHECK(model.learning_rate() == 0.0625F);
  model.set_learning_rate(0.5F);
  CHECK(model.learning_rate() == 0.5F);
}

TEST_CASE("no learning rate, several, or one that is not a number are errors") {
  Model constant = Model::load(encode(linear_regression(0.1F)));
  CHECK_THROWS_WITH(constant.learning_rate(),
                    Catch::Contains("unknown") && Catch::Contains("'learning_rate' 'lr'"));
  CHECK_THROWS_WITH(constant.set_learning_rate(1), Catch::Contains("unknown"));
  CHECK_THROWS_WITH(constant.learning_rate(3), Catch::Contains("no algorithm 3"));

  graph::ModelDef two = with_input("lr", Tensor::scalar(0.5F));
  two.training[0].algorithm->inputs.push_back(tensor_value("learning_rate", DType::float32, {}));
  Model several = Model::load(encode(two));
  CHECK_THROWS_WITH(several.set_learning_rate(1), Catch::Contains("several"));

  graph::ModelDef wide = linear_regression(0.1F);
  graph::GraphDef& step = *wide.training[0].algorithm;
  step.initializers.push_back({"lr", Tensor::of<float>({2, 1}, {0.5F, 0.5F}), "", {}});
  step.inputs.push_back(tensor_value("lr", DType::float32, {std::int64_t{2}, std::int64_t{1}}));
  Model vector = Model::load(encode(wide));
  CHECK_THROWS_WITH(vector.learning_rate(), Catch::Contains("float[2, 1]"));
  CHECK_THROWS_WITH(vector.set_learning_rate(1), Catch::Contains("float[2, 1]"));
}

TEST_CASE("a learning rate must be finite") {
  Model model = Model::load(encode(with_input("lr", Tensor::scalar(0.125F))));
  CHECK_THROWS_WITH(model.set_learning_rate(std::numeric_limits<float>::infinity()),
                    Catch::Contains("finite"));
  CHECK_THROWS_WITH(model.set_learning_rate(std::nanf("")), Catch::Contains("finite"));
  CHECK(model.learning_rate() == 0.125F);
}
