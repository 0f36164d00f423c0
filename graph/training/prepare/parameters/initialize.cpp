#include "graph/training/prepare/parameters/initialize.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/filled_tensor.h"
#include "core/message.h"
#include "graph/training/prepare/inline_call.h"
#include "graph/training/prepare/value_trace.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {
namespace {

struct Fan {
  double in = 1;
  double out = 1;
};

// How many values flow into and out of each element that a weight produces.
enum class Layout {
  matrix,         // [in, out], leading dims are batches
  transposed,     // [out, in]
  convolution,    // [out, in, window...]
  deconvolution,  // [in, out, window...]
  table           // rows that are looked up
};

struct LayerInput {
  Layout layout = Layout::matrix;
  bool multiplies = true;
};

bool flag(const NodeDef& node, std::string_view name) {
  const Attribute* attribute = find(node.attributes, name);
  const auto* value = attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&attribute->data);
  return value != nullptr && *value != 0;
}

using Functions = std::span<const FunctionDef>;

// The nodes that read each value, those of subgraphs after the node that holds them, by index.
class Readers {
 public:
  explicit Readers(std::span<const NodeDef> nodes) { collect(nodes); }

  // The first reader of `name` among the nodes from `first` on; moves `first` after it.
  const NodeDef* next(std::string_view name, std::size_t& first) const {
    const auto found = readers_.find(name);
    if (found == readers_.end()) return nullptr;
    const auto reader = std::lower_bound(found->second.begin(), found->second.end(), first);
    if (reader == found->second.end()) return nullptr;
    first = *reader + 1;
    return nodes_[*reader];
  }

 private:
  void collect(std::span<const NodeDef> nodes) {
    for (const NodeDef& node : nodes) {
      for (const std::string& input : node.inputs) readers_[input].push_back(nodes_.size());
      nodes_.push_back(&node);
      for (const auto& subgraph : subgraphs_of(node)) collect(subgraph->nodes);
    }
  }

  std::vector<const NodeDef*> nodes_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> readers_;
};

// Name of input `place` of a node in its subgraph; "" if the subgraph does not see it.
std::string_view name_inside(const NodeDef& node, std::size_t place) {
  const auto bodies = subgraphs_of(node);
  if (!runs_body(node) || bodies.empty()) return {};
  const std::size_t inner = place - body_places(node, *bodies[0]).input_shift;
  return inner < bodies[0]->inputs.size() ? bodies[0]->inputs[inner].name : std::string_view();
}

bool looks_up_rows(const NodeDef& node, std::string_view name) {
  if (!node.domain.empty() || node.op != "Gather" || node.inputs[0] != name) return false;
  const Attribute* axis = find(node.attributes, "axis");
  const auto* value = axis == nullptr ? nullptr : std::get_if<std::int64_t>(&axis->data);
  return value == nullptr || *value == 0;
}

bool is_element_wise(const NodeDef& node) {
  return one_of(node.op, {"Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Where", "Max", "Min", "Sum",
                          "BatchNormalization", "LayerNormalization", "RMSNormalization", "Concat",
                          "GroupNormalization", "InstanceNormalization", "Expand"});
}

// The first node that computes with the tensor, looking through what only moves it.
LayerInput use_of(const Readers& readers, Functions functions, std::string_view name,
                  bool swapped = false) {
  bool is_table = false;
  std::size_t first = 0;
  while (const NodeDef* reader = readers.next(name, first)) {
    const NodeDef& node = *reader;
    if (node.outputs.empty()) continue;
    const auto found = std::find(node.inputs.begin(), node.inputs.end(), name);
    const auto place = static_cast<std::size_t>(found - node.inputs.begin());
    if (looks_up_rows(node, name)) {
      // A table that is also multiplied, as the words' of a language model, is drawn for that.
      is_table = true;
      continue;
    }
    if (const FunctionDef* function = called_function(functions, node)) {
      if (place >= function->inputs.size()) return {};
      return use_of(Readers(function->nodes), functions, function->inputs[place], swapped);
    }
    if (const std::string_view inside = name_inside(node, place); !inside.empty()) {
      name = inside;
      continue;
    }
    if (node.domain.empty() &&
        one_of(node.op, {"Identity", "Cast", "Transpose", "QuantizeLinear", "DequantizeLinear"})) {
      swapped = swapped != (node.op == "Transpose");
      name = node.outputs[0];
      continue;
    }
    if (!node.domain.empty()) return {};
    if (is_element_wise(node)) return {Layout::matrix, false};
    if (node.op == "Conv") return {Layout::convolution, true};
    if (node.op == "ConvTranspose") return {Layout::deconvolution, true};
    if (one_of(node.op, {"LSTM", "GRU", "RNN"})) {
      return {Layout::transposed, place < 3};  // W and R; B is a bias
    }
    if (node.op == "Gemm") {
      if (flag(node, place == 0 ? "transA" : "transB")) swapped = !swapped;
      if (place == 2) return {Layout::matrix, false};
    }
    is_table = false;
    break;
  }
  if (is_table) return {Layout::table, true};
  return {swapped ? Layout::transposed : Layout::matrix, true};
}

