#include <ondine/doctor.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

constexpr std::int64_t rows = 16;

Tensor weights(const Shape& shape, std::uint64_t seed) {
  return random_floats(shape, seed, -0.5F, 0.5F);
}

// x [N, 4] -> Gemm -> activation -> Gemm -> logits [N, 3].
struct Network {
  std::string activation = "Relu";
  Tensor w1 = weights({4, 8}, 1);
  Tensor b1 = Tensor(DType::float32, {8});
  Tensor w2 = weights({8, 3}, 2);

  ModelBuilder builder() const {
    ModelBuilder b("network");
    b.input("x", DType::float32, {"N", 4});
    b.initializer("w1", w1);
    b.initializer("b1", b1);
    b.initializer("w2", w2);
    b.initializer("b2", weights({3}, 3));
    b.node("Gemm", {"x", "w1", "b1"}, {}, "h");
    b.node(activation, {"h"}, {}, "a");
    b.node("Gemm", {"a", "w2", "b2"}, {}, "logits");
    return b;
  }
};

Tensor filled(const Shape& shape, float value) {
  Tensor tensor(DType::float32, shape);
  for (float& one : tensor.mutable_values<float>()) one = value;
  return tensor;
}

Tensor scaled(Tensor tensor, float by) {
  for (float& one : tensor.mutable_values<float>()) one *= by;
  return tensor;
}

Model trained(ModelBuilder b, PrepareOptions options = {}) {
  b.output("logits", DType::float32, {"N", 3});
  options.init = WeightInit::keep;
  return prepare(b.bytes(), options);
}

NamedValues batch(Tensor x = random_floats({rows, 4}, 7)) {
  Tensor label(DType::int64, {rows});
  for (std::int64_t i = 0; i < rows; ++i) {
    label.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = i % 3;
  }
  return {{"x", std::move(x)}, {"label", std::move(label)}};
}

std::vector<std::string> checks_of(const std::vector<Finding>& findings) {
  std::vector<std::string> names;
  for (const Finding& one : findings) {
    CHECK_FALSE(one.remedy.empty());
    names.push_back(one.check);
  }
  return names;
}

const Finding& only(const std::vector<Finding>& findings, const std::string& check) {
  const Finding* found = nullptr;
  for (const Finding& one : findings) {
    if (one.check != check) continue;
    CHECK(found == nullptr);
    found = &one;
  }
  if (found == nullptr) FAIL("no finding " << check);
  return *found;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the doctor finds nothing in a network that learns") {
  const std::string activation = GENERATE("Relu", "Tanh", "Sigmoid");
  CHECK(diagnose(trained(Network{activation}.builder()), batch()).empty());
}

TEST_CASE("the doctor changes neither state nor step count") {
  const Model model = trained(Network().builder());
  const Tensor before = model.get_state("w1");
  diagnose(model, batch());
  CHECK(model.get_state("w1").identical(before));
  CHECK(model.steps() == 0);
}

TEST_CASE("a Relu that never fires is named, with the parameters whose gradient it zeroes") {
  const auto findings = diagnose(trained(Network{.b1 = filled({8}, -100)}.builder()), batch());
  CHECK(checks_of(findings) == Names{"zero-gradient", "zero-gradient", "saturated"});
  CHECK_THAT(findings[0].message, Catch::Contains("'w1', 'b1'") && Catch::Contains("Relu 'a'"));
  CHECK_THAT(findings[1].message, Catch::Contains("'w2'"));
  CHECK_THAT(findings[2].message, Catch::Contains("Relu 'a'") && Catch::Contains("zeros"));
}

TEST_CASE("an activation at its bounds is named") {
  const auto [activation, bias] = GENERATE(std::pair{"Tanh", 5.0F}, std::pair{"Tanh", -5.0F},
                                           std::pair{"Sigmoid", 8.0F}, std::pair{"Sigmoid", -8.0F});
  const auto findings = diagnose(
      trained(Network{.activation = activation, .b1 = filled({8}, bias)}.builder()), batch());
  CHECK(checks_of(findings) == Names{"saturated"});
  CHECK_THAT(findings[0].message, Catch::Contains(std::string(activation) + " 'a'"));
}

