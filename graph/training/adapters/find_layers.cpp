#include "graph/training/adapters/find_layers.h"

#include <algorithm>
#include <utility>

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/origin.h"

namespace ondine::graph {
namespace {

double number(const NodeDef& node, std::string_view name, double otherwise) {
  const Attribute* attribute = find(node.attributes, name);
  if (attribute == nullptr) return otherwise;
  if (const auto* one = std::get_if<float>(&attribute->data)) return static_cast<double>(*one);
  const auto* one = std::get_if<std::int64_t>(&attribute->data);
  return one == nullptr ? otherwise : static_cast<double>(*one);
}

std::string third_input(const NodeDef& node) {
  return node.inputs.size() > 2 ? node.inputs[2] : std::string();
}

bool passes_on(const NodeDef& node) {
  return is_standard(node, "Add") || is_standard(node, "Identity") || is_standard(node, "Cast") ||
         is_standard(node, "Softmax");
}

}  // namespace

LayerFinder::LayerFinder(const GraphDef& graph, const ValueTypes& types,
                         std::span<const std::string> of)
    : graph_(&graph),
      initializers_(graph),
      modules_(graph),
      types_(known_types(graph, types)),
      leading_(of.begin(), of.end()) {
  for (const InitializerDef& one : graph.initializers) constants_.insert(one.name);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeDef& node = graph.nodes[i];
    for (const std::string& name : reads_of(node)) readers_[name].push_back(i);
    bool is_known = !node.inputs.empty() && subgraphs_of(node).empty();
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      is_known = is_known && (node.inputs[k].empty() || is_constant(node, k));
    }
    if (!is_known) continue;
    constants_.insert(node.outputs.begin(), node.outputs.end());
    if (is_standard(node, "Transpose")) turned_from_.emplace(node.outputs[0], node.inputs[0]);
  }
  for (const ValueDef& one : graph.outputs) {
    results_.insert(one.name);
    readers_[one.name].push_back(graph.nodes.size());
  }
  for (auto node = graph.nodes.rbegin(); !of.empty() && node != graph.nodes.rend(); ++node) {
    const bool leads = std::any_of(node->outputs.begin(), node->outputs.end(),
                                   [&](const auto& name) { return leading_.contains(name); });
    if (!leads) continue;
    for (std::string& name : reads_of(*node)) leading_.insert(std::move(name));
  }
  // A term that is added to a layer's result does not make the layer an inner one.
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!passes_on(*node) || node->outputs.empty() || !results_.contains(node->outputs[0])) {
      continue;
    }
    results_.insert(node->inputs.begin(), node->inputs.end());
  }
}

bool LayerFinder::is_constant(const NodeDef& node, std::size_t input) const {
  return input < node.inputs.size() && constants_.contains(node.inputs[input]);
}

std::optional<AdapterLayer> LayerFinder::find(const NodeDef& node) const {
  AdapterLayer layer;
  const bool is_layer = find_product(node, layer) || find_blocks(node, layer) ||
                        find_convolution(node, layer) || find_table(node, layer);
  if (!is_layer || node.outputs.empty() || layer.in <= 0 || layer.out <= 0) return {};
  if (!leading_.empty() && !leading_.contains(node.outputs[0])) return {};
  layer.is_last = results_.contains(node.outputs[0]);
  layer.module = module_of_layer(node, layer.weight);
  return layer;
}

bool LayerFinder::find_product(const NodeDef& node, AdapterLayer& layer) const {
  const bool is_gemm = is_standard(node, "Gemm");
  if (!is_gemm && !is_standard(node, "MatMul")) return false;
  if (!is_constant(node, 1) || is_constant(node, 0) || number(node, "transA", 0) != 0) return false;
  if (!set_type(node.inputs[1], layer) || layer.shape.rank() != 2) return false;
  layer.in = layer.shape[0];
  layer.out = layer.shape[1];
  layer.transposed = is_gemm && number(node, "transB", 0) != 0;
  if (layer.transposed) std::swap(layer.in, layer.out);
  layer.channels = layer.in;
  if (!is_gemm) return true;
  layer.factor = number(node, "alpha", 1);
  layer.bias = third_input(node);
  layer.bias_factor = number(node, "beta", 1);
  return true;
}

