// Removes nodes whose output 0 equals their input 0 in elements and shape.
#include <algorithm>
#include <array>

#include "graph/contract/node_view.h"
#include "graph/contract/op_def.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

namespace ondine::graph {
namespace {

// Whether the types are certainly equal; dynamic dims never are.
bool same_type(const Type& a, const Type& b) {
  if (!a.is_tensor() || !b.is_tensor() || a.dtype != b.dtype || !a.dims || !b.dims) return false;
  return std::equal(a.dims->begin(), a.dims->end(), b.dims->begin(), b.dims->end(),
                    [](Dim x, Dim y) { return x.same(y); });
}

struct Candidate {
  NodeView view;
  const Graph& graph;

  const Type& in() const { return graph[view.node().inputs[0]].type; }
  const Type& out() const { return graph[view.node().outputs[0]].type; }
};

bool always(const Candidate&) { return true; }

bool keeps_type(const Candidate& candidate) { return same_type(candidate.in(), candidate.out()); }

bool keeps_dtype(const Candidate& candidate) {
  return candidate.in().is_tensor() && candidate.in().dtype == candidate.out().dtype;
}

// Whether a Transpose moves axes of size 1 only.
bool keeps_order(const Candidate& candidate) {
  if (!candidate.in().ranked()) return false;
  const auto perm = candidate.view.attr_ints("perm");
  if (perm.size() != candidate.in().rank()) return perm.empty() && candidate.in().rank() < 2;
  std::int64_t last = -1;
  for (const std::int64_t axis : perm) {
    if (axis < 0 || static_cast<std::size_t>(axis) >= perm.size()) return false;
    if ((*candidate.in().dims)[static_cast<std::size_t>(axis)].same(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return same_type(candidate.in(), candidate.out());
}

// Whether a Dropout is in inference mode, by attribute up to opset 6, by training_mode from 12; or
// drops with a probability of 0, as exporters write nn.Dropout(0).
bool drops_nothing(const Candidate& candidate) {
  const NodeView& view = candidate.view;
  if (view.version() < 7) {
    return view.attr_int("is_test", 0) != 0 || view.attr_float("ratio", 0.5F) == 0;
  }
  if (!view.has_input(2)) return true;
  const auto& inputs = view.node().inputs;
  const Tensor& training = candidate.graph[inputs[2]].constant;
  if (training.defined() && training.dtype() == DType::boolean && training.size() == 1 &&
      !training.values<bool>()[0]) {
    return true;
  }
  return view.has_input(1) && constant_number(candidate.graph, inputs[1]) == 0.0;
}

// Whether a Pad pads nothing.
bool pads_nothing(const Candidate& candidate) {
  if (!keeps_type(candidate) || !candidate.view.has_input(1)) return false;
  const Tensor& pads = candidate.graph[candidate.view.node().inputs[1]].constant;
  return pads.defined() && pads.dtype() == DType::int64 &&
         std::ranges::all_of(pads.values<std::int64_t>(), [](auto size) { return size == 0; });
}

// Whether a Slice takes everything: it goes forwards and no axis gets shorter.
bool takes_all(const Candidate& candidate) {
  if (!keeps_type(candidate)) return false;
  if (!candidate.view.has_input(4)) return true;
  const Tensor& steps = candidate.graph[candidate.view.node().inputs[4]].constant;
  return steps.defined() && steps.dtype() == DType::int64 &&
         std::ranges::all_of(steps.values<std::int64_t>(), [](auto step) { return step > 0; });
}

// Whether a Concat has no elements but those of its first input.
bool joins_nothing(const Candidate& candidate) {
  if (!keeps_type(candidate)) return false;
  const auto inputs = std::span(candidate.view.node().inputs).subspan(1);
  return std::ranges::all_of(inputs, [&](ValueId id) {
    const Type& type = candidate.graph[id].type;
    return type.ranked() && std::ranges::any_of(*type.dims, [](Dim dim) { return dim.same(0); });
  });
}

struct Rule {
  std::string_view name;
  bool (*holds)(const Candidate&);
  std::string_view domain = {};
};

// Facts beyond OpTraits: operators that keep any shape, and operators that are identities under a
// condition.
constexpr std::array rules{
    Rule{"Identity", always},       Rule{"Concat", joins_nothing},
    Rule{"Cast", keeps_dtype},      Rule{"CastLike", keeps_dtype},
    Rule{"Expand", keeps_type},     Rule{"Transpose", keeps_order},
    Rule{"Dropout", drops_nothing}, Rule{"Pad", pads_nothing},
    Rule{"Slice", takes_all},       Rule{"SumTo", keeps_type, ondine_domain},
};

bool is_identity(const Node& node, const Graph& graph, const std::vector<bool>& read) {
  const NodeView view(node);
  if (!view.has_input(0) || !view.has_output(0)) return false;
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != no_value && read[static_cast<std::size_t>(node.outputs[i])]) {
      return false;
    }
  }
  const Candidate candidate{view, graph};
  if (node.op->traits.view && keeps_type(candidate)) return true;
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule& each) {
    return each.name == node.op->name && each.domain == node.op->domain;
  });
  return rule != rules.end() && rule->holds(candidate);
}

bool run(Graph& graph, const PassContext&) {
  const auto outputs = output_flags(graph);
  const auto read = read_flags(graph);
  const auto named = named_flags(graph);  // whose derivatives are not those of their sources
  std::vector<bool> fed(graph.values.size());
  for (const ValueId input : graph.inputs) fed[static_cast<std::size_t>(input)] = true;
  Substitution substitution(graph);
  bool changed = false;
  const auto drop = [&](Node& node) {
    changed = substitution.apply(node) || changed;
    if (!is_identity(node, graph, read)) return false;
    const ValueId from = node.inputs[0];
    const ValueId to = node.outputs[0];
    if (named[static_cast<std::size_t>(to)]) return false;
    // The declared type of an input binds the caller and must not become stricter.
    if (!fed[static_cast<std::size_t>(from)] && compatible(graph[from].type, graph[to].type)) {
      graph[from].type = merge(graph[from].type, graph[to].type);
    }
    substitution.replace(to, from);
    if (outputs[static_cast<std::size_t>(to)]) return false;  // must keep its name
    changed = true;
    return true;
  };
  keep_nodes(graph, [&](Node& node, std::size_t) { return !drop(node); });
  return changed;
}

}  // namespace

const Pass remove_identities{"remove_identities", run};

}  // namespace ondine::graph
