#include "trainer/lower/differentiate_model.h"

#include <algorithm>

#include "core/message.h"
#include "graph/check/findings.h"
#include "graph/check/structure.h"
#include "graph/contract/opsets.h"
#include "graph/resolve/resolve.h"
#include "graph/training/lower/to_definition.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "trainer/lower/lower_model.h"
#include "trainer/model/assemble.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

namespace {

bool is_input(const GraphDef& graph, const std::string& name) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [&](const ValueDef& input) { return input.name == name; });
}

// The tensors of the main graph, by name.
class Tensors {
 public:
  Tensors(const ModelDef& model, const Limits& limits) {
    Findings findings;
    check_structure(model, all_operators(), limits, findings);
    findings.throw_if_any();
    ResolveContext context;
    context.model = &model;
    context.catalogue = &all_operators();
    context.limits = &limits;
    context.symbols = std::make_shared<Symbols>();
    graph_ = resolve(model.graph, context);
    for (const ValueDef& output : model.graph.outputs) outputs_.push_back(output.name);
  }

  TypeDef type_of(const std::string& name) const {
    const ValueId id = find(name);
    if (id == no_value) {
      fail(ErrorCode::mismatch, "the main graph has no tensor ", quoted(name));
    }
    const Type& type = graph_[id].type;
    if (!type.is_tensor() || !is_differentiable(type.dtype)) {
      fail(ErrorCode::mismatch, quoted(name), " is a ", to_string(type),
           ", needed is a floating point tensor");
    }
    return to_definition(type, *graph_.symbols);
  }

 private:
  ValueId find(const std::string& name) const {
    const ValueId id = graph_.find(name);
    if (id != no_value) return id;
    // The value of an output that a function computes has the name it has there.
    const auto found = std::find(outputs_.begin(), outputs_.end(), name);
    return found == outputs_.end()
               ? no_value
               : graph_.outputs[static_cast<std::size_t>(found - outputs_.begin())];
  }

  Graph graph_;
  std::vector<std::string> outputs_;
};

// Writes the algorithm that takes the derivatives.
class Writer {
 public:
  Writer(const DifferentiateOptions& options, const Tensors& tensors, GraphDef& graph)
      : options_(options), tensors_(tensors), graph_(graph) {}

  void run() {
    const TypeDef y = tensors_.type_of(options_.of);
    std::vector<TypeDef> xs;
    for (const std::string& x : options_.by) xs.push_back(tensors_.type_of(x));
    graph_.outputs.push_back({options_.of, y, {}, {}});
    switch (options_.kind) {
      case DerivativeKind::gradient:
        return add_outputs(gradient(options_.by, options_.of, "gradient."), xs);
      case DerivativeKind::vector_jacobian: {
        const std::string seed = add_input("seed." + options_.of, y);
        const std::string target = product(options_.of, seed);
        return add_outputs(gradient(options_.by, target, "gradient."), xs);
      }
      case DerivativeKind::jacobian_vector: {
        const std::string seed = like(options_.of, y.dtype);
        const auto first = gradient(options_.by, product(options_.of, seed), "derivative.");
        const auto name = gradient({seed}, along_tangents(first, xs), "tangent.", options_.of);
        graph_.outputs.push_back({name[0], y, {}, {}});
        return;
      }
      case DerivativeKind::hessian_vector: {
        const auto first = gradient(options_.by, options_.of, "derivative.");
        return add_outputs(gradient(options_.by, along_tangents(first, xs), "hessian."), xs);
      }
    }
  }

 private:
  NodeDef& add_node(const std::string& op, std::vector<std::string> inputs, std::string output) {
    NodeDef& node = graph_.nodes.emplace_back();
    node.op = op;
    node.inputs = std::move(inputs);
    node.outputs = {std::move(output)};
    return node;
  }

  std::string add_input(const std::string& name, const TypeDef& type) {
    graph_.inputs.push_back({name, type, {}, {}});
    return name;
  }

  void add_outputs(const std::vector<std::string>& names, const std::vector<TypeDef>& types) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      graph_.outputs.push_back({names[i], types[i], {}, {}});
    }
  }

  // The derivatives of the sum of y, under the names of the tensors with a prefix.
  std::vector<std::string> gradient(const std::vector<std::string>& xs, const std::string& y,
                                    const std::string& prefix, const std::string& name = {}) {
    NodeDef& node = graph_.nodes.emplace_back();
    node.op = "Gradient";
    node.domain = training_domain;
    node.inputs = xs;
    for (const std::string& x : xs) node.outputs.push_back(prefix + (name.empty() ? x : name));
    node.attributes.emplace_back("xs", xs);
    node.attributes.emplace_back("y", y);
    return node.outputs;
  }

  std::string product(const std::string& a, const std::string& b) {
    const std::string name = cat("product.", graph_.nodes.size());
    add_node("Mul", {a, b}, name);
    return name;
  }

  // A tensor in the shape of y by which the product with it is differentiated.
  std::string like(const std::string& y, DType dtype) {
    add_node("Shape", {y}, "shape." + y);
    const std::string one = "one." + y;
    InitializerDef& initializer = graph_.initializers.emplace_back();
    initializer.name = one;
    initializer.value = Tensor(dtype, Shape{});
    add_node("Expand", {one, "shape." + y}, "direction." + y);
    return "direction." + y;
  }

  // The sum of the products of the derivatives with the tangents.
  std::string along_tangents(const std::vector<std::string>& derivatives,
                             const std::vector<TypeDef>& types) {
    std::vector<std::string> terms;
    for (std::size_t i = 0; i < derivatives.size(); ++i) {
      const std::string tangent = add_input("tangent." + options_.by[i], types[i]);
      const std::string term = product(derivatives[i], tangent);
      add_node("ReduceSum", {term}, "sum." + term)
          .attributes.emplace_back("keepdims", std::int64_t{0});
      terms.push_back("sum." + term);
    }
    add_node("Sum", terms, "sum.terms");
    return "sum.terms";
  }

  const DifferentiateOptions& options_;
  const Tensors& tensors_;
  GraphDef& graph_;
};

}  // namespace

ModelDef differentiate_model(const ModelDef& model, const DifferentiateOptions& options,
                             const Limits& limits, LowerReport& report) {
  if (options.of.empty() || options.by.empty()) {
    fail(ErrorCode::mismatch, "a derivative is of a tensor by one or more others");
  }
  ModelDef plain = model;
  plain.training.clear();
  const Tensors tensors(plain, limits);
  GraphDef algorithm;
  algorithm.name = "derivative";
  Writer(options, tensors, algorithm).run();
  ModelDef training = plain;
  for (const std::string& name : options.by) {
    const InitializerDef* initializer = find_initializer(training.graph, name);
    if (initializer == nullptr || is_input(training.graph, name)) continue;
    training.graph.inputs.push_back({name, tensors.type_of(name), {}, {}});
  }
  // IR version 4 let initializers be constants; training information came with version 7.
  training.ir_version = std::max<std::int64_t>(training.ir_version, 7);
  if (!Opsets(training.opsets).version(training_domain)) {
    training.opsets.push_back({std::string(training_domain), 1});
  }
  training.training.emplace_back().algorithm = std::move(algorithm);
  LowerOptions lower;
  lower.opset = options.opset;
  return lower_model(training, lower, limits, report);
}

}  // namespace ondine::trainer