Fan fan_of(const Shape& shape, Layout layout) {
  const std::size_t rank = shape.rank();
  const auto dim = [&](std::size_t axis) { return static_cast<double>(shape[axis]); };
  if (layout == Layout::matrix) return {dim(rank - 2), dim(rank - 1)};
  if (layout == Layout::transposed) return {dim(rank - 1), dim(rank - 2)};
  double window = 1;
  for (std::size_t axis = 2; axis < rank; ++axis) window *= dim(axis);
  const Fan fan{dim(1) * window, dim(0) * window};
  return layout == Layout::convolution ? fan : Fan{fan.out, fan.in};
}

struct Distribution {
  bool normal = false;
  double spread = 0;  // half the width, or the standard deviation
};

// Glorot and Bengio 2010; He et al. 2015; the rows of a table stand for inputs, whose elements are
// taken to be of size 1.
Distribution distribution(WeightInit init, const Shape& shape, Layout layout) {
  if (layout == Layout::table) return {true, 1};
  const Fan fan = fan_of(shape, layout);
  const double in = std::max(fan.in, 1.0);
  const double both = std::max(fan.in + fan.out, 1.0);
  switch (init) {
    case WeightInit::xavier_uniform:
      return {false, std::sqrt(6 / both)};
    case WeightInit::xavier_normal:
      return {true, std::sqrt(2 / both)};
    case WeightInit::he_uniform:
      return {false, std::sqrt(6 / in)};
    case WeightInit::he_normal:
      return {true, std::sqrt(2 / in)};
    case WeightInit::uniform:
      return {false, 1 / std::sqrt(in)};
    case WeightInit::keep:
    case WeightInit::zeros:
    case WeightInit::automatic:
      break;
  }
  return {};
}

DType drawn_type(DType weight) { return is_low_precision(weight) ? DType::float32 : weight; }

std::string draw(GraphWriter& writer, const InitializerDef& weight, const Distribution& from) {
  const Shape& shape = weight.value.shape();
  const DType drawn = drawn_type(weight.value.dtype());
  Attributes attributes;
  attributes.emplace_back("shape", std::vector<std::int64_t>(shape.begin(), shape.end()));
  attributes.emplace_back("dtype", static_cast<std::int64_t>(drawn));
  const auto spread = static_cast<float>(from.spread);
  if (from.normal) {
    attributes.emplace_back("mean", 0.0F);
    attributes.emplace_back("scale", spread);
  } else {
    attributes.emplace_back("low", -spread);
    attributes.emplace_back("high", spread);
  }
  return writer.node(from.normal ? "RandomNormal" : "RandomUniform", {}, weight.name + ".init",
                     std::move(attributes));
}

// Every element is `value`, from ai.onnx 9 on without a tensor of them in the file.
std::string filled(GraphWriter& writer, const InitializerDef& weight, double value) {
  const Shape& shape = weight.value.shape();
  const DType dtype = drawn_type(weight.value.dtype());
  const std::string hint = weight.name + ".init";
  const auto tensor = [&](const Shape& dims) {
    return filled_tensor(dims, dtype, [&](std::size_t) { return value; });
  };
  if (writer.opset() < 9) return writer.node("Constant", {}, hint, {{"value", tensor(shape)}});
  Tensor dims(DType::int64, {static_cast<std::int64_t>(shape.rank())});
  std::copy(shape.begin(), shape.end(), dims.mutable_values<std::int64_t>().begin());
  const std::string sizes = writer.node("Constant", {}, hint, {{"value", std::move(dims)}});
  return writer.node("ConstantOfShape", {sizes}, hint, {{"value", tensor(Shape{1})}});
}

// Weights of two or more dims that multiply data, with how they do.
std::vector<std::pair<const InitializerDef*, Layout>> drawn_weights(
    const GraphDef& main, Functions functions, const std::vector<const InitializerDef*>& trained) {
  const Readers readers(main.nodes);
  std::vector<std::pair<const InitializerDef*, Layout>> result;
  for (const InitializerDef* weight : trained) {
    const Shape& shape = weight->value.shape();
    if (shape.rank() < 2 || shape.size() == 0) continue;
    const LayerInput use = use_of(readers, functions, weight->name);
    if (use.multiplies) result.emplace_back(weight, use.layout);
  }
  return result;
}

// A matrix of a type that only quantization gives weights, whose elements differ.
bool is_quantized_weight(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  const bool is_narrow = size_of(dtype) == 1 && dtype != DType::boolean;
  return is_narrow && tensor.shape().rank() >= 2 && !all_equal(tensor);
}

