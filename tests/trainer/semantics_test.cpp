// Rules of the standard for training_info, sentence by sentence.
#include <array>
#include <catch2/catch.hpp>
#include <memory>

#include <ondine/error.h>
#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

constexpr const char* training_domain = "ai.onnx.preview.training";

ValueDef pair_value(const std::string& name) {
  return tensor_value(name, DType::float32, {std::int64_t{2}});
}

Tensor pair_of(float first, float second) { return Tensor::of<float>({2}, {first, second}); }

// Variables a = [1, 2] and b = [3, 4]; input x [2], output y = a + x.
ModelDef two_variables() {
  ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 18}, {training_domain, 1}};
  model.graph.name = "main";
  model.graph.inputs = {pair_value("x")};
  model.graph.outputs = {pair_value("y")};
  model.graph.initializers = {{"a", pair_of(1, 2), "", {}}, {"b", pair_of(3, 4), "", {}}};
  model.graph.nodes = {node("Add", {"a", "x"}, {"y"})};
  return model;
}

TrainingInfoDef& add_algorithm(ModelDef& model, std::vector<NodeDef> nodes,
                               const std::vector<std::string>& outputs, graph::Properties updates) {
  TrainingInfoDef& info = model.training.emplace_back();
  info.algorithm.emplace();
  info.algorithm->name = "step";
  info.algorithm->nodes = std::move(nodes);
  for (const auto& name : outputs) info.algorithm->outputs.push_back(pair_value(name));
  info.update_binding = std::move(updates);
  return info;
}

void add_initialization(TrainingInfoDef& info, const std::string& output, Tensor value,
                        const std::string& variable) {
  info.initialization.emplace();
  info.initialization->name = "start";
  info.initialization->nodes = {node("Constant", {}, {output}, {{"value", std::move(value)}})};
  info.initialization->outputs = {pair_value(output)};
  info.initialization_binding = {{variable, output}};
}

NamedValues x(float first = 10, float second = 20) { return {{"x", pair_of(first, second)}}; }

}  // namespace

TEST_CASE("updates are assigned together, so that variables can be swapped") {
  ModelDef model = two_variables();
  add_algorithm(model, {node("Identity", {"b"}, {"p"}), node("Identity", {"a"}, {"q"})}, {"p", "q"},
                {{"a", "p"}, {"b", "q"}});
  Model loaded = Model::load(encode(model));
  loaded.train_step(x());
  check_close(loaded.get_state("a"), pair_of(3, 4));
  check_close(loaded.get_state("b"), pair_of(1, 2));
  loaded.train_step(x());
  check_close(loaded.get_state("a"), pair_of(1, 2));
}

TEST_CASE("a variable may take an output of the main graph, an input or another variable") {
  ModelDef model = two_variables();
  add_algorithm(model, {}, {}, {{"a", "y"}});
  add_algorithm(model, {}, {"x", "a"}, {{"b", "x"}});
  add_algorithm(model, {}, {"b"}, {{"a", "b"}});
  Model loaded = Model::load(encode(model));
  loaded.train_step(x(), 0);
  check_close(loaded.get_state("a"), pair_of(11, 22));
  loaded.train_step(x(), 1);
  check_close(loaded.get_state("b"), pair_of(10, 20));
  check_close(loaded.get_state("a"), pair_of(11, 22));
  loaded.train_step(x(), 2);  // a variable takes another one
  check_close(loaded.get_state("a"), pair_of(10, 20));
}

TEST_CASE("initialize sets every variable and evaluates the initializations in order") {
  ModelDef model = two_variables();
  add_algorithm(model, {node("Add", {"a", "x"}, {"p"}), node("Add", {"b", "x"}, {"q"})}, {"p", "q"},
                {{"a", "p"}, {"b", "q"}});
  add_initialization(model.training[0], "v", pair_of(5, 5), "a");
  // A name of its own hides that of the main graph.
  TrainingInfoDef& second = model.training.emplace_back();
  add_initialization(second, "y", pair_of(7, 8), "a");
  Model loaded = Model::load(encode(model));
  check_close(loaded.get_state("a"), pair_of(1, 2));
  loaded.train_step(x());
  check_close(loaded.get_state("b"), pair_of(13, 24));
  loaded.initialize();
  check_close(loaded.get_state("a"), pair_of(7, 8));
  check_close(loaded.get_state("b"), pair_of(3, 4));
}

