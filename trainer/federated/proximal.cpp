#include "trainer/federated/proximal.h"

#include <algorithm>

#include "core/message.h"
#include "graph/training/gradient_names.h"
#include "graph/training/prepare/names.h"
#include "trainer/model/model_impl.h"

namespace ondine::federated {
namespace {

using graph::GraphDef;
using graph::NodeDef;

[[noreturn]] void refuse(const std::string& why) {
  fail(ErrorCode::unsupported, "setting 'proximal-mu': ", why);
}

NodeDef node(const char* op, std::vector<std::string> inputs, std::string output) {
  NodeDef result;
  result.op = op;
  result.name = output;
  result.inputs = std::move(inputs);
  result.outputs = {std::move(output)};
  return result;
}

GraphDef& only_algorithm(graph::ModelDef& def) {
  if (def.training.size() != 1 || !def.training[0].algorithm) {
    refuse(cat("the model has ", def.training.size(), " training algorithms, not one"));
  }
  return *def.training[0].algorithm;
}

// The position of the only Gradient node, whose y is an output of the algorithm.
std::size_t only_gradient(const GraphDef& algorithm) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < algorithm.nodes.size(); ++i) {
    if (graph::gradient_names(algorithm.nodes[i])) found.push_back(i);
  }
  if (found.size() != 1) refuse(cat("the model has ", found.size(), " Gradient nodes, not one"));
  const std::string y = graph::gradient_names(algorithm.nodes[found[0]])->y;
  const bool is_output = std::any_of(algorithm.outputs.begin(), algorithm.outputs.end(),
                                     [&](const auto& one) { return one.name == y; });
  if (!is_output) {
    refuse("the model's Gradient is that of " + quoted(y) +
           ", which is no output of its algorithm");
  }
  return found[0];
}

Tensor scalar_of(DType dtype, double value) {
  if (dtype == DType::float32) return Tensor::scalar(static_cast<float>(value));
  if (dtype == DType::float64) return Tensor::scalar(value);
  refuse(cat("weights of type ", dtype, " cannot have the term"));
}

// Adds the term to one derivative; `plain` is what the Gradient node gives now.
void add_term(GraphDef& algorithm, std::vector<NodeDef>& added, graph::Names& names,
              const NamedValue& start, double mu, std::string& output) {
  const Tensor& value = start.second.tensor();
  const std::string first = names.fresh(output + ".start");
  const std::string factor = names.fresh(output + ".mu");
  algorithm.initializers.push_back({first, value, {}, {}});
  algorithm.initializers.push_back({factor, scalar_of(value.dtype(), mu), {}, {}});
  const std::string plain = names.fresh(output + ".plain");
  const std::string way = names.fresh(output + ".way");
  const std::string term = names.fresh(output + ".term");
  added.push_back(node("Sub", {start.first, first}, way));
  added.push_back(node("Mul", {factor, way}, term));
  added.push_back(node("Add", {plain, term}, output));
  output = plain;
}

}  // namespace

Model with_proximal(const Model& base, const NamedValues& start, double mu) {
  graph::ModelDef def = ModelAccess::present(base);
  GraphDef& algorithm = only_algorithm(def);
  const std::size_t at = only_gradient(algorithm);
  graph::Names names(def);
  const std::vector<std::string> xs = graph::gradient_names(algorithm.nodes[at])->xs;
  std::vector<NodeDef> added;
  for (std::size_t i = 0; i < xs.size() && i < algorithm.nodes[at].outputs.size(); ++i) {
    std::string& output = algorithm.nodes[at].outputs[i];
    if (output.empty()) continue;
    const auto found = std::find_if(start.begin(), start.end(),
                                    [&](const NamedValue& one) { return one.first == xs[i]; });
    if (found == start.end()) {
      refuse("the model takes a derivative by " + quoted(xs[i]) + ", which is none of its weights");
    }
    add_term(algorithm, added, names, *found, mu, output);
  }
  algorithm.nodes.insert(algorithm.nodes.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                         std::make_move_iterator(added.begin()),
                         std::make_move_iterator(added.end()));
  return ModelAccess::make(std::move(def), ModelAccess::impl(base).options);
}

}  // namespace ondine::federated
