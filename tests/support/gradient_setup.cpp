#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "autodiff/backward.h"
#include "graph/contract/ops.h"
#include "graph/evaluate/graph_runner.h"
#include "tests/support/gradient_check.h"

namespace ondine::test {

using namespace graph;  // NOLINT

namespace {

Type input_type(const Value& value, bool dynamic) {
  Type type = type_of(value);
  if (dynamic && type.dims) type.dims->assign(type.dims->size(), Dim());
  return type;
}

double weighted_sum(const std::vector<Value>& ys, const std::vector<Tensor>& weights) {
  double sum = 0;
  for (std::size_t k = 0; k < ys.size(); ++k) {
    const auto y = ys[k].tensor().values<double>();
    const auto w = weights[k].values<double>();
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * w[i];
  }
  return sum;
}

bool carries(const Node& node, std::size_t i) {
  return node.op->no_gradient != any_input && (i >= 32 || (node.op->no_gradient >> i & 1U) == 0);
}

// The values that a derivative by `xs` flows through.
std::vector<bool> active_values(const Graph& graph, const std::vector<Val>& xs) {
  std::vector<bool> active(graph.values.size());
  for (const Val x : xs) active[static_cast<std::size_t>(x.id())] = true;
  for (const Node& node : graph.nodes) {
    const auto inputs = node.all_inputs();
    bool any = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      any = any || (inputs[i] != no_value && active[static_cast<std::size_t>(inputs[i])] &&
                    carries(node, i));
    }
    for (const ValueId id : node.outputs) {
      if (any && id != no_value && autodiff::differentiable(graph[id].type)) {
        active[static_cast<std::size_t>(id)] = true;
      }
    }
  }
  return active;
}

// Such nodes are expanded, as autodiff does.
bool lacks_derivative(const Node& node) {
  return node.op->grad == nullptr && node.op->expand != nullptr &&
         node.op->no_gradient != any_input;
}

}  // namespace

GradientSetup::GradientSetup(const Expression& expression, const std::vector<Value>& inputs,
                             const std::vector<std::size_t>& skip, bool dynamic, DType number)
    : builder(graph, catalogue()) {
  std::vector<Node> nodes;  // with those that are expanded
  builder.set_expand([&nodes](const Node& node) {
    const bool expands = lacks_derivative(node);
    if (expands) nodes.push_back(node);
    return expands;
  });
  std::vector<Val> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = inputs[i];
    if (value.kind() == Value::Kind::none) {
      values.emplace_back();
      continue;
    }
    const bool real = value.is_tensor() && value.tensor().dtype() == number;
    if (value.is_tensor() && !real && !dynamic) {
      values.push_back(builder.constant(value.tensor()));
      continue;
    }
    values.push_back(add_input(value, dynamic));
    const bool skipped = std::find(skip.begin(), skip.end(), i) != skip.end();
    if (real && !skipped) xs.push_back(values.back());
  }
  const auto outputs = expression(builder, values);
  for (const Val y : outputs) {
    if (y && y.type().is_tensor() && y.dtype() == number) ys.push_back(y);
  }
  // An operator that gives floats whatever it gets: compare with wide steps and bounds.
  if (ys.empty() && outputs[0].type().is_tensor() && outputs[0].dtype() == DType::float32) {
    ys.push_back(cast(outputs[0], DType::float64));
    coarse_ = true;
  }
  nodes.insert(nodes.end(), graph.nodes.begin(), graph.nodes.end());
  operators_ = operators_of(nodes, graph);
  set_expansion();
}

GradientSetup::GradientSetup(const GradientSetup& other, int)
    : graph(other.graph), builder(graph, catalogue()), fed(other.fed) {
  for (const Val x : other.xs) xs.push_back(builder.value(x.id()));
  for (const Val y : other.ys) ys.push_back(builder.value(y.id()));
  set_expansion();
  runnable_ = runnable(ys);
}

