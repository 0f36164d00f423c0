// Optimizers that are written with ordinary operators go over each variable once.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

using graph::DimDef;
using Binding = std::pair<std::string, std::string>;

const std::vector<std::string> loss_only{"loss"};

// loss = sum (w - x)^2, w [3, 400] updated by `update`, nodes that read w, its derivative g, states
// a and b [3, 400] and numbers rate, keep, rest and small, and give w_new, a_new, b_new.
graph::ModelDef written_out(const std::vector<graph::NodeDef>& update,
                            const std::vector<Binding>& bindings) {
  const std::string training = "ai.onnx.preview.training";
  const std::vector<DimDef> dims{std::int64_t{3}, std::int64_t{400}};
  graph::ModelDef def;
  def.ir_version = 9;
  def.opsets = {{"", 18}, {training, 1}};
  def.graph.name = "main";
  def.graph.inputs = {tensor_value("x", DType::float32, dims)};
  def.graph.outputs = {tensor_value("d", DType::float32, dims)};
  def.graph.initializers = {{"w", random_floats({3, 400}, 1), "", {}}};
  def.graph.nodes = {node("Sub", {"w", "x"}, {"d"})};
  graph::GraphDef step;
  step.name = "step";
  step.initializers = {{"a", Tensor(DType::float32, {3, 400}), "", {}},
                       {"b", Tensor(DType::float32, {3, 400}), "", {}},
                       {"rate", Tensor::scalar(0.05F), "", {}},
                       {"keep", Tensor::scalar(0.9F), "", {}},
                       {"rest", Tensor::of<float>({1}, {0.1F}), "", {}},
                       {"small", Tensor::scalar(1e-6F), "", {}}};
  step.nodes = {
      node("ReduceSumSquare", {"d"}, {"loss"}, {{"keepdims", std::int64_t{0}}}),
      node("Gradient", {"w"}, {"g"},
           {{"xs", std::vector<std::string>{"w"}}, {"y", std::string("loss")}}, training)};
  step.nodes.insert(step.nodes.end(), update.begin(), update.end());
  step.outputs = {tensor_value("loss", DType::float32, {})};
  graph::TrainingInfoDef info;
  for (const auto& [variable, value] : bindings) {
    step.outputs.push_back(tensor_value(value, DType::float32, dims));
    info.update_binding.emplace_back(variable, value);
  }
  info.algorithm = step;
  def.training = {info};
  return def;
}

graph::ModelDef momentum() {
  return written_out(
      {node("Mul", {"a", "keep"}, {"kept"}), node("Add", {"kept", "g"}, {"a_new"}),
       node("Mul", {"rate", "a_new"}, {"change"}), node("Sub", {"w", "change"}, {"w_new"})},
      {{"w", "w_new"}, {"a", "a_new"}});
}

graph::ModelDef adam() {
  return written_out(
      {node("Mul", {"a", "keep"}, {"a_kept"}), node("Mul", {"g", "rest"}, {"a_more"}),
       node("Add", {"a_kept", "a_more"}, {"a_new"}), node("Mul", {"g", "g"}, {"square"}),
       node("Mul", {"b", "keep"}, {"b_kept"}), node("Mul", {"square", "rest"}, {"b_more"}),
       node("Add", {"b_kept", "b_more"}, {"b_new"}), node("Sqrt", {"b_new"}, {"root"}),
       node("Add", {"root", "small"}, {"divisor"}), node("Div", {"a_new", "divisor"}, {"slope"}),
       node("Mul", {"slope", "rate"}, {"change"}), node("Sub", {"w", "change"}, {"w_new"})},
      {{"w", "w_new"}, {"a", "a_new"}, {"b", "b_new"}});
}