TEST_CASE("the first value that is not finite is named") {
  SECTION("in the data") {
    Tensor x = random_floats({rows, 4}, 7);
    x.mutable_values<float>()[5] = std::numeric_limits<float>::quiet_NaN();
    const auto findings = diagnose(trained(Network().builder()), batch(x));
    CHECK_THAT(only(findings, "not-finite").message,
               Catch::Contains("input 'x'") && Catch::Contains("NaN"));
  }
  SECTION("inside the network") {
    const auto findings = diagnose(trained(Network{"Log"}.builder()), batch());
    CHECK_THAT(only(findings, "not-finite").message,
               Catch::Contains("'a' of Log") && Catch::Contains("NaN"));
  }
  SECTION("in the gradients alone") {
    // The square root of 0 is finite, its derivative is not.
    Network network{"Sqrt"};
    network.w1 = Tensor(DType::float32, {4, 8});
    const auto findings = diagnose(trained(network.builder()), batch());
    CHECK_THAT(only(findings, "not-finite").message, Catch::Contains("the gradient of"));
  }
}

TEST_CASE("infinities of a mask in front of a softmax are no finding") {
  const float inf = std::numeric_limits<float>::infinity();
  ModelBuilder b = Network().builder();
  b.initializer("mask", Tensor::of<float>({4}, {0, 0, 0, -inf}));
  b.initializer("w3", weights({4, 3}, 9));
  const auto shares = b.node("Softmax", {b.node("Add", {"x", "mask"})});
  b.node("Add", {"logits", b.node("MatMul", {shares, "w3"})}, {}, "sum");
  b.output("sum", DType::float32, {"N", 3});
  CHECK(checks_of(diagnose(trained(std::move(b), {.output = "sum"}), batch())).empty());
}

TEST_CASE("a weight whose way to the loss has no derivative is named, with the operator") {
  ModelBuilder b = Network().builder();
  b.initializer("keys", weights({4, 5}, 9));
  const auto scores = b.node("MatMul", {"x", "keys"});
  b.node("ArgMax", {scores}, {{"axis", std::int64_t{1}}}, "best");
  const auto number = b.node("Cast", {"best"}, {{"to", std::int64_t{1}}});
  b.node("Add", {"logits", number}, {}, "sum");
  b.output("sum", DType::float32, {"N", 3});
  const auto findings = diagnose(trained(std::move(b), {.output = "sum"}), batch());
  CHECK(checks_of(findings) == Names{"no-gradient"});
  CHECK_THAT(findings[0].message, Catch::Contains("'keys'") && Catch::Contains("'best' (ArgMax") &&
                                      !Catch::Contains("'w1'"));
}

TEST_CASE("weights that are all equal or far too large are named") {
  SECTION("zeros, which also stop the gradient of what comes before") {
    const auto findings =
        diagnose(trained(Network{.w2 = Tensor(DType::float32, {8, 3})}.builder()), batch());
    CHECK_THAT(only(findings, "weight-scale").message,
               Catch::Contains("all elements of 'w2' are 0"));
    CHECK_THAT(only(findings, "zero-gradient").message, Catch::Contains("'w1', 'b1'"));
  }
  SECTION("a number") {
    const auto findings =
        diagnose(trained(Network{.w2 = filled({8, 3}, 0.25F)}.builder()), batch());
    CHECK_THAT(only(findings, "weight-scale").message, Catch::Contains("0.25"));
  }
  SECTION("large weights, which also raise the loss") {
    const auto findings =
        diagnose(trained(Network{.w2 = scaled(weights({8, 3}, 2), 100)}.builder()), batch());
    CHECK_THAT(only(findings, "weight-scale").message,
               Catch::Contains("'w2'") && Catch::Contains("standard deviation"));
    CHECK_THAT(only(findings, "initial-loss").message, Catch::Contains("3 classes gives 1.099"));
  }
}

TEST_CASE("data that is not normalized is named unless it is synthetic") {
  const Model model = trained(Network().builder());
  const NamedValues raw = batch(scaled(random_floats({rows, 4}, 7), 100));
  CHECK_THAT(only(diagnose(model, raw), "input-scale").message, Catch::Contains("input 'x'"));
  CHECK(checks_of(diagnose(model, raw, {.synthetic = true})).empty());
  const NamedValues constant = batch(filled({rows, 4}, 0.5F));
  CHECK_THAT(only(diagnose(model, constant), "input-scale").message,
             Catch::Contains("mean 0.5 and standard deviation 0"));
}