bool LayerFinder::find_blocks(const NodeDef& node, AdapterLayer& layer) const {
  if (node.domain != "com.microsoft" || node.op != "MatMulNBits") return false;
  if (!is_constant(node, 1) || !is_constant(node, 2) || is_constant(node, 0)) return false;
  if (!set_type(node.inputs[2], layer)) return false;
  layer.weight = node.inputs[1];
  layer.shape = {};
  layer.in = layer.channels = integer_attribute(node, "K", 0);
  layer.out = integer_attribute(node, "N", 0);
  return true;
}

bool LayerFinder::find_convolution(const NodeDef& node, AdapterLayer& layer) const {
  if (!is_standard(node, "Conv") || !is_constant(node, 1) || is_constant(node, 0)) return false;
  if (integer_attribute(node, "group", 1) != 1) return false;
  if (!set_type(node.inputs[1], layer) || layer.shape.rank() < 3) return false;
  layer.form = LayerForm::convolution;
  layer.out = layer.shape[0];
  layer.channels = layer.shape[1];
  layer.in = layer.out > 0 ? layer.shape.size() / layer.out : 0;
  layer.transposed = true;
  layer.bias = third_input(node);
  return true;
}

bool LayerFinder::find_table(const NodeDef& node, AdapterLayer& layer) const {
  if (!is_standard(node, "Gather") || !is_constant(node, 0) || is_constant(node, 1)) return false;
  const std::int64_t axis = integer_attribute(node, "axis", 0);
  if (!set_type(node.inputs[0], layer) || layer.shape.rank() != 2) return false;
  if (axis != 0 && axis != -2) return false;
  layer.form = LayerForm::embedding;
  layer.data = 1;
  layer.in = layer.channels = layer.shape[0];
  layer.out = layer.shape[1];
  return true;
}

// False for other types than floating point and unknown shapes.
bool LayerFinder::set_type(const std::string& weight, AdapterLayer& layer) const {
  layer.weight = weight;
  if (const InitializerDef* stored = initializers_.find(weight)) {
    layer.shape = stored->value.shape();
    layer.dtype = stored->value.dtype();
    return is_float(layer.dtype);
  }
  const auto type = types_.find(weight);
  if (type == types_.end() || !type->second.dims) return false;
  layer.dtype = type->second.dtype;
  std::vector<std::int64_t> dims;
  for (const DimDef& dim : *type->second.dims) {
    const auto* size = std::get_if<std::int64_t>(&dim);
    if (size == nullptr) return false;
    dims.push_back(*size);
  }
  layer.shape = Shape(dims);
  return is_float(layer.dtype);
}

// The scopes of the node, what the exporter says that it folded, the name of the weight.
std::string LayerFinder::module_of_layer(const NodeDef& node, const std::string& weight) const {
  if (std::string module = modules_.of(node); !module.empty()) return module;
  if (const InitializerDef* stored = initializers_.find(weight)) {
    const std::vector<std::string> names = folded_from(stored->metadata);
    if (names.size() == 1) return std::string(owner_of(names[0]));
  }
  if (is_generated_name(weight) || !weight.ends_with(".weight")) return weight;
  return std::string(owner_of(weight));
}

std::optional<AddedBias> LayerFinder::added_bias(const NodeDef& node,
                                                 const AdapterLayer& layer) const {
  const auto readers = readers_.find(node.outputs[0]);
  if (layer.form != LayerForm::linear || readers == readers_.end()) return {};
  if (readers->second.size() != 1 || readers->second[0] >= graph_->nodes.size()) return {};
  const std::size_t at = readers->second[0];
  const NodeDef& add = graph_->nodes[at];
  if (!is_standard(add, "Add") || modules_.of(add) != modules_.of(node)) return {};
  const std::size_t place = add.inputs[0] == node.outputs[0] ? 1 : 0;
  AdapterLayer bias;
  if (!is_constant(add, place) || !set_type(add.inputs[place], bias)) return {};
  if (bias.shape.rank() != 1 || bias.shape[0] != layer.out) return {};
  return AddedBias{at, add.inputs[place]};
}

bool LayerFinder::is_shared(const std::string& name) const {
  const auto has_several = [this](const std::string& one) {
    const auto readers = readers_.find(one);
    return readers != readers_.end() && readers->second.size() > 1;
  };
  const std::string* at = &name;
  for (auto from = turned_from_.find(name); from != turned_from_.end();
       from = turned_from_.find(*at)) {
    if (has_several(*at)) return true;
    at = &from->second;
  }
  return has_several(*at);
}

const Tensor* LayerFinder::stored(const std::string& name) const {
  const InitializerDef* found = initializers_.find(name);
  return found != nullptr && is_float(found->value.dtype()) ? &found->value : nullptr;
}

}  // namespace ondine::graph
