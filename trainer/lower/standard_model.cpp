#include "trainer/lower/standard_model.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/message.h"
#include "graph/contract/node_limit.h"
#include "graph/contract/opsets.h"
#include "graph/contract/signature.h"
#include "graph/evaluate/evaluate_node.h"
#include "graph/ir/walk.h"
#include "graph/passes/pass.h"
#include "graph/training/lower/opset.h"
#include "graph/training/lower/standard.h"
#include "trainer/model/assemble.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

namespace {

constexpr std::int64_t oldest_opset = 18;
constexpr std::string_view ml_domain = "ai.onnx.ml";

// Small constants only: a folded Expand would write its zeros into the file.
constexpr std::uint64_t fold_bytes = 1U << 20;

void simplify(Graph& graph, const Limits& limits) {
  PassContext context;
  context.fold_bytes = fold_bytes;
  context.evaluate = [&](const Node& node, const Graph& owner) {
    return evaluate_node(node, owner, folding_limits(node, owner, limits, fold_bytes));
  };
  run_passes(graph, context, passes_of(Phase::folding));
}

// The IR version that brought each version of ai.onnx from 18 on.
std::int64_t ir_version_of(std::int64_t opset) {
  constexpr std::array<std::int64_t, 9> versions{8, 9, 9, 10, 10, 11, 11, 12, 13};
  const auto at = static_cast<std::size_t>(opset - oldest_opset);
  return versions[std::min(at, versions.size() - 1)];
}

bool is_read(const Graph& graph, ValueId id) {
  const auto reads = [&](std::span<const ValueId> ids) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  return reads(graph.outputs) ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return reads(node.all_inputs()); });
}

// Random nodes that draw the same numbers, being copies of one, get the same seed.
void seed_copies(Graph& graph) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const Node& node : graph.nodes) {
    if (node.op->traits.random) ++counts[node.stream];
  }
  for (Node& node : graph.nodes) {
    if (!node.op->traits.random || counts[node.stream] < 2) continue;
    const Signature* signature = find_signature("", node.op->name, node.version);
    const AttributeSpec* seed = signature == nullptr ? nullptr : signature->attribute("seed");
    if (seed == nullptr || find(node.attributes, "seed") != nullptr) continue;
    const auto value = static_cast<std::int64_t>(node.stream % (1U << 24));
    if (seed->kind == AttributeKind::integer) {
      node.attributes.emplace_back("seed", value);
    } else {
      node.attributes.emplace_back("seed", static_cast<float>(value));
    }
  }
}

GraphPorts ports_of(const Graph& graph, const std::vector<NamedInput>& inputs,
                    const std::vector<std::string>& outputs) {
  GraphPorts ports;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].always && !is_read(graph, graph.inputs[i])) continue;
    ports.inputs.emplace_back(inputs[i].name, graph.inputs[i]);
    if (!inputs[i].initial.defined()) continue;
    InitializerDef& one = ports.defaults.emplace_back();
    one.name = inputs[i].name;
    one.value = inputs[i].initial;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ports.outputs.emplace_back(outputs[i], graph.outputs[i]);
  }
  return ports;
}

bool uses_ml(const GraphDef& graph) {
  bool found = false;
  for_each_node(graph.nodes, [&](const NodeDef& node) { found |= node.domain == ml_domain; });
  return found;
}

}  // namespace

std::int64_t lowered_opset(const ModelDef& model, std::optional<std::int64_t> wanted) {
  std::int64_t newest = oldest_opset;
  const auto take = [&](const std::vector<OpsetImport>& imports) {
    newest = std::max(newest, Opsets(imports).version("").value_or(0));
  };
  take(model.opsets);
  for (const FunctionDef& function : model.functions) take(function.opsets);
  if (!wanted) return newest;
  if (*wanted < oldest_opset || *wanted > newest_version("")) {
    fail(ErrorCode::mismatch, "version ", *wanted, " of ai.onnx: needed is one from ", oldest_opset,
         " to ", newest_version(""));
  }
  return *wanted;
}

ModelDef standard_model(Graph graph, const std::vector<NamedInput>& inputs,
                        const std::vector<std::string>& outputs, const ModelDef& source,
                        std::int64_t opset, const Limits& limits) {
  const NodeLimit limit(limits.nodes);
  simplify(graph, limits);
  graph = expand_to_standard(graph, all_operators());
  simplify(graph, limits);
  graph = convert_opset(graph, opset, all_operators());
  simplify(graph, limits);
  complete_outputs(graph);
  seed_copies(graph);
  ModelDef model;
  model.ir_version = ir_version_of(opset);
  model.opsets = {{"", opset}};
  model.producer_name = source.producer_name;
  model.producer_version = source.producer_version;
  model.domain = source.domain;
  model.model_version = source.model_version;
  model.doc = source.doc;
  model.metadata = source.metadata;
  model.graph = to_definition(graph, ports_of(graph, inputs, outputs));
  if (uses_ml(model.graph)) {
    model.opsets.push_back({std::string(ml_domain), *Opsets(source.opsets).version(ml_domain)});
  }
  return model;
}

}  // namespace ondine::trainer
