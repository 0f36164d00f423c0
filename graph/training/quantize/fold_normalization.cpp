#include "graph/training/quantize/fold_normalization.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/parameters.h"

namespace ondine::graph {
namespace {

double epsilon_of(const NodeDef& node) {
  const Attribute* found = find(node.attributes, "epsilon");
  const auto* value = found == nullptr ? nullptr : std::get_if<float>(&found->data);
  return value == nullptr ? 1e-5 : double{*value};
}

class Folder {
 public:
  explicit Folder(GraphDef& graph) : graph_(graph) {
    for (const NodeDef& node : graph.nodes) {
      for (const std::string& name : reads_of(node)) ++readers_[name];
    }
    for (const ValueDef& output : graph.outputs) ++readers_[output.name];
    for (const ValueDef& input : graph.inputs) ++readers_[input.name];  // may be fed
    for (std::size_t i = 0; i < graph.initializers.size(); ++i) {
      index_.emplace(graph.initializers[i].name, i);
    }
    for (NodeDef& node : graph.nodes) {
      if (is_standard(node, "Conv")) convolutions_[node.outputs[0]] = &node;
    }
  }

  void run() {
    for (const NodeDef& node : graph_.nodes) {
      if (is_standard(node, "BatchNormalization")) fold(node);
    }
    std::erase_if(graph_.nodes, [&](const NodeDef& node) {
      return node.op == "BatchNormalization" && folded_.contains(node.outputs[0]);
    });
  }

 private:
  InitializerDef* own(const std::string& name) {
    if (readers_[name] != 1) return nullptr;
    return shared(name);
  }
  InitializerDef* shared(const std::string& name) {
    const auto found = index_.find(name);
    if (found == index_.end()) return nullptr;
    InitializerDef& one = graph_.initializers[found->second];
    return one.value.dtype() == DType::float32 ? &one : nullptr;
  }

  void fold(const NodeDef& node) {
    const auto found = convolutions_.find(node.inputs[0]);
    const bool alone = found != convolutions_.end() && readers_[node.inputs[0]] == 1;
    if (!alone || node.inputs.size() != 5 || node.outputs.size() != 1) return;
    NodeDef& conv = *found->second;
    InitializerDef* weight = own(conv.inputs[1]);
    const bool has_bias = conv.inputs.size() > 2 && !conv.inputs[2].empty();
    InitializerDef* bias = has_bias ? own(conv.inputs[2]) : nullptr;
    if (weight == nullptr || (has_bias && bias == nullptr)) return;
    std::vector<Tensor> parameters;
    for (std::size_t i = 1; i < 5; ++i) {
      const InitializerDef* one = shared(node.inputs[i]);
      if (one == nullptr || one->value.size() != weight->value.shape()[0]) return;
      parameters.push_back(one->value);
    }
    const auto channels = static_cast<std::size_t>(weight->value.shape()[0]);
    Tensor new_weight = weight->value.clone();
    Tensor new_bias(DType::float32, Shape{weight->value.shape()[0]});
    const auto elements = new_weight.mutable_values<float>();
    const std::size_t inner = channels == 0 ? 0 : elements.size() / channels;
    for (std::size_t c = 0; c < channels; ++c) {
      const auto parameter = [&](std::size_t i) {
        return double{parameters[i].values<float>()[c]};
      };
      const double factor = parameter(0) / std::sqrt(parameter(3) + epsilon_of(node));
      for (std::size_t i = 0; i < inner; ++i) {
        elements[c * inner + i] = static_cast<float>(double{elements[c * inner + i]} * factor);
      }
      const double before = bias != nullptr ? double{bias->value.values<float>()[c]} : 0;
      new_bias.mutable_values<float>()[c] =
          static_cast<float>((before - parameter(2)) * factor + parameter(1));
    }
    weight->value = std::move(new_weight);
    if (bias != nullptr) {
      bias->value = std::move(new_bias);
    } else {
      // The shift of the normalization becomes the bias, under its name where nothing else reads
      // it.
      conv.inputs.resize(3);
      conv.inputs[2] = node.inputs[2];
      InitializerDef* shift = own(node.inputs[2]);
      if (shift == nullptr) {
        conv.inputs[2] = node.outputs[0] + ".bias";
        while (readers_.contains(conv.inputs[2]) || shared(conv.inputs[2]) != nullptr) {
          conv.inputs[2] += "_";
        }
        index_.emplace(conv.inputs[2], graph_.initializers.size());
        graph_.initializers.push_back({conv.inputs[2], std::move(new_bias), {}, {}});
      } else {
        shift->value = std::move(new_bias);
      }
    }
    folded_.insert(node.outputs[0]);
    conv.outputs[0] = node.outputs[0];
  }

  GraphDef& graph_;
  std::map<std::string, int> readers_;
  std::map<std::string, std::size_t> index_;  // of initializers
  std::map<std::string, NodeDef*> convolutions_;
  std::set<std::string> folded_;
};

// Drops initializers that only the removed nodes read.
void remove_unread(GraphDef& graph, const std::set<std::string>& read_before) {
  const std::set<std::string> read = reads_of(graph);
  std::erase_if(graph.initializers, [&](const InitializerDef& one) {
    return read_before.contains(one.name) && !read.contains(one.name);
  });
}

}  // namespace

void fold_normalization_into_convolutions(GraphDef& graph) {
  const std::set<std::string> read_before = reads_of(graph);
  Folder(graph).run();
  remove_unread(graph, read_before);
}

}  // namespace ondine::graph
