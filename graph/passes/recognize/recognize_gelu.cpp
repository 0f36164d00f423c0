// x (1 + erf(x / sqrt 2)) / 2 and x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 become Gelu.
#include <cmath>
#include <numbers>

#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

// A product of a number and values, collected through Mul, Div by numbers and Pow with integer
// exponents.
struct Product {
  double number = 1;
  std::vector<ValueId> values;

  bool is(double factor, std::initializer_list<ValueId> of) const {
    return near(number, factor) && values == std::vector<ValueId>(of);
  }
};

class Recognizer {
 public:
  Recognizer(const Graph& graph, const OpDef* gelu, const Uses& uses)
      : graph_(&graph), uses_(&uses), gelu_(gelu) {}

  bool operator()(Node& node) const {
    if (node.op->name != "Mul" || !node.op->domain.empty()) return false;
    if (!is_full_float(*graph_, node.outputs[0])) return false;
    Product all;
    for (const ValueId id : node.inputs) multiply(all, id, 0);
    if (all.values.size() != 2 || !near(all.number, 0.5)) return false;
    return gelu(node, all.values[0], all.values[1]) || gelu(node, all.values[1], all.values[0]);
  }

 private:
  void multiply(Product& product, ValueId id, int depth) const {
    if (const auto number = uses_->number(id)) {
      product.number *= *number;
      return;
    }
    const Node* node = depth < 4 ? uses_->producer_for(id, 1, "Mul") : nullptr;
    if (node != nullptr) {
      for (const ValueId factor : node->inputs) multiply(product, factor, depth + 1);
      return;
    }
    node = uses_->producer_for(id, 1, "Div");
    if (const auto by = node ? uses_->number(node->inputs[1]) : std::nullopt; by && *by != 0) {
      product.number /= *by;
      return multiply(product, node->inputs[0], depth + 1);
    }
    node = uses_->producer_for(id, 1, "Pow");
    const auto power = node ? uses_->number(node->inputs[1]) : std::nullopt;
    if (power == 2.0 || power == 3.0) {
      product.values.insert(product.values.end(), static_cast<std::size_t>(*power),
                            node->inputs[0]);
      return;
    }
    product.values.push_back(id);
  }
  Product product(ValueId id) const {
    Product result;
    multiply(result, id, 0);
    return result;
  }

  // The y of 1 + y.
  std::optional<ValueId> more_than_one(ValueId id) const {
    const Node* sum = uses_->producer_for(id, 1, "Add");
    if (sum == nullptr) return std::nullopt;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (uses_->number(sum->inputs[i]) == 1.0) return sum->inputs[1 - i];
    }
    return std::nullopt;
  }

  bool gelu(Node& node, ValueId x, ValueId sum) const {
    const auto inner = more_than_one(sum);
    if (!inner || !same_tensor_type(*graph_, x, node.outputs[0])) return false;
    const Node* erf = uses_->producer_for(*inner, 1, "Erf");
    const Node* tanh = uses_->producer_for(*inner, 1, "Tanh");
    const bool exact = erf != nullptr && product(erf->inputs[0]).is(std::numbers::sqrt2 / 2, {x});
    if (!exact && (tanh == nullptr || !is_cubic(tanh->inputs[0], x))) return false;
    node.op = gelu_;
    node.version = 20;
    node.inputs = {x};
    node.attributes = {{"approximate", std::string(exact ? "none" : "tanh")}};
    return true;
  }

  // Whether `id` is sqrt(2 / pi) (x + 0.044715 x^3) or sqrt(2 / pi) x (1 + 0.044715 x^2).
  bool is_cubic(ValueId id, ValueId x) const {
    constexpr double cubic = 0.044715;
    Product outer = product(id);
    if (!near(outer.number, std::numbers::sqrt2 * std::numbers::inv_sqrtpi)) return false;
    if (outer.values.size() == 1) {
      const Node* sum = uses_->producer_for(outer.values[0], 1, "Add");
      if (sum == nullptr) return false;
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
        if (sum->inputs[i] == x && product(sum->inputs[1 - i]).is(cubic, {x, x, x})) return true;
      }
      return false;
    }
    if (outer.values.size() != 2) return false;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const auto rest = more_than_one(outer.values[1 - i]);
      if (outer.values[i] == x && rest && product(*rest).is(cubic, {x, x})) return true;
    }
    return false;
  }

  const Graph* graph_;
  const Uses* uses_;
  const OpDef* gelu_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* const gelu = context.catalogue->find("", "Gelu");
  if (gelu == nullptr) return false;
  return fuse_nodes(
      graph, [&](Node& node, const Uses& uses) { return Recognizer(graph, gelu, uses)(node); });
}

}  // namespace

const Pass recognize_gelu{"recognize_gelu", run};

}  // namespace ondine::graph
