#include "graph/training/adapters/attach.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/message.h"
#include "graph/contract/opsets.h"
#include "graph/training/adapters/record.h"
#include "graph/training/prepare/draw_weight.h"
#include "graph/training/prepare/initializers.h"
#include "graph/training/prepare/modules.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/origin.h"
#include "graph/training/prepare/parameters.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {
namespace {

constexpr std::string_view all_linear = "all-linear";
constexpr std::int64_t most_rank = 1 << 16;

void check(const Lora& lora) {
  if (lora.rank < 1 || lora.rank > most_rank) {
    fail(ErrorCode::mismatch, "the rank of adapters is ", lora.rank, ", needed: 1 to ", most_rank);
  }
  if (!(lora.alpha > 0 && std::isfinite(lora.alpha))) {
    fail(ErrorCode::mismatch, "the alpha of adapters is ", static_cast<double>(lora.alpha),
         ", needed: a positive number");
  }
  if (!(lora.dropout >= 0 && lora.dropout < 1)) {
    fail(ErrorCode::mismatch, "the dropout of adapters is ", static_cast<double>(lora.dropout),
         ", needed: a number from 0 to below 1");
  }
}

double number(const NodeDef& node, std::string_view name, double otherwise) {
  const Attribute* attribute = find(node.attributes, name);
  if (attribute == nullptr) return otherwise;
  if (const auto* one = std::get_if<float>(&attribute->data)) return static_cast<double>(*one);
  const auto* one = std::get_if<std::int64_t>(&attribute->data);
  return one == nullptr ? otherwise : static_cast<double>(*one);
}

// A linear layer that can have an adapter.
struct Layer {
  std::string module;
  std::string weight;
  std::int64_t in = 0;
  std::int64_t out = 0;
  DType dtype = DType::float32;
  double factor = 1;  // of the product
  bool transposed = false;
  bool is_last = false;  // an output of the model is its result, but for what is added
};

class LayerFinder {
 public:
  LayerFinder(const GraphDef& graph, const ValueTypes& types)
      : initializers_(graph), modules_(graph), types_(known_types(graph, types)) {
    for (const InitializerDef& one : graph.initializers) constants_.insert(one.name);
    for (const NodeDef& node : graph.nodes) {
      for (const std::string& name : reads_of(node)) ++readers_[name];
      const bool is_constant = std::all_of(
          node.inputs.begin(), node.inputs.end(),
          [&](const std::string& name) { return name.empty() || constants_.contains(name); });
      if (!is_constant || !subgraphs_of(node).empty() || node.inputs.empty()) continue;
      constants_.insert(node.outputs.begin(), node.outputs.end());
      if (is_standard(node, "Transpose")) turned_from_.emplace(node.outputs[0], node.inputs[0]);
    }
    for (const ValueDef& one : graph.outputs) results_.insert(one.name);
    // What is added to a layer's result does not make it an inner one.
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
      const bool passes = is_standard(*node, "Add") || is_standard(*node, "Identity") ||
                          is_standard(*node, "Cast") || is_standard(*node, "Softmax");
      if (!passes || node->outputs.empty() || !results_.contains(node->outputs[0])) continue;
      results_.insert(node->inputs.begin(), node->inputs.end());
    }
  }

  std::optional<Layer> find(const NodeDef& node) const {
    const bool is_gemm = is_standard(node, "Gemm");
    if (!is_gemm && !is_standard(node, "MatMul")) return {};
    if (node.inputs.size() < 2 || !constants_.contains(node.inputs[1])) return {};
    if (constants_.contains(node.inputs[0]) || number(node, "transA", 0) != 0) return {};
    Layer layer;
    layer.weight = node.inputs[1];
    if (!set_dims(layer)) return {};
    layer.transposed = is_gemm && number(node, "transB", 0) != 0;
    if (layer.transposed) std::swap(layer.in, layer.out);
    if (is_gemm) layer.factor = number(node, "alpha", 1);
    layer.is_last = results_.contains(node.outputs[0]);
    layer.module = module_of_layer(node);
    return layer;
  }