TEST_CASE("an initialization may read the state: variables are visible in all graphs") {
  ModelDef model = two_variables();
  TrainingInfoDef& info =
      add_algorithm(model, {node("Add", {"a", "x"}, {"p"}), node("Add", {"m", "x"}, {"n"})},
                    {"p", "n"}, {{"a", "p"}, {"m", "n"}});
  info.algorithm->initializers = {{"m", pair_of(100, 200), "", {}}};
  // Swaps a and m, then adds both of the results.
  info.initialization.emplace();
  info.initialization->name = "start";
  info.initialization->nodes = {node("Identity", {"m"}, {"a0"}), node("Identity", {"a"}, {"m0"})};
  info.initialization->outputs = {pair_value("a0"), pair_value("m0")};
  info.initialization_binding = {{"a", "a0"}, {"m", "m0"}};
  TrainingInfoDef& second = model.training.emplace_back();
  second.initialization.emplace();
  second.initialization->name = "more";
  second.initialization->nodes = {node("Add", {"a", "m"}, {"sum"})};
  second.initialization->outputs = {pair_value("sum")};
  second.initialization_binding = {{"b", "sum"}};
  Model loaded = Model::load(encode(model));
  loaded.train_step(x());
  loaded.initialize();  // begins with the initializers, whatever was trained
  check_close(loaded.get_state("a"), pair_of(100, 200));
  check_close(loaded.get_state("m"), pair_of(1, 2));
  check_close(loaded.get_state("b"), pair_of(101, 202));
  loaded.initialize();
  check_close(loaded.get_state("a"), pair_of(100, 200));
}

TEST_CASE("an initialization reads a variable that it changes in place, in branches too") {
  ModelDef model = two_variables();
  TrainingInfoDef& info = add_algorithm(model, {}, {}, {{"a", "y"}});
  GraphDef branch;
  branch.name = "branch";
  branch.nodes = {node("Add", {"a", "a"}, {"r"})};
  branch.outputs = {pair_value("r")};
  const auto shared = std::make_shared<const GraphDef>(branch);
  info.initialization.emplace();
  info.initialization->name = "start";
  info.initialization->initializers = {{"yes", Tensor::of<bool>({}, std::array{true}), "", {}}};
  info.initialization->nodes = {
      node("If", {"yes"}, {"twice"}, {{"then_branch", shared}, {"else_branch", shared}}),
      node("Add", {"twice", "a"}, {"thrice"})};
  info.initialization->outputs = {pair_value("thrice")};
  info.initialization_binding = {{"a", "thrice"}};
  Model loaded = Model::load(encode(model));
  loaded.initialize();
  check_close(loaded.get_state("a"), pair_of(3, 6));
}

TEST_CASE("an update without an algorithm takes an output of the main graph") {
  ModelDef model = two_variables();
  model.training.emplace_back().update_binding = {{"a", "y"}};
  Model loaded = Model::load(encode(model));
  loaded.train_step(x());
  check_close(loaded.get_state("a"), pair_of(11, 22));
  loaded.train_step(x());
  check_close(loaded.get_state("a"), pair_of(21, 42));
  check_close(loaded.infer(x())[0].second.tensor(), pair_of(31, 62));
}

TEST_CASE("algorithms may be stepped in any order and share variables of the main graph") {
  ModelDef model = two_variables();
  // Both use the name t for something of their own.
  add_algorithm(model, {node("Add", {"a", "a"}, {"t"})}, {"t"}, {{"a", "t"}});
  add_algorithm(model, {node("Sub", {"a", "b"}, {"t"})}, {"t"}, {{"a", "t"}});
  Model loaded = Model::load(encode(model));
  loaded.train_step(x(), 1);  // [-2, -2]
  loaded.train_step(x(), 0);  // [-4, -4]
  loaded.train_step(x(), 0);  // [-8, -8]
  loaded.train_step(x(), 1);  // [-11, -12]
  check_close(loaded.get_state("a"), pair_of(-11, -12));
  CHECK_THROWS_AS(loaded.train_step(x(), 2), Error);
}

TEST_CASE("a step without an algorithm evaluates the main graph and changes nothing") {
  ModelDef model = two_variables();
  add_initialization(model.training.emplace_back(), "v", pair_of(5, 5), "a");
  Model loaded = Model::load(encode(model));
  const auto results = loaded.train_step(x());
  REQUIRE(results.size() == 1);
  CHECK(results[0].first == "y");
  check_close(results[0].second.tensor(), pair_of(11, 22));
  check_close(loaded.get_state("a"), pair_of(1, 2));
}

