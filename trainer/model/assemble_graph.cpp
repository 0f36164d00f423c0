#include "trainer/model/assemble_graph.h"

#include <algorithm>

#include "autodiff/expand.h"
#include "core/system/pages.h"
#include "graph/check/types.h"
#include "graph/contract/catalogue_trace.h"
#include "graph/contract/node_limit.h"
#include "graph/passes/rewrite.h"
#include "graph/passes/secure_noise.h"
#include "graph/record/privacy_text.h"
#include "trainer/model/optimize.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

namespace {

// Dim classes of a graph whose declared shapes are not trusted, except those of its inputs.
DimClasses compare_dims(Graph& graph, Findings& findings) {
  try {
    dim_classes(graph);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_model) throw;
    findings.warn(error);
  }
  forget_declared_dims(graph);
  return dim_classes(graph);
}

// Whether passes find no more of the types of the outputs.
bool knows_outputs(const Graph& graph) {
  return std::ranges::all_of(graph.outputs, [&](ValueId id) {
    const Type& type = graph[id].type;
    return type.is_tensor() && type.ranked() && std::ranges::all_of(*type.dims, [](Dim dim) {
             return dim.known() || dim.is_symbolic();
           });
  });
}

// Leaves what describes inputs and outputs.
void keep_ports(Graph& graph) {
  graph.nodes.clear();
  std::vector<bool> is_port = output_flags(graph);
  for (const ValueId id : graph.inputs) is_port[static_cast<std::size_t>(id)] = true;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (!is_port[i]) graph.values[i].declared = {};
  }
}

void observe(const StageObserver& observer, std::string_view stage, const Graph& graph) {
  if (observer) observer(stage, graph);
}

}  // namespace

GraphAssembler::GraphAssembler(const ModelDef& model, const LoadOptions& options)
    : model_(&model), options_(&options), symbols_(std::make_shared<Symbols>()) {}

std::optional<Graph> GraphAssembler::resolve(GraphParts parts, const Names& variables,
                                             Findings& findings) const {
  const std::size_t before = findings.count();
  bool has_errors = false;
  ResolveContext context;
  context.model = model_;
  context.catalogue = &all_operators();
  context.limits = &options_->limits;
  context.symbols = symbols_;
  context.variables = &variables;
  context.report = [&](const Error& error) {
    findings.add_once(error);
    has_errors = true;
  };
  context.check_types = [&](const Node& node, const Graph& graph) {
    check_types(node, graph, findings);
  };
  if (findings.rigor() == Rigor::lenient) {
    context.warn = [&](const Error& error) { findings.warn(error); };
  }
  Graph graph = ondine::graph::resolve(parts, context);
  if (has_errors || findings.count() > before) return std::nullopt;
  return graph;
}

void GraphAssembler::rewrite(Graph& graph, GraphUse use, const StageObserver& observer) {
  const bool optimized = options_->optimize && rewrite_ == nullptr;
  if (rewrite_ == nullptr) draw_secretly(graph, secure_noise_of(*model_), all_operators());
  // A trace records the operators that the graph would run.
  const bool whole =
      use != GraphUse::describe || CatalogueTrace::is_active() || !knows_outputs(graph);
  if (rewrite_ != nullptr) (*rewrite_)(graph);
  if (whole || autodiff::has_gradient(graph)) {
    if (optimized) recognize(graph, all_operators(), *options_);
    graph = autodiff::expand(std::move(graph), all_operators());
  }
  observe(observer, "gradient", graph);
  // What runs once would keep the constants that folding makes, as the zeros of adapters are.
  if (optimized && whole && use != GraphUse::run_once)
    optimize(graph, all_operators(), *options_, folded_, rounded_);
  multiplied_bytes_ = multiplied_bytes_ || multiplies_bytes(graph);
  observe(observer, "optimized", graph);
}

AssembledGraph GraphAssembler::make(GraphParts parts, const Names& variables,
                                    std::string_view stage, GraphUse use, Findings& findings,
                                    const StageObserver& observer) {
  const NodeLimit limit(options_->limits.nodes);
  AssembledGraph result;
  findings.collect([&] {
    std::optional<Graph> resolved = resolve(parts, variables, findings);
    if (!resolved) return;
    Graph& graph = *resolved;
    const bool lenient = findings.rigor() == Rigor::lenient;
    result.dims = lenient ? compare_dims(graph, findings) : dim_classes(graph);
    observe(observer, stage.empty() ? "graph" : stage, graph);
    rewrite(graph, use, observer);
    if (use == GraphUse::describe) keep_ports(graph);
    return_freed_memory();
    result.graph = std::make_shared<const Graph>(without_unused_values(std::move(graph)));
  });
  return result;
}

}  // namespace ondine::trainer