  // Whether several nodes read it, or the table whose transposition it is, as that of an embedding
  // which is the head as well.
  bool is_shared(const std::string& weight) const {
    const std::string* name = &weight;
    for (auto from = turned_from_.find(*name); from != turned_from_.end();
         from = turned_from_.find(*name)) {
      if (readers_.at(*name) > 1) return true;
      name = &from->second;
    }
    return readers_.at(*name) > 1;
  }

 private:
  bool set_dims(Layer& layer) const {
    if (const InitializerDef* stored = initializers_.find(layer.weight)) {
      const Shape& shape = stored->value.shape();
      layer.dtype = stored->value.dtype();
      if (shape.rank() != 2) return false;
      layer.in = shape[0];
      layer.out = shape[1];
    } else {
      const auto type = types_.find(layer.weight);
      if (type == types_.end() || !type->second.dims || type->second.dims->size() != 2)
        return false;
      layer.dtype = type->second.dtype;
      for (auto [dim, to] : {std::pair(0, &layer.in), std::pair(1, &layer.out)}) {
        const auto* size =
            std::get_if<std::int64_t>(&(*type->second.dims)[static_cast<std::size_t>(dim)]);
        if (size == nullptr) return false;
        *to = *size;
      }
    }
    return is_float(layer.dtype) && layer.in > 0 && layer.out > 0;
  }

  // The scopes of the node, what the exporter says that it folded, the name of the weight.
  std::string module_of_layer(const NodeDef& node) const {
    if (const std::string module = modules_.of(node); !module.empty()) return module;
    const std::string& weight = node.inputs[1];
    if (const InitializerDef* stored = initializers_.find(weight)) {
      const std::vector<std::string> names = folded_from(stored->metadata);
      if (names.size() == 1) return std::string(owner_of(names[0]));
    }
    if (is_generated_name(weight) || !weight.ends_with(".weight")) return weight;
    return std::string(owner_of(weight));
  }

  InitializerIndex initializers_;
  Modules modules_;
  ValueTypes types_;
  std::unordered_set<std::string> constants_;
  std::unordered_map<std::string, std::string> turned_from_;
  std::unordered_set<std::string> results_;
  std::unordered_map<std::string, int> readers_;
};

class Attacher {
 public:
  Attacher(ModelDef& model, const Lora& lora, const ValueTypes& types)
      : model_(&model),
        lora_(&lora),
        names_(model),
        finder_(model.graph, types),
        writer_(model.graph, names_, Opsets(model.opsets).version("").value_or(0)),
        matched_(lora.targets.size()) {}

