// Losses of prepare on values that subgraphs and functions capture and give on.
#include <catch2/catch.hpp>

#include "graph/training/prepare/prepare.h"
#include "tests/graph/training/small_network.h"
#include "tests/support/wrapped_values.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

// "logits", then `op` that makes "q" of them, then "p" by way of `wrapping`; without `op` "p" by
// way of `wrapping` from the Gemm itself.
ModelDef wrapped(const std::string& op, const Wrapping& wrapping) {
  ModelDef model = network();
  model.graph.nodes.pop_back();
  if (op.empty()) {
    model.graph.nodes.back().outputs = {"q"};
  } else {
    model.graph.nodes.push_back(named_node(op, {"logits"}, {"q"}));
  }
  wrapping.add(model);
  return model;
}

PrepareOptions of(Loss loss) {
  PrepareOptions options;
  options.loss = loss;
  options.training_mode = false;
  return options;
}

// The message of the error, or the reason of the prediction.
std::string outcome(ModelDef model, const PrepareOptions& options) {
  try {
    return prepare(model, options).prediction_reason;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a loss on logits reads what comes before an outer activation, or refuses") {
  for (const Wrapping& wrapping : wrappings()) {
    for (const auto& [op, loss] : {std::pair("Sigmoid", Loss::bce_with_logits),
                                   {"Sigmoid", Loss::dice},
                                   {"Sigmoid", Loss::hinge},
                                   {"Softmax", Loss::softmax_cross_entropy},
                                   {"LogSoftmax", Loss::softmax_cross_entropy},
                                   {"Softmax", Loss::kl},
                                   {"Softmax", Loss::focal}}) {
      CAPTURE(wrapping.name, op, static_cast<int>(loss));
      const std::string text = outcome(wrapped(op, wrapping), of(loss));
      if (wrapping.gives_on) {
        CHECK_THAT(text, Catch::Contains(std::string("the logits of which ") + op + " 'node_q'"));
      } else {
        CHECK_THAT(text, Catch::Contains("'p' holds probabilities") &&
                             Catch::Contains(std::string(op) + " 'node_q'"));
      }
    }
  }
}

TEST_CASE("an activation of the other kind is found wherever its result goes") {
  for (const Wrapping& wrapping : wrappings()) {
    CAPTURE(wrapping.name);
    CHECK_THAT(outcome(wrapped("Softmax", wrapping), of(Loss::bce_with_logits)),
               Catch::Contains("holds probabilities, made by Softmax"));
    CHECK_THAT(outcome(wrapped("Sigmoid", wrapping), of(Loss::softmax_cross_entropy)),
               Catch::Contains("holds probabilities, made by Sigmoid"));
    CHECK_THAT(outcome(wrapped("HardSigmoid", wrapping), of(Loss::bce_with_logits)),
               Catch::Contains("holds probabilities, made by HardSigmoid"));
  }
}

TEST_CASE("a value that is asked for by name is traced as an output is") {
  for (const Wrapping& wrapping : wrappings()) {
    CAPTURE(wrapping.name);
    ModelDef model = wrapped("Sigmoid", wrapping);
    const ValueTypes types{{"p", model.graph.outputs[0].type}};
    model.graph.outputs = {value("logits", {std::string("N"), std::int64_t{3}})};
    PrepareOptions options = of(Loss::bce_with_logits);
    options.output = "p";
    if (wrapping.gives_on) {
      CHECK_THAT(prepare(model, options, types).prediction_reason,
                 Catch::Contains("the logits of which Sigmoid"));
    } else {
      CHECK_THROWS_WITH(prepare(model, options, types), Catch::Contains("holds probabilities"));
    }
  }
}

TEST_CASE("losses on probabilities tell logarithms and logits in subgraphs and functions") {
  for (const Wrapping& wrapping : wrappings()) {
    CAPTURE(wrapping.name);
    const PrepareOptions options = of(Loss::nll);
    CHECK_THAT(outcome(wrapped("Softmax", wrapping), options),
               Catch::Contains("which holds probabilities made by Softmax"));
    if (wrapping.gives_on || wrapping.name == "a scan over its rows") {
      CHECK_THAT(outcome(wrapped("LogSoftmax", wrapping), options),
                 Catch::Contains("logarithms of probabilities"));
      const bool is_moved = wrapping.name == "quantization" ||
                            wrapping.name.find("stacks") != std::string::npos ||
                            wrapping.name.find("branches in a loop") != std::string::npos;
      if (!is_moved) {
        CHECK_THAT(outcome(wrapped("", wrapping), options),
                   Catch::Contains("is made by Gemm 'node_logits' and holds no probabilities"));
      }
    }
  }
}

TEST_CASE("logits behind a function are taken from its nodes") {
  for (const Wrapping& wrapping : wrappings()) {
    if (!wrapping.gives_on) continue;
    CAPTURE(wrapping.name);
    ModelDef model = network();
    model.graph.nodes.pop_back();
    add_activation_function(model, "Sigmoid", "logits", "q");
    wrapping.add(model);
    const PrepareReport report = prepare(model, of(Loss::bce_with_logits));
    CHECK_THAT(report.prediction_reason, Catch::Contains("the logits of which Sigmoid 'q'"));
    require_single_assignment(model);
    // A function of another version of the operators stays a function.
    ModelDef other = network();
    other.graph.nodes.pop_back();
    add_activation_function(other, "Sigmoid", "logits", "q");
    wrapping.add(other);
    other.functions[0].opsets[0].version = 13;
    CHECK_THAT(outcome(other, of(Loss::bce_with_logits)),
               Catch::Contains("holds probabilities, made by Sigmoid"));
  }
}

TEST_CASE("a model is as it was where no logits are found") {
  for (const Wrapping& wrapping : wrappings()) {
    CAPTURE(wrapping.name);
    ModelDef model = wrapped("Softmax", wrapping);
    const std::size_t nodes = model.graph.nodes.size();
    const std::size_t outputs = model.graph.nodes.back().outputs.size();
    CHECK_THROWS(prepare(model, of(Loss::bce_with_logits)));
    CHECK(model.graph.nodes.size() == nodes);
    CHECK(model.graph.nodes.back().outputs.size() == outputs);
  }
}

TEST_CASE("scores of a linear layer keep their classes last in subgraphs and functions") {
  for (const Wrapping& wrapping : wrappings()) {
    if (!wrapping.gives_on || wrapping.name == "quantization" ||
        wrapping.name.find("loop") != std::string::npos ||
        wrapping.name.find("reshapes") != std::string::npos) {
      continue;
    }
    CAPTURE(wrapping.name);
    ModelDef model = network();
    model.graph.nodes.resize(2);
    weight(model, "head.w", {4, 5});
    model.graph.nodes.push_back(named_node("MatMul", {"n", "head.w"}, {"q"}));
    wrapping.add(model);
    model.graph.outputs[0].type.dims = {std::string("N"), std::int64_t{2}, std::int64_t{4},
                                        std::int64_t{5}};
    CHECK_THAT(prepare(model, of(Loss::softmax_cross_entropy)).prediction_reason,
               Catch::Contains("last axis"));
  }
}

TEST_CASE("long ways and many branches are followed in proportion to their length") {
  ModelDef model = network();
  model.graph.nodes.back() = named_node("Sigmoid", {"logits"}, {"v0"});
  InitializerDef& condition = model.graph.initializers.emplace_back();
  condition.name = "condition";
  condition.value = Tensor::scalar(true);
  constexpr int depth = 2000;
  for (int i = 0; i < depth; ++i) {
    const auto branch = [&](const char* side) {
      auto body = std::make_shared<GraphDef>();
      body->outputs = {value(side + std::to_string(i), {std::string("N"), std::int64_t{3}})};
      body->nodes = {named_node("Clip", {"v" + std::to_string(i)}, {side + std::to_string(i)})};
      return std::shared_ptr<const GraphDef>(body);
    };
    const std::string next = i + 1 == depth ? "p" : "v" + std::to_string(i + 1);
    model.graph.nodes.push_back(named_node(
        "If", {"condition"}, {next}, {{"then_branch", branch("a")}, {"else_branch", branch("b")}}));
  }
  CHECK_THAT(outcome(model, of(Loss::bce_with_logits)),
             Catch::Contains("holds probabilities, made by Sigmoid"));
}

TEST_CASE("float16 values inside of branches scale the loss") {
  for (const DType inner : {DType::float16, DType::float64}) {
    ModelDef model = network();
    InitializerDef& condition = model.graph.initializers.emplace_back();
    condition.name = "condition";
    condition.value = Tensor::scalar(true);
    const auto branch = [&](const std::string& side) {
      auto body = std::make_shared<GraphDef>();
      const auto cast = [](DType to) -> Attributes {
        return {{"to", static_cast<std::int64_t>(to)}};
      };
      body->nodes = {named_node("Cast", {"logits"}, {side + "narrow"}, cast(inner)),
                     named_node("Cast", {side + "narrow"}, {side}, cast(DType::float32))};
      body->outputs = {value(side, {std::string("N"), std::int64_t{3}})};
      return std::shared_ptr<const GraphDef>(body);
    };
    model.graph.nodes.back() = named_node(
        "If", {"condition"}, {"p"}, {{"then_branch", branch("a")}, {"else_branch", branch("b")}});
    const bool is_scaled =
        std::holds_alternative<DynamicLossScale>(prepare(model, of(Loss::mse)).loss_scale);
    CHECK(is_scaled == (inner == DType::float16));
  }
}
