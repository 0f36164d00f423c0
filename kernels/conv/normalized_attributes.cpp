#include "kernels/conv/normalized_attributes.h"

#include <algorithm>
#include <initializer_list>

namespace ondine::kernels::ops {
namespace {

graph::Attributes only(const graph::NodeView& node, std::initializer_list<std::string_view> names) {
  graph::Attributes chosen;
  for (const auto& each : node.node().attributes) {
    if (std::find(names.begin(), names.end(), each.name) != names.end()) chosen.push_back(each);
  }
  return chosen;
}

}  // namespace

graph::Attributes convolution_attributes(const graph::NodeView& node) {
  return only(node, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
}

graph::Attributes normalization_attributes(const graph::NodeView& node) {
  return only(
      node, {"epsilon", "momentum", "training_mode", "relu", "low", "high", "activation", "alpha"});
}

}  // namespace ondine::kernels::ops