// The name of one in a graph, its Constant nodes and its subgraphs; "" if there is none.
std::string quantized_weight(const GraphDef& graph) {
  for (const InitializerDef& one : graph.initializers) {
    if (is_quantized_weight(one.value)) return one.name;
  }
  for (const NodeDef& node : graph.nodes) {
    for (const Attribute& attribute : node.attributes) {
      const Tensor* tensor = is_standard(node, "Constant") ? tensor_of(attribute) : nullptr;
      if (tensor != nullptr && is_quantized_weight(*tensor)) return node.outputs.at(0);
    }
    for (const auto& subgraph : subgraphs_of(node)) {
      if (std::string name = quantized_weight(*subgraph); !name.empty()) return name;
    }
  }
  return {};
}

// A tensor that training gave elements that differ; "" if there is none.
std::string trained_tensor(const ModelDef& model, const ParameterChoice& parameters,
                           const Fresh& fresh) {
  const auto is_constant = [&](const InitializerDef* one) {
    return !parameters.trains(one->name) && !parameters.excluded_names.contains(one->name);
  };
  // Weights that multiply say most.
  for (const auto& [weight, layout] :
       drawn_weights(model.graph, model.functions, parameters.trained)) {
    if (!fresh.contains(weight->name) && !all_equal(weight->value)) return weight->name;
  }
  for (const auto* list : {&parameters.trained, &parameters.frozen}) {
    for (const InitializerDef* one : *list) {
      if (fresh.contains(one->name) || is_constant(one) || all_equal(one->value)) continue;
      return one->name;
    }
  }
  return quantized_weight(model.graph);
}

}  // namespace

bool multiplies_data(const GraphDef& graph, Functions functions, const InitializerDef& weight) {
  return !drawn_weights(graph, functions, {&weight}).empty();
}

bool is_product_weight(const GraphDef& graph, Functions functions, const InitializerDef& weight) {
  const auto drawn = drawn_weights(graph, functions, {&weight});
  return !drawn.empty() && drawn[0].second != Layout::table;
}

ChosenInit choose_init(const ModelDef& model, const ParameterChoice& parameters,
                       const Fresh& fresh) {
  const std::string trained = trained_tensor(model, parameters, fresh);
  if (!trained.empty()) {
    return {WeightInit::keep,
            "the model has been trained: elements of " + quoted(trained) + " differ"};
  }
  return {WeightInit::he_uniform,
          "the model has not been trained: no weight has elements that differ"};
}

void write_initialization(GraphWriter& writer, const ModelDef& model,
                          const std::vector<const InitializerDef*>& trained, WeightInit init,
                          const Masters& masters, Properties& bindings, const Fresh& fresh) {
  const auto bind = [&](const std::string& variable, const std::string& value, DType dtype,
                        const Shape& shape) {
    writer.output(value, dtype, to_dim_defs(shape));
    bindings.emplace_back(variable, value);
  };
  const auto set = [&](const InitializerDef& weight, std::string value) {
    const Shape& shape = weight.value.shape();
    const DType dtype = weight.value.dtype();
    if (const auto master = masters.find(weight.name); master != masters.end()) {
      bind(master->second, value, drawn_type(dtype), shape);
      value = writer.cast(value, dtype, weight.name + ".init");
    }
    bind(weight.name, value, dtype, shape);
  };
  for (const auto& [weight, layout] : drawn_weights(model.graph, model.functions, trained)) {
    const auto rule = fresh.find(weight->name);
    if (rule != fresh.end() && !std::holds_alternative<DrawnByUse>(rule->second)) continue;
    const bool is_kept = init == WeightInit::keep;
    if (is_kept && rule == fresh.end()) continue;
    const Shape& shape = weight->value.shape();
    if (init == WeightInit::zeros) {
      set(*weight, filled(writer, *weight, 0));
    } else {
      const WeightInit from = is_kept ? WeightInit::uniform : init;
      set(*weight, draw(writer, *weight, distribution(from, shape, layout)));
    }
  }
  for (const InitializerDef* weight : trained) {
    const auto rule = fresh.find(weight->name);
    if (rule == fresh.end()) continue;
    if (const auto* normal = std::get_if<DrawnNormal>(&rule->second)) {
      set(*weight, draw(writer, *weight, {true, normal->deviation}));
    } else if (const auto* fill = std::get_if<FilledWith>(&rule->second)) {
      set(*weight, filled(writer, *weight, fill->value));
    } else if (const auto* value = std::get_if<Tensor>(&rule->second)) {
      set(*weight, writer.node("Constant", {}, weight->name + ".init", {{"value", *value}}));
    }
  }
}

}  // namespace ondine::graph