TEST_CASE("an unusual learning rate is named, by the kind of optimizer") {
  const auto checks = [](const Optimizer& optimizer) {
    return checks_of(diagnose(trained(Network().builder(), {.optimizer = optimizer}), batch()));
  };
  CHECK(checks(Sgd{.learning_rate = 0.1F}).empty());
  CHECK(checks(Momentum{.learning_rate = 0.1F}).empty());
  CHECK(checks(Sgd{.learning_rate = 5}) == Names{"learning-rate"});
  CHECK(checks(Sgd{.learning_rate = 1e-9F}) == Names{"learning-rate"});
  CHECK(checks(Adam{.learning_rate = 0.01F}).empty());
  CHECK(checks(Adam{.learning_rate = 0.1F}) == Names{"learning-rate"});
  CHECK(checks(AdamW{.learning_rate = 0.1F}) == Names{"learning-rate"});
  CHECK(checks(Adagrad{.learning_rate = 0.1F}).empty());
  CHECK(checks(Lion{.learning_rate = 0.1F}) == Names{"learning-rate"});
  CHECK(checks(Lion{}).empty());
  CHECK(checks(ScheduleFree{.learning_rate = 0.1F}) == Names{"learning-rate"});
  CHECK(checks(ScheduleFree{}).empty());
  CHECK(checks(Adafactor{}).empty());
}

TEST_CASE("states that are no moments of Adam do not make an optimizer Adam") {
  const auto messages = [](PrepareOptions options) {
    std::string text;
    for (const Finding& one : diagnose(trained(Network().builder(), options), batch())) {
      text += one.check + ": " + one.message + "\n";
    }
    return text;
  };
  for (const Optimizer& optimizer :
       {Optimizer(Sgd{.learning_rate = 0.5F}), Optimizer(Momentum{.learning_rate = 0.5F}),
        Optimizer(Nesterov{.learning_rate = 0.5F}), Optimizer(Adagrad{.learning_rate = 0.5F})}) {
    CAPTURE(optimizer.index());
    const WeightAverage average;
    CHECK(messages({.optimizer = optimizer, .average = average}).empty());
    CHECK(messages({.optimizer = optimizer, .accumulate = 4}).empty());
    CHECK(messages({.optimizer = optimizer, .clip_norm = 1.0F, .average = average, .accumulate = 4})
              .empty());
  }
  // And Adam is Adam with them.
  const Adam adam{.learning_rate = 0.5F};
  CHECK_THAT(messages({.optimizer = adam, .accumulate = 4}), Catch::Contains("with Adam"));
  CHECK_THAT(messages({.optimizer = adam, .average = WeightAverage{}}),
             Catch::Contains("with Adam"));
}

TEST_CASE("an optimizer that is written with ordinary operators is Adam if it takes roots") {
  for (const bool takes_root : {true, false}) {
    graph::ModelDef model = linear_regression(0.5F);
    graph::GraphDef& step = *model.training[0].algorithm;
    step.initializers[0].name = "learning_rate";
    step.inputs.push_back(tensor_value("learning_rate", DType::float32, {}));
    for (graph::NodeDef& one : step.nodes) {
      std::replace(one.inputs.begin(), one.inputs.end(), std::string("rate"),
                   std::string("learning_rate"));
    }
    // A moment of every parameter's squares, and its root or itself.
    std::size_t added = 0;
    for (auto& [variable, output] : model.training[0].update_binding) {
      const std::string moment = "moment" + std::to_string(added++);
      const auto initial =
          std::find_if(model.graph.initializers.begin(), model.graph.initializers.end(),
                       [&, &name = variable](const auto& one) { return one.name == name; });
      REQUIRE(initial != model.graph.initializers.end());
      for (const char* suffix : {"", ".second"}) {
        step.initializers.push_back(
            {moment + suffix, Tensor(DType::float32, initial->value.shape()), {}, {}});
        step.nodes.push_back(node("Add", {moment + suffix, output}, {moment + suffix + ".next"}));
        step.outputs.push_back(tensor_value(moment + suffix + ".next", DType::float32, {}));
        step.outputs.back().type.dims.reset();
      }
      step.nodes.push_back(
          node(takes_root ? "Sqrt" : "Neg", {moment + ".next"}, {moment + ".root"}));
      step.nodes.push_back(node("Add", {output, moment + ".root"}, {moment + ".updated"}));
      step.outputs.push_back(tensor_value(moment + ".updated", DType::float32, {}));
      step.outputs.back().type.dims.reset();
      output = moment + ".updated";
    }
    for (std::size_t i = 0; i < added; ++i) {
      for (const char* suffix : {"", ".second"}) {
        const std::string moment = "moment" + std::to_string(i) + suffix;
        model.training[0].update_binding.emplace_back(moment, moment + ".next");
      }
    }
    CAPTURE(takes_root);
    const NamedValues feeds{{"x", random_floats({4, 2}, 1)}, {"t", random_floats({4, 1}, 2)}};
    const auto findings = diagnose(Model::load(encode(model)), feeds);
    std::string text;
    for (const Finding& one : findings) text += one.message + "\n";
    CHECK((text.find("with Adam") != std::string::npos) == takes_root);
  }
}

