// Element-wise operators between one quantized tensor and a QuantizeLinear: a function of 256
// values, whatever is computed in between. It becomes a table of its results, which the operators
// themselves compute once, so that it has their bits.
#include <algorithm>
#include <array>
#include <numeric>

#include "graph/contract/infer_node.h"
#include "graph/passes/quantization.h"

namespace ondine::graph {
namespace {

// clang-format off
constexpr std::array<std::string_view, 45> elementwise{
    "Abs", "Acos", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Clip",
    "Cos", "Cosh", "Div", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish",
    "LeakyRelu", "Log", "Max", "Min", "Mish", "Mul", "Neg", "PRelu", "Pow", "Relu", "Round",
    "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Swish",
    "Tan", "Tanh", "ThresholdedRelu"};
// clang-format on

bool is_elementwise(const Node& node) {
  return node.op->domain.empty() && node.outputs.size() == 1 &&
         std::ranges::find(elementwise, node.op->name) != elementwise.end();
}

bool is_lookup(const Node& node) {
  return node.op->domain == ondine_domain && node.op->name == "Int8Lookup";
}

// The nodes that compute a value from one quantized tensor, element by element.
class Function {
 public:
  Function(const Graph& graph, const Uses& uses) : graph_(&graph), uses_(&uses) {}

  // Whether there is such a tensor. `id` follows from `root` and nothing else but numbers.
  bool trace(ValueId id) {
    const bool known = id == root || std::ranges::any_of(steps_, [&](const Node* step) {
                         return step->outputs[0] == id;
                       });
    if (known) return true;
    const Tensor number = uses_->constant(id);
    if (number.defined()) return number.size() == 1;
    const Node* const node = uses_->producer(id);
    const bool is_table = node != nullptr && is_lookup(*node);
    const Type& type = (*graph_)[id].type;
    if (type.is_tensor() && is_int8(type.dtype) && !is_table) {
      if (root != no_value) return false;
      root = id;
      return true;
    }
    return node != nullptr && trace_inputs(*node, is_table);
  }

  ValueId root = no_value;

  // The results for all elements, in the order of their bits. The last is that of `last`, which
  // reads what was traced.
  Tensor results(const Node& last, const PassContext& context) {
    Graph scratch;
    scratch.symbols = graph_->symbols;
    std::vector<std::uint8_t> bits(256);
    std::iota(bits.begin(), bits.end(), std::uint8_t{0});
    Tensor elements((*graph_)[root].type.dtype, {256});
    std::ranges::copy(bits, static_cast<std::uint8_t*>(elements.mutable_data()));
    std::vector<std::pair<ValueId, ValueId>> copies{
        {root, add_constant(scratch, "elements", std::move(elements))}};
    steps_.push_back(&last);
    for (const Node* step : steps_) {
      Node copy = *step;
      for (std::size_t i = 0; i < copy.inputs.size(); ++i) {
        ValueId& id = copy.inputs[i];
        if (id == no_value) continue;
        const auto found = std::ranges::find(copies, id, &std::pair<ValueId, ValueId>::first);
        if (found != copies.end()) {
          id = found->second;
          continue;
        }
        const Tensor constant = uses_->constant(id);
        // A number has no axis along which it could not be the only one.
        id = add_constant(scratch, "constant",
                          constant.size() == 1 ? constant.reshaped(Shape{}) : constant);
      }
      const ValueId result = scratch.add_temporary("result");
      copies.emplace_back(std::exchange(copy.outputs[0], result), result);
      infer_node(copy, scratch);
      scratch[result].constant = context.evaluate(copy, scratch).at(0);
    }
    const Tensor table = scratch[copies.back().second].constant;
    return table.reshaped({table.size()});
  }

 private:
  static constexpr std::size_t max_steps = 32;

  bool trace_inputs(const Node& node, bool is_table) {
    if (steps_.size() >= max_steps) return false;
    // Other inputs of a table and of DequantizeLinear are constant.
    std::size_t inputs = 1;
    if (is_table) {
      if (!uses_->constant(node.inputs[1]).defined()) return false;
    } else if (node.op->name == "DequantizeLinear") {
      if (!is_scalar_int8(dequantized(node.outputs[0], *graph_, *uses_))) return false;
    } else if (is_elementwise(node)) {
      inputs = node.inputs.size();
    } else {
      return false;
    }
    for (std::size_t i = 0; i < inputs; ++i) {
      if (node.inputs[i] != no_value && !trace(node.inputs[i])) return false;
    }
    steps_.push_back(&node);
    return true;
  }

  const Graph* graph_;
  const Uses* uses_;
  std::vector<const Node*> steps_;
};

bool same_dims(const Type& a, const Type& b) {
  return a.dims && b.dims &&
         std::ranges::equal(*a.dims, *b.dims, [](Dim p, Dim q) { return p.same(q); });
}

}  // namespace

bool tabulate_quantized(Node& node, Graph& graph, const Uses& uses, const PassContext& context) {
  const auto y = quantized(node, graph, uses);
  if (!is_scalar_int8(y) || !context.evaluate) return false;
  Function function(graph, uses);
  if (!function.trace(y->input) || function.root == no_value) return false;
  if (!same_dims(graph[function.root].type, graph[y->input].type)) return false;
  const Tensor table = function.results(node, context);
  node.op = context.catalogue->find(ondine_domain, "Int8Lookup");
  node.version = 1;
  node.inputs = {function.root, add_constant(graph, "table", table)};
  node.attributes.clear();
  return true;
}

}  // namespace ondine::graph
