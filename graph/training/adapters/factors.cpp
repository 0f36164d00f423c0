// (IA)3: factors of the inputs or outputs of layers.
#include "core/filled_tensor.h"
#include "graph/training/adapters/adapter_writer.h"

namespace ondine::graph {
namespace {

// Ones along the last dim, or that of a convolution's channels.
std::string ones(const AdapterWriter& to, const AdapterLayer& layer, std::int64_t count) {
  Shape shape{count};
  if (layer.form == LayerForm::convolution) {
    shape = Shape(std::vector<std::int64_t>(layer.shape.rank() - 1, 1));
    shape[0] = count;
  }
  return to.parameter(layer.module + ".ia3_l",
                      filled_tensor(shape, layer.dtype, [](std::size_t) { return 1.0; }),
                      FilledWith{1});
}

Adapter factor_of(const AdapterLayer& layer) {
  Adapter adapter;
  adapter.kind = AdapterKind::ia3;
  adapter.form = layer.form;
  adapter.module = layer.module;
  adapter.weight = layer.weight;
  adapter.transposed = layer.transposed;
  return adapter;
}

}  // namespace

void add_output_factor(const AdapterWriter& to, const AdapterLayer& layer,
                       const std::string& bias) {
  Adapter adapter = factor_of(layer);
  adapter.bias = bias;
  adapter.factor = ones(to, layer, layer.out);
  to.move_aside(adapter);
  to.writer->node("Mul", {adapter.base, adapter.factor}, adapter.output);
  to.finish(std::move(adapter));
}

void add_input_factor(const AdapterWriter& to, const AdapterLayer& layer, NodeDef& node) {
  Adapter adapter = factor_of(layer);
  adapter.of_inputs = true;
  adapter.factor = ones(to, layer, layer.channels);
  adapter.base = node.inputs[layer.data];
  adapter.output = to.writer->node("Mul", {adapter.base, adapter.factor}, adapter.base + ".scaled");
  node.inputs[layer.data] = adapter.output;
  to.finish(std::move(adapter));
}

}  // namespace ondine::graph
