#include "tests/support/wrapped_values.h"

#include <memory>
#include <utility>

namespace ondine::test {

using namespace graph;  // NOLINT

namespace {

using Body = std::shared_ptr<const GraphDef>;

NodeDef make(const std::string& op, std::vector<std::string> inputs,
             std::vector<std::string> outputs, Attributes attributes = {},
             const std::string& domain = {}) {
  NodeDef node;
  node.op = op;
  node.domain = domain;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  return node;
}

ValueDef declared(const std::string& name, DType dtype, std::vector<DimDef> dims) {
  ValueDef value;
  value.name = name;
  value.type.kind = TypeKind::tensor;
  value.type.dtype = dtype;
  value.type.dims = std::move(dims);
  return value;
}

ValueDef scores(const std::string& name) {
  return declared(name, DType::float32, {std::string("N"), std::int64_t{3}});
}

ValueDef row(const std::string& name) { return declared(name, DType::float32, {std::int64_t{3}}); }

Body body(std::vector<ValueDef> inputs, std::vector<NodeDef> nodes, std::vector<ValueDef> outputs) {
  auto graph = std::make_shared<GraphDef>();
  graph->name = "body";
  graph->inputs = std::move(inputs);
  graph->nodes = std::move(nodes);
  graph->outputs = std::move(outputs);
  return graph;
}

void initializer(ModelDef& model, const std::string& name, Tensor value) {
  InitializerDef& added = model.graph.initializers.emplace_back();
  added.name = name;
  added.value = std::move(value);
}

Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

void import(ModelDef& model, const std::string& domain, std::int64_t version) {
  for (const OpsetImport& one : model.opsets) {
    if (one.domain == domain) return;
  }
  model.opsets.push_back({domain, version});
  model.ir_version = 8;
}

void function(ModelDef& model, const std::string& name, std::vector<NodeDef> nodes) {
  FunctionDef& added = model.functions.emplace_back();
  added.name = name;
  added.domain = "test";
  added.inputs = {"given"};
  added.outputs = {"result"};
  added.nodes = std::move(nodes);
  added.opsets = {{"", 17}, {"test", 1}};
  import(model, "test", 1);
}

NodeDef call(const std::string& name, const std::string& input, const std::string& output) {
  return make(name, {input}, {output}, {}, "test");
}

NodeDef branches(const std::string& output, const Body& first, const Body& second) {
  return make("If", {"condition"}, {output}, {{"then_branch", first}, {"else_branch", second}});
}

Body identity(const std::string& input, const std::string& output) {
  return body({}, {make("Identity", {input}, {output})}, {scores(output)});
}

// A branch in which `nodes` make of "q" what comes out.
NodeDef one_branch(std::vector<NodeDef> nodes, const std::string& output) {
  return branches("p", body({}, std::move(nodes), {scores(output)}), identity("q", "other"));
}

std::vector<ValueDef> loop_inputs() {
  return {declared("i", DType::int64, {}), declared("go", DType::boolean, {})};
}

// A loop of one iteration that carries "q" and `nodes` make the next value of "carried".
NodeDef loop(std::vector<NodeDef> nodes, const std::string& next) {
  std::vector<ValueDef> inputs = loop_inputs();
  inputs.push_back(scores("carried"));
  nodes.push_back(make("Identity", {"go"}, {"goes_on"}));
  return make(
      "Loop", {"once", "condition", "q"}, {"p"},
      {{"body", body(inputs, nodes, {declared("goes_on", DType::boolean, {}), scores(next)})}});
}

// A loop of one iteration that stacks what `nodes` make.
NodeDef stacking(std::vector<NodeDef> nodes, const std::string& each, const std::string& output) {
  nodes.push_back(make("Identity", {"go"}, {"goes_on"}));
  return make("Loop", {"once", "condition"}, {output},
              {{"body", body(loop_inputs(), nodes,
                             {declared("goes_on", DType::boolean, {}), scores(each)})}});
}

NodeDef scan(const std::string& op) {
  return make("Scan", {"q"}, {"p"},
              {{"body", body({row("slice")}, {make(op, {"slice"}, {"same"})}, {row("same")})},
               {"num_scan_inputs", std::int64_t{1}}});
}

void add(ModelDef& model, NodeDef node) { model.graph.nodes.push_back(std::move(node)); }

void add_terms(ModelDef& model) {
  initializer(model, "condition", Tensor::scalar(true));
  initializer(model, "once", Tensor::scalar(std::int64_t{1}));
  initializer(model, "first", integers({0}));
  initializer(model, "zero", Tensor::scalar(std::int64_t{0}));
  initializer(model, "step", Tensor::scalar(1.0F / 256));
  initializer(model, "none", Tensor::scalar(std::uint8_t{0}));
}

using Nodes = std::function<std::vector<NodeDef>(ModelDef&)>;

Wrapping wrapping(const std::string& name, bool gives_on, Nodes nodes) {
  return {name, gives_on, [nodes = std::move(nodes)](ModelDef& model) {
            add_terms(model);
            for (NodeDef& node : nodes(model)) add(model, std::move(node));
          }};
}

Wrapping wrapping(const std::string& name, bool gives_on, std::vector<NodeDef> nodes) {
  return wrapping(name, gives_on, [nodes = std::move(nodes)](ModelDef&) { return nodes; });
}

std::vector<Wrapping> branch_wrappings() {
  std::vector<Wrapping> result;
  result.push_back(
      wrapping("branches that give it on", true,
               {branches("p", identity("q", "of_first"), identity("q", "of_second"))}));
  result.push_back(wrapping("a branch that reshapes it", true,
                            {one_branch({make("Unsqueeze", {"q", "first"}, {"u"}),
                                         make("Squeeze", {"u", "first"}, {"s"})},
                                        "s")}));
  result.push_back(
      wrapping("a branch that bounds it", false, {one_branch({make("Clip", {"q"}, {"c"})}, "c")}));
  const NodeDef inner = branches("inner", identity("q", "of_first"), identity("q", "of_second"));
  result.push_back(wrapping("branches in a branch", true, {one_branch({inner}, "inner")}));
  result.push_back(
      wrapping("branches of what branches give", true,
               {branches("middle", identity("q", "of_first"), identity("q", "of_second")),
                branches("p", identity("middle", "c"), identity("middle", "d"))}));
  return result;
}

std::vector<Wrapping> loop_wrappings() {
  std::vector<Wrapping> result;
  result.push_back(wrapping("a loop that carries it", true,
                            {loop({make("Identity", {"carried"}, {"next"})}, "next")}));
  result.push_back(wrapping("a loop that bounds it", false,
                            {loop({make("Clip", {"carried"}, {"next"})}, "next")}));
  result.push_back(wrapping("a loop that takes it from outside", false,
                            {loop({make("Max", {"carried", "q"}, {"next"})}, "next")}));
  result.push_back(wrapping("a loop that stacks it", true,
                            {stacking({make("Identity", {"q"}, {"each"})}, "each", "stacked"),
                             make("Squeeze", {"stacked", "first"}, {"p"})}));
  const NodeDef inner = branches("chosen", identity("q", "of_first"), identity("q", "of_second"));
  result.push_back(wrapping(
      "branches in a loop", true,
      {stacking({inner}, "chosen", "stacked"), make("Squeeze", {"stacked", "first"}, {"p"})}));
  result.push_back(wrapping("a scan over its rows", false, {scan("Identity")}));
  result.push_back(wrapping("a scan that bounds its rows", false, {scan("Clip")}));
  return result;
}

std::vector<Wrapping> function_wrappings() {
  std::vector<Wrapping> result;
  result.push_back(wrapping("a function that gives it on", true, [](ModelDef& model) {
    function(model, "Same", {make("Identity", {"given"}, {"result"})});
    return std::vector<NodeDef>{call("Same", "q", "p")};
  }));
  result.push_back(wrapping("functions that call functions", true, [](ModelDef& model) {
    function(model, "Inner", {make("Identity", {"given"}, {"result"})});
    function(model, "Outer",
             {call("Inner", "given", "between"), make("Identity", {"between"}, {"result"})});
    return std::vector<NodeDef>{call("Outer", "q", "p")};
  }));
  result.push_back(wrapping("a function with branches", true, [](ModelDef& model) {
    function(model, "Chosen",
             {make("Constant", {}, {"yes"}, {{"value", Tensor::scalar(true)}}),
              make("If", {"yes"}, {"result"},
                   {{"then_branch", identity("given", "of_first")},
                    {"else_branch", identity("given", "of_second")}})});
    return std::vector<NodeDef>{call("Chosen", "q", "p")};
  }));
  result.push_back(wrapping("a branch that calls a function", true, [](ModelDef& model) {
    function(model, "Same", {make("Identity", {"given"}, {"result"})});
    return std::vector<NodeDef>{one_branch({call("Same", "q", "s")}, "s")};
  }));
  return result;
}

std::vector<Wrapping> other_wrappings() {
  std::vector<Wrapping> result;
  result.push_back(wrapping("the main graph", true, {make("Identity", {"q"}, {"p"})}));
  result.push_back(wrapping("quantization", true,
                            {make("QuantizeLinear", {"q", "step", "none"}, {"u"}),
                             make("DequantizeLinear", {"u", "step", "none"}, {"p"})}));
  result.push_back(wrapping(
      "a sequence", false,
      {make("SequenceConstruct", {"q"}, {"list"}), make("SequenceAt", {"list", "zero"}, {"p"})}));
  return result;
}

}  // namespace

std::vector<Wrapping> wrappings() {
  std::vector<Wrapping> result = other_wrappings();
  for (auto part : {branch_wrappings(), loop_wrappings(), function_wrappings()}) {
    for (Wrapping& one : part) result.push_back(std::move(one));
  }
  return result;
}

void add_activation_function(ModelDef& model, const std::string& op, const std::string& input,
                             const std::string& output) {
  function(model, "Activate", {make(op, {"given"}, {"result"})});
  add(model, call("Activate", input, output));
}

}  // namespace ondine::test