graph::ModelDef adagrad() {
  return written_out(
      {node("Mul", {"g", "g"}, {"square"}), node("Add", {"b", "square"}, {"b_new"}),
       node("Sqrt", {"b_new"}, {"root"}), node("Add", {"root", "small"}, {"divisor"}),
       node("Mul", {"g", "rate"}, {"scaled"}), node("Div", {"scaled", "divisor"}, {"change"}),
       node("Sub", {"w", "change"}, {"w_new"})},
      {{"w", "w_new"}, {"b", "b_new"}});
}

// The old value of a is read after the new one is known.
graph::ModelDef entangled() {
  return written_out(
      {node("Add", {"a", "g"}, {"a_sum"}), node("Mul", {"a_sum", "rest"}, {"a_new"}),
       node("Mul", {"a_new", "a"}, {"both"}), node("Mul", {"both", "rate"}, {"change"}),
       node("Sub", {"w", "change"}, {"moved"}), node("Sub", {"moved", "a_new"}, {"w_new"})},
      {{"w", "w_new"}, {"a", "a_new"}});
}

}  // namespace

TEST_CASE(
    "optimizers written with ordinary operators are one pass, in place, with the same result") {
  const NamedValues feeds{{"x", random_floats({3, 400}, 7)}};
  for (const graph::ModelDef& def : {momentum(), adam(), adagrad(), entangled()}) {
    Model fused = Model::load(encode(def));
    LoadOptions options;
    options.no_fusion = fusions_from_name("all");
    Model plain = Model::load(encode(def), options);
    NamedValues loss{{"loss", Value()}};
    NamedValues plain_loss = loss;
    for (int i = 0; i < 10; ++i) {
      fused.train_step_into(feeds, 0, loss);
      plain.train_step_into(feeds, 0, plain_loss);
    }
    CHECK(loss[0].second.tensor().item<float>() ==
          Approx(plain_loss[0].second.tensor().item<float>()).epsilon(1e-5));
    for (const StateInfo& info : fused.state()) {
      check_close(fused.get_state(info.name), plain.get_state(info.name), {1e-5, 1e-6});
    }
    if (std::getenv("ONDINE_NO_FUSION") != nullptr) continue;
    CHECK(count(fused.inspect("optimized"), "FusedElementwise") == 1);
    CHECK(count(plain.inspect("optimized"), "FusedElementwise") == 0);
    // One buffer for each variable.
    const std::uint64_t variable = 3 * 400 * 4;
    const auto variables = def.training[0].update_binding.size();
    CHECK(fused.plan(feeds, 0, loss_only).state_bytes < (variables + 1) * variable);
  }
}

TEST_CASE("an update of more operands than one operator takes stays ordinary operators") {
  // a_new = ((g keep) keep) ...: each step is an operand, and so is each input.
  const auto powers = [](int steps) {
    std::vector<graph::NodeDef> nodes;
    std::string last = "g";
    for (int i = 0; i < steps; ++i) {
      const std::string next = i + 1 == steps ? "a_new" : "power" + std::to_string(i);
      nodes.push_back(node("Mul", {last, "keep"}, {next}));
      last = next;
    }
    return written_out(nodes, {{"a", "a_new"}});
  };
  const Tensor x = random_floats({3, 400}, 7);
  const Tensor w = random_floats({3, 400}, 1);
  for (const int steps : {26, 27, 60}) {
    CAPTURE(steps);
    Model model = Model::load(encode(powers(steps)));
    // The gradient, d 2 1, takes two more steps; d, 2, 1 and keep are inputs.
    const bool fits = steps + 6 <= 32;
    if (std::getenv("ONDINE_NO_FUSION") == nullptr) {
      CHECK((count(model.inspect("optimized"), "FusedElementwise") > 0) == fits);
    }
    model.train_step(NamedValues{{"x", x}});
    const Tensor a = model.get_state("a");
    for (std::size_t i = 0; i < 1200; i += 171) {
      const double gradient = 2 * (double{w.values<float>()[i]} - double{x.values<float>()[i]});
      CHECK(double{a.values<float>()[i]} == Approx(gradient * std::pow(0.9, steps)).epsilon(1e-4));
    }
  }
}

}  // namespace ondine::test