void GradientSetup::set_expansion() { builder.set_expand(lacks_derivative); }

Val GradientSetup::add_input(const Value& value, bool dynamic) {
  graph.inputs.push_back(graph.add_temporary("x", input_type(value, dynamic)));
  fed.push_back(value);
  return builder.value(graph.inputs.back());
}

Graph GradientSetup::runnable(const std::vector<Val>& outputs) const {
  Graph result = graph;
  result.outputs.clear();
  for (const Val output : outputs) {
    if (output) result.outputs.push_back(output.id());
  }
  result.nodes.clear();
  Builder expander(result, builder.catalogue());
  expander.set_expand([](const Node& node) { return node.op->bind == nullptr; });
  for (const Node& node : graph.nodes) expander.append(node);
  return result;
}

std::vector<Tensor> GradientSetup::evaluate(const std::vector<Val>& outputs) const {
  std::vector<Tensor> result;
  for (const Value& value : graph::evaluate(runnable(outputs), fed))
    result.push_back(value.tensor());
  return result;
}

std::vector<Tensor> GradientSetup::evaluate_derivatives(const std::vector<Val>& derivatives) const {
  const auto values = evaluate(derivatives);
  std::vector<Tensor> result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < derivatives.size(); ++i) {
    const Tensor& x = fed[position(xs[i])].tensor();
    result.push_back(derivatives[i] ? values[next++] : Tensor(x.dtype(), x.shape()));
    CHECK(result.back().shape().to_string() == x.shape().to_string());
  }
  return result;
}

std::vector<Value> GradientSetup::outputs_at(const std::vector<Value>& inputs) const {
  return graph::evaluate(runnable_, inputs);
}

double GradientSetup::numeric(std::size_t x, std::size_t element,
                              const std::vector<Tensor>& weights, double relative_step) const {
  std::vector<Value> point = fed;
  Tensor moved = fed[position(xs[x])].tensor().clone();
  point[position(xs[x])] = moved;
  auto values = moved.mutable_values<double>();
  const double at = values[element];
  const double step = relative_step * std::max(1.0, std::abs(at));
  values[element] = at + step;
  const double above = weighted_sum(outputs_at(point), weights);
  values[element] = at - step;
  const double below = weighted_sum(outputs_at(point), weights);
  return (above - below) / (2 * step);
}

std::size_t GradientSetup::position(Val x) const {
  return static_cast<std::size_t>(std::find(graph.inputs.begin(), graph.inputs.end(), x.id()) -
                                  graph.inputs.begin());
}

GradientSetup::Operators GradientSetup::operators_of(const std::vector<Node>& nodes,
                                                     const Graph& in) const {
  const auto active = active_values(in, xs);
  Operators result;
  for (const Node& node : nodes) {
    auto& [name, inputs] = result.emplace_back();
    name = {std::string(node.op->domain), std::string(node.op->name)};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto id = static_cast<std::size_t>(node.inputs[i]);
      if (id < active.size() && active[id] && carries(node, i)) inputs.insert(i);
    }
  }
  return result;
}

void GradientSetup::record(int order, double error, const Graph& differentiated) const {
  const auto enter = [error, this](const Operators& operators, int with_order) {
    for (const auto& [name, inputs] : operators) {
      exercised_operators().insert(name);
      if (inputs.empty()) continue;
      CheckedGradient& checked = checked_gradients()[name];
      checked.inputs.insert(inputs.begin(), inputs.end());
      checked.order = std::max(checked.order, with_order);
      // The error of float arithmetic is that of the operator itself, not of its parts.
      if (!coarse_ || name == operators_[0].first) checked.error = std::max(checked.error, error);
    }
  };
  enter(operators_, order);
  // With what computes the derivatives.
  for (const Node& node : graph.nodes) {
    exercised_operators().insert({std::string(node.op->domain), std::string(node.op->name)});
  }
  enter(operators_of(differentiated.nodes, differentiated), 1);
}

}  // namespace ondine::test