TEST_CASE("a vector that is subtracted or multiplied has the scale of its data") {
  ModelBuilder b = Network().builder();
  b.node("Sub", {"logits", b.initializer("mean", scaled(random_floats({3}, 9), 30))}, {},
         "centred");
  b.node("Mul", {"centred", b.initializer("by", scaled(random_floats({1, 3}, 8), 40))}, {}, "y");
  b.output("y", DType::float32, {"N", 3});
  const Model model = trained(std::move(b), {.output = "y", .train = {"*", "mean", "by"}});
  for (const Finding& one : diagnose(model, batch())) {
    CHECK(one.check != "weight-scale");
  }
}

TEST_CASE("statistics of a part that is frozen are no finding") {
  ModelBuilder b("frozen");
  b.input("x", DType::float32, {"N", 4});
  b.node("BatchNormalization",
         {"x", b.initializer("scale", filled({4}, 1)), b.initializer("shift", filled({4}, 0)),
          b.initializer("mean", filled({4}, 0)), b.initializer("variance", filled({4}, 1))},
         {}, "normalized");
  b.node("Gemm", {"normalized", b.initializer("w", weights({4, 3}, 2))}, {}, "logits");
  CHECK(checks_of(diagnose(trained(std::move(b), {.last_layers = 1}), batch())).empty());
}

TEST_CASE("statistics that training does not change are named") {
  const bool training_mode = GENERATE(false, true);
  ModelBuilder b = Network().builder();
  b.node("BatchNormalization",
         {"logits", b.initializer("scale", filled({3}, 1)), b.initializer("shift", filled({3}, 0)),
          b.initializer("mean", filled({3}, 0)), b.initializer("variance", filled({3}, 1))},
         {}, "normalized");
  b.output("normalized", DType::float32, {"N", 3});
  const auto findings = diagnose(
      trained(std::move(b), {.output = "normalized", .training_mode = training_mode}), batch());
  CHECK(checks_of(findings) == (training_mode ? Names{} : Names{"statistics"}));
}

TEST_CASE("a mask that is trained is named") {
  ModelBuilder b = Network().builder();
  b.initializer("mask", Tensor::of<float>({1, 3}, {0, -1e9F, 0}));
  b.node("Add", {"logits", "mask"}, {}, "masked");
  b.output("masked", DType::float32, {"N", 3});
  const Model model =
      trained(std::move(b), {.output = "masked", .train = {"mask", "w1", "w2", "b1", "b2"}});
  const Finding finding = only(diagnose(model, batch()), "mask");
  CHECK_THAT(finding.message, Catch::Contains("'mask' is trained"));
  CHECK_THAT(finding.remedy, Catch::Contains("--freeze 'mask'"));
}

TEST_CASE("the doctor needs a training algorithm and its inputs") {
  ModelBuilder b = Network().builder();
  b.output("logits", DType::float32, {"N", 3});
  CHECK_THROWS_WITH(diagnose(Model::load(b.bytes()), batch()),
                    Catch::Contains("there is no algorithm 0"));
  const Model model = trained(Network().builder());
  CHECK_THROWS_WITH(diagnose(model, {{"x", random_floats({rows, 4}, 7)}}),
                    Catch::Contains("'label'"));
}

}  // namespace ondine::test