TEST_CASE("a step that fails changes no variable and does not count") {
  ModelDef model = two_variables();
  TrainingInfoDef& info =
      add_algorithm(model, {node("Add", {"a", "x"}, {"p"}), node("Gather", {"b", "at"}, {"q"})},
                    {"p", "q"}, {{"a", "p"}, {"b", "q"}});
  info.algorithm->inputs = {tensor_value("at", DType::int64, {std::int64_t{2}})};
  Model loaded = Model::load(encode(model));
  NamedValues feeds = x();
  feeds.emplace_back("at", int64s({0, 7}));
  CHECK_THROWS_AS(loaded.train_step(feeds), Error);
  CHECK(loaded.steps() == 0);
  CHECK(loaded.get_state("a").identical(pair_of(1, 2)));
  feeds.back().second = int64s({1, 0});
  loaded.train_step(feeds);
  CHECK(loaded.get_state("a").identical(pair_of(11, 22)));
  CHECK(loaded.get_state("b").identical(pair_of(4, 3)));
}

TEST_CASE("a binding that changes the shape of a variable is an error and changes nothing") {
  ModelDef model = two_variables();
  TrainingInfoDef& info =
      add_algorithm(model, {node("Add", {"b", "x"}, {"p"}), node("Identity", {"new_a"}, {"q"})},
                    {"p"}, {{"b", "p"}, {"a", "q"}});
  info.algorithm->inputs = {tensor_value("new_a", DType::float32, {"M"})};
  info.algorithm->outputs.push_back(tensor_value("q", DType::float32, {"M"}));
  Model loaded = Model::load(encode(model));
  NamedValues feeds = x();
  feeds.emplace_back("new_a", Tensor::of<float>({3}, {1, 2, 3}));
  CHECK_THROWS_AS(loaded.train_step(feeds), Error);
  CHECK(loaded.get_state("a").identical(pair_of(1, 2)));
  CHECK(loaded.get_state("b").identical(pair_of(3, 4)));
  feeds.back().second = pair_of(5, 6);
  loaded.train_step(feeds);
  CHECK(loaded.get_state("a").identical(pair_of(5, 6)));
  // Known when the model is loaded:
  info.algorithm->inputs = {tensor_value("new_a", DType::float32, {std::int64_t{3}})};
  info.algorithm->outputs.back() = tensor_value("q", DType::float32, {std::int64_t{3}});
  CHECK_THROWS_WITH(Model::load(encode(model)), Catch::Contains("declared with shape [3]"));
}

TEST_CASE("only requested outputs are computed") {
  ModelDef model = two_variables();
  TrainingInfoDef& info =
      add_algorithm(model, {node("Add", {"a", "x"}, {"p"}), node("Gather", {"b", "at"}, {"bad"})},
                    {"p", "bad"}, {{"a", "p"}});
  info.algorithm->initializers = {{"at", int64s({9, 9}), "", {}}};
  Model loaded = Model::load(encode(model));
  CHECK_THROWS_AS(loaded.train_step(x()), Error);  // all outputs of the algorithm
  const std::vector<std::string> fetches{"y"};
  const auto results = loaded.train_step(x(), 0, fetches);
  CHECK(results[0].first == "y");
  CHECK(loaded.get_state("a").identical(pair_of(11, 22)));
}

TEST_CASE("an input with an initializer may be left out or fed, also one that is a variable") {
  ModelDef model = two_variables();
  model.graph.inputs.push_back(pair_value("a"));
  model.graph.inputs.push_back(pair_value("c"));
  model.graph.initializers.push_back({"c", pair_of(100, 100), "", {}});
  model.graph.nodes = {node("Sum", {"a", "x", "c"}, {"y"})};
  add_algorithm(model, {node("Add", {"b", "y"}, {"p"})}, {"p"}, {{"b", "p"}});
  add_algorithm(model, {node("Add", {"a", "x"}, {"p"})}, {"p"}, {{"a", "p"}});
  Model loaded = Model::load(encode(model));
  NamedValues feeds = x(0, 0);
  feeds.emplace_back("c", pair_of(0, 1));
  feeds.emplace_back("a", pair_of(50, 60));
  loaded.train_step(feeds, 0);
  CHECK(loaded.get_state("b").identical(pair_of(53, 65)));
  CHECK(loaded.get_state("a").identical(pair_of(1, 2)));  // that call only
  loaded.train_step(x(0, 0), 0);
  CHECK(loaded.get_state("b").identical(pair_of(154, 167)));
  feeds = x(1, 1);
  feeds.emplace_back("a", pair_of(50, 60));
  loaded.train_step(feeds, 1);
  CHECK(loaded.get_state("a").identical(pair_of(51, 61)));
}