  AttachedAdapters attach() {
    // All layers are found before the first adapter is added: the finder points to initializers,
    // which move when the graph grows.
    std::vector<std::optional<Layer>> chosen;
    for (const NodeDef& node : model_->graph.nodes) {
      std::optional<Layer> layer = finder_.find(node);
      if (layer && !is_chosen(*layer)) layer.reset();
      chosen.push_back(std::move(layer));
    }
    require_all_matched();
    std::vector<NodeDef> nodes = std::move(model_->graph.nodes);
    model_->graph.nodes.clear();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      model_->graph.nodes.push_back(std::move(nodes[i]));
      if (chosen[i]) add(*chosen[i]);
    }
    write_adapters(model_->metadata, record_);
    if (!attached_.trained.empty()) return std::move(attached_);
    fail(ErrorCode::mismatch,
         "the model has no linear layer for adapters: no MatMul or Gemm of a constant matrix",
         "; name layers by targets (--lora-targets)");
  }

 private:
  bool is_chosen(const Layer& layer) {
    const bool is_inner = !layer.is_last && !finder_.is_shared(layer.weight);
    if (lora_->targets.empty()) return is_inner;
    bool chosen = false;
    for (std::size_t i = 0; i < lora_->targets.size(); ++i) {
      const std::string& pattern = lora_->targets[i];
      if (pattern == all_linear) {
        chosen |= is_inner;
        matched_[i] = true;
        continue;
      }
      const bool matches = matches_glob(pattern, layer.weight) ||
                           matches_glob(pattern, layer.module) ||
                           matches_glob("*." + pattern, layer.module);
      if (!matches) continue;
      chosen = matched_[i] = true;
    }
    if (chosen && finder_.is_shared(layer.weight)) {
      fail(ErrorCode::mismatch, "several nodes read the weight ", quoted(layer.weight),
           ", which an adapter beside one of them would change for all");
    }
    return chosen;
  }

  void require_all_matched() const {
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      if (matched_[i]) continue;
      fail(ErrorCode::mismatch, "the target ", quoted(lora_->targets[i]),
           " of adapters (--lora-targets) matches no linear layer; there are: ", all_layers());
    }
  }

  std::string all_layers() const {
    constexpr std::size_t most = 20;
    std::vector<std::string> found;
    for (const NodeDef& node : model_->graph.nodes) {
      const std::optional<Layer> layer = finder_.find(node);
      if (layer) found.push_back(quoted(layer->module));
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(most, found.size()); ++i) {
      text += (i == 0 ? "" : ", ") + found[i];
    }
    return found.size() > most ? text + ", ..." : found.empty() ? "none" : text;
  }

  // The node is the last one of the graph.
  void add(const Layer& layer) {
    NodeDef& base = model_->graph.nodes.back();
    const std::string y = base.outputs[0];
    const std::string x = base.inputs[0];
    const std::string product = names_.fresh(y + ".base");
    base.outputs[0] = product;
    Adapter adapter;
    adapter.module = layer.module;
    adapter.weight = layer.weight;
    adapter.transposed = layer.transposed;
    adapter.scale = scale();
    adapter.merged_scale = adapter.scale / layer.factor;
    const RandomKey key{.stream = static_cast<std::uint32_t>(record_.layers.size())};
    adapter.a = writer_.initializer(
        layer.module + ".lora_A", draw_weight({layer.in, lora_->rank}, layer.dtype, layer.in, key));
    adapter.b = writer_.initializer(layer.module + ".lora_B",
                                    Tensor(layer.dtype, {lora_->rank, layer.out}));
    const std::string inner =
        writer_.node("MatMul", {dropped(x), adapter.a}, layer.module + ".lora");
    const std::string outer = writer_.node("MatMul", {inner, adapter.b}, layer.module + ".lora");
    const std::string scaled =
        writer_.node("Mul", {outer, scale_of(layer.dtype)}, layer.module + ".lora");
    writer_.node("Add", {product, scaled}, y);
    model_->graph.nodes.back().outputs = {y};
    attached_.drawn.push_back(adapter.a);
    attached_.trained.insert(attached_.trained.end(), {adapter.a, adapter.b});
    record_.layers.push_back(std::move(adapter));
  }

  double scale() const {
    const auto rank = static_cast<double>(lora_->rank);
    return static_cast<double>(lora_->alpha) / (lora_->rank_stabilized ? std::sqrt(rank) : rank);
  }

  std::string scale_of(DType dtype) {
    std::string& name = scales_[dtype];
    if (name.empty()) name = writer_.scalar("lora.scale", scale(), dtype);
    return name;
  }

  // Layers that read one value share what is dropped of it no more than PyTorch's modules do.
  std::string dropped(const std::string& x) {
    if (lora_->dropout == 0) return x;
    if (writer_.opset() < 12) {
      return writer_.node("Dropout", {x}, x + ".dropped", {{"ratio", lora_->dropout}});
    }
    if (ratio_.empty()) {
      ratio_ = writer_.scalar("lora.dropout", static_cast<double>(lora_->dropout), DType::float32);
    }
    return writer_.node("Dropout", {x, ratio_}, x + ".dropped");
  }

  ModelDef* model_;
  const Lora* lora_;
  Names names_;
  LayerFinder finder_;
  GraphWriter writer_;
  std::vector<bool> matched_;
  std::unordered_map<DType, std::string> scales_;
  std::string ratio_;
  AttachedAdapters attached_;
  Adapters record_{lora_->rank,
                   static_cast<double>(lora_->alpha),
                   static_cast<double>(lora_->dropout),
                   lora_->rank_stabilized,
                   {}};
};

}  // namespace

AttachedAdapters attach_adapters(ModelDef& model, const Lora& lora, const ValueTypes& types) {
  check(lora);
  if (!read_adapters(model.metadata).layers.empty()) {
    fail(ErrorCode::mismatch, "the model has adapters already; an export merges them");
  }
  return Attacher(model, lora, types).attach();
}

}  // namespace ondine::graph
