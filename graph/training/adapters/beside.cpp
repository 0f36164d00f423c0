#include "graph/training/adapters/beside.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/message.h"
#include "core/scalar.h"
#include "graph/contract/opsets.h"
#include "graph/training/adapters/find_layers.h"
#include "graph/training/adapters/low_rank_nodes.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {
namespace {

// A layer and what an adapter has for it.
struct Match {
  AdapterLayer layer;
  const BesideAdapter* adapter = nullptr;
  const BesideLayer* matrices = nullptr;
};
using Matches = std::multimap<std::size_t, Match>;  // by the number of the node

bool has_form(const BesideLayer& matrices, const AdapterLayer& layer) {
  return (matrices.form == LayerForm::embedding) == (layer.form == LayerForm::embedding);
}

void require_fit(const Match& match) {
  const AdapterLayer& layer = match.layer;
  const Shape& a = match.matrices->a.shape();
  const Shape& b = match.matrices->b.shape();
  Shape wanted_a{layer.in, b.rank() == 0 ? 0 : b[0]};
  Shape wanted_b{b.rank() == 0 ? 0 : b[0], layer.out};
  if (layer.form == LayerForm::convolution) {
    wanted_a = layer.shape;
    wanted_a[0] = a.rank() == 0 ? 0 : a[0];
    wanted_b = Shape(std::vector<std::int64_t>(layer.shape.rank(), 1));
    wanted_b[0] = layer.out;
    wanted_b[1] = wanted_a[0];
  }
  const bool has_type =
      match.matrices->a.dtype() == layer.dtype && match.matrices->b.dtype() == layer.dtype;
  if (has_type && a == wanted_a && b == wanted_b) return;
  fail(ErrorCode::mismatch, "the adapter ", quoted(match.adapter->name), " has ",
       match.matrices->a.dtype(), a, " and ", match.matrices->b.dtype(), b, " for the layer ",
       quoted(layer.module), ", needed: ", layer.dtype, wanted_a, " and ", wanted_b);
}

// The layers whose module is that of the matrices; several where a module runs several times.
void find_layers(const GraphDef& graph, const LayerFinder& finder, const BesideAdapter& adapter,
                 const BesideLayer& matrices, Matches& matches) {
  std::optional<std::string> module;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    std::optional<AdapterLayer> layer = finder.find(graph.nodes[i]);
    if (!layer || !has_form(matrices, *layer) || !same_module(layer->module, matrices.module)) {
      continue;
    }
    if (module && *module != layer->module) {
      fail(ErrorCode::mismatch, "the module ", quoted(matrices.module), " of the adapter ",
           quoted(adapter.name), " may be ", quoted(*module), " or ", quoted(layer->module));
    }
    module = layer->module;
    const Match match{std::move(*layer), &adapter, &matrices};
    require_fit(match);
    matches.emplace(i, match);
  }
  if (module) return;
  fail(ErrorCode::mismatch, "the model has no layer for the module ", quoted(matrices.module),
       " of the adapter ", quoted(adapter.name));
}

class Writer {
 public:
  Writer(ModelDef& model, std::span<const BesideAdapter> adapters)
      : graph_(&model.graph),
        names_(model),
        writer_(model.graph, names_, Opsets(model.opsets).version("").value_or(0)) {
    for (const BesideAdapter& one : adapters) {
      if (names_.contains(one.name)) {
        fail(ErrorCode::mismatch, "the model has a value ", quoted(one.name),
             ", or two adapters have one name");
      }
      writer_.initializer(one.name, scalar_tensor(one.weight, DType::float32));
      ValueDef input;
      input.name = one.name;
      input.type = tensor_type(DType::float32, std::vector<DimDef>{});
      graph_->inputs.push_back(std::move(input));
    }
  }

  void write(const Matches& matches) {
    std::vector<NodeDef> nodes = std::move(graph_->nodes);
    graph_->nodes.clear();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto [first, last] = matches.equal_range(i);
      // Their inputs are there before the first layer.
      for (auto one = first; one != last; ++one) factor(one->second);
      graph_->nodes.push_back(std::move(nodes[i]));
      for (auto one = first; one != last; ++one) add(one->second);
    }
  }

 private:
  // Input times scale, in the type of the layer.
  const std::string& factor(const Match& match) {
    std::string& name = factors_[{match.adapter, match.layer.dtype}];
    if (!name.empty()) return name;
    const std::string hint = match.adapter->name + ".factor";
    const std::string scale = writer_.scalar(hint, match.adapter->scale, DType::float32);
    name = writer_.node("Mul", {match.adapter->name, scale}, hint);
    if (match.layer.dtype != DType::float32) name = writer_.cast(name, match.layer.dtype, hint);
    return name;
  }

  void add(const Match& match) {
    const AdapterLayer& layer = match.layer;
    const std::string hint = layer.module + "." + match.adapter->name;
    const std::string a = writer_.initializer(hint + ".a", match.matrices->a);
    const std::string b = writer_.initializer(hint + ".b", match.matrices->b);
    // The last node, which is the layer's or the sum with an earlier adapter, gives `base` now.
    NodeDef& last = graph_->nodes.back();
    const std::string output = last.outputs[0];
    const std::string base = names_.fresh(output + ".base");
    last.outputs[0] = base;
    const NodeDef& node = bases_.try_emplace(output, last).first->second;
    const std::string product =
        low_rank_nodes(writer_, layer.form, node, node.inputs[layer.data], a, b, hint);
    const std::string scaled = writer_.node("Mul", {product, factor(match)}, hint);
    writer_.node("Add", {base, scaled}, hint);
    graph_->nodes.back().outputs = {output};
  }

  GraphDef* graph_;
  Names names_;
  GraphWriter writer_;
  std::map<std::pair<const BesideAdapter*, DType>, std::string> factors_;
  std::map<std::string, NodeDef> bases_;  // the layers' nodes, by what they gave
};

}  // namespace

bool same_module(const std::string& one, const std::string& other) {
  const std::string& longer = one.size() < other.size() ? other : one;
  const std::string& shorter = one.size() < other.size() ? one : other;
  return longer == shorter || longer.ends_with("." + shorter);
}

void add_beside(ModelDef& model, std::span<const BesideAdapter> adapters, const ValueTypes& types) {
  const GraphDef before = model.graph;
  const LayerFinder finder(before, types);
  Matches matches;
  for (const BesideAdapter& adapter : adapters) {
    for (const BesideLayer& one : adapter.layers) {
      find_layers(before, finder, adapter, one, matches);
    }
  }
  Writer(model, adapters).write(matches);
}

}  // namespace ondine::graph