TEST_CASE("a sparse initializer may be a variable, of the main graph or of an algorithm") {
  ModelDef model = two_variables();
  model.graph.initializers.pop_back();
  model.graph.sparse_initializers = {
      {"b", Tensor::of<float>({1}, {4}), Tensor::of<std::int64_t>({1}, {1}), Shape{2}}};
  TrainingInfoDef& info =
      add_algorithm(model, {node("Add", {"b", "x"}, {"p"}), node("Add", {"s", "b"}, {"q"})},
                    {"p", "q"}, {{"b", "p"}, {"s", "q"}});
  info.algorithm->sparse_initializers = {
      {"s", Tensor::of<float>({1}, {7}), Tensor::of<std::int64_t>({1, 1}, {0}), Shape{2}}};
  Model loaded = Model::load(encode(model));
  check_close(loaded.get_state("b"), pair_of(0, 4));
  check_close(loaded.get_state("s"), pair_of(7, 0));
  loaded.train_step(x());
  check_close(loaded.get_state("b"), pair_of(10, 24));
  check_close(loaded.get_state("s"), pair_of(7, 4));
}

TEST_CASE("weights of every float type are trained") {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float64}) {
    INFO(to_string(dtype));
    const auto to_dtype = [&](const Tensor& tensor) {
      return run_op_tensor({.op = "Cast",
                            .inputs = {tensor},
                            .attributes = {{"to", static_cast<std::int64_t>(dtype)}}});
    };
    ModelDef model;
    model.ir_version = 10;
    model.opsets = {{"", 18}, {training_domain, 1}};
    model.graph.name = "main";
    model.graph.inputs = {tensor_value("x", dtype, {"N", std::int64_t{2}})};
    model.graph.outputs = {tensor_value("y", dtype, {"N", std::int64_t{1}})};
    model.graph.initializers = {{"w", to_dtype(Tensor::of<float>({2, 1}, {1, -2})), "", {}}};
    model.graph.nodes = {node("MatMul", {"x", "w"}, {"y"})};
    TrainingInfoDef& info = model.training.emplace_back();
    info.algorithm.emplace();
    info.algorithm->name = "step";
    info.algorithm->initializers = {{"rate", to_dtype(Tensor::scalar(0.25F)), "", {}}};
    info.algorithm->nodes = {
        node("Mul", {"y", "y"}, {"loss"}),
        node("Gradient", {"w"}, {"dw"},
             {{"xs", std::vector<std::string>{"w"}}, {"y", std::string("loss")}}, training_domain),
        node("Mul", {"dw", "rate"}, {"s"}), node("Sub", {"w", "s"}, {"w_new"})};
    info.algorithm->outputs = {tensor_value("w_new", dtype, {std::int64_t{2}, std::int64_t{1}})};
    info.update_binding = {{"w", "w_new"}};
    Model loaded = Model::load(encode(model));
    // y = [-3, 0], dw = 2 x' y = [-6, -12]: all exact in these types.
    loaded.train_step(NamedValues{{"x", to_dtype(Tensor::of<float>({2, 2}, {1, 2, 2, 1}))}});
    CHECK(as_doubles(loaded.get_state("w")) == std::vector<double>{2.5, 1});
  }
}

TEST_CASE("inference between steps does not touch the random state") {
  const auto trained = [](bool infer_between) {
    LoadOptions options;
    options.seed = 4;
    Model model = Model::load(encode(dropout_classifier()), options);
    for (std::uint64_t i = 0; i < 4; ++i) {
      if (infer_between) model.infer(NamedValues{{"x", random_floats({3, 8}, i)}});
      model.train_step(
          NamedValues{{"x", random_floats({4, 8}, i)}, {"label", int64s({0, 1, 2, 3})}});
    }
    return model.parameters();
  };
  CHECK(trained(false) == trained(true));
}

TEST_CASE("initialize with a seed starts the random sequence anew") {
  Model model = Model::load(encode(dropout_classifier()));
  const auto run = [&](std::uint64_t seed) {
    model.initialize(seed);
    for (std::uint64_t i = 0; i < 3; ++i) {
      model.train_step(
          NamedValues{{"x", random_floats({4, 8}, i)}, {"label", int64s({0, 1, 2, 3})}});
    }
    return model.parameters();
  };
  const auto first = run(1);
  CHECK(run(2) != first);
  CHECK(run(1) == first);
}

TEST_CASE("bindings that name nothing are findings") {
  ModelDef model = two_variables();
  add_algorithm(model, {node("Identity", {"b"}, {"p"})}, {"p"}, {{"a", "nothing"}});
  CHECK_THROWS_WITH(Model::load(encode(model)), Catch::Contains("nothing"));
  model.training[0].update_binding = {{"nobody", "p"}};
  CHECK_THROWS_WITH(Model::load(encode(model)), Catch::Contains("nobody"));
  model.training[0].update_binding = {{"a", "p"}, {"a", "p"}};
  CHECK_THROWS_AS(Model::load(encode(model)), Error);
}
