#include "kernels/conv/operators/normalized_conv.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/norm/batch_normalization.h"

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

void infer_normalized_conv(InferContext& context) {
  require_same_dtype(context, {0, 5});
  infer_batch_statistics(context);
  context.set_output(0, context.dtype(0),
                     conv_dims(context, dims_if_ranked(context, 0), dims_if_ranked(context, 5)));
}

std::vector<Val> expand_normalized_conv(ExpandContext& context) {
  Builder& b = context.builder();
  std::vector<Val> inputs;
  for (std::size_t i = 0; i < 5; ++i) inputs.push_back(context.x(i));
  std::vector<Val> results = b.nodes("BatchNormalizationActivation", inputs,
                                     normalization_attributes(context), 5, ondine_domain);
  results[0] = b.node("Conv", {results[0], context.x(5)}, convolution_attributes(context));
  return results;
}

}  // namespace ondine::kernels::ops
