#include "tests/graph/training/exported_network.h"

#include <algorithm>

#include "core/message.h"
#include "tests/graph/training/small_network.h"

using namespace ondine::graph;

namespace ondine::test {

void add_parameter(ModelDef& model, const std::string& name, const Shape& shape, float fill) {
  weight(model, name, shape);
  Tensor& tensor = model.graph.initializers.back().value;
  std::fill_n(tensor.mutable_values<float>().begin(), tensor.size(), fill);
  ValueDef& said = model.graph.value_infos.emplace_back();
  said.name = name;
  said.metadata = {{"pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"}};
}

void add_folded(ModelDef& model, const std::string& name, const Shape& shape, float fill,
                const std::string& sources) {
  add_parameter(model, name, shape, fill);
  model.graph.value_infos.back().metadata = {{"pkg.onnxscript.optimizer.folded_from", sources}};
}

void list(ModelDef& model, const std::vector<std::string>& names) {
  std::string text = "\n# inputs\n";
  for (const std::string& name : names) {
    const bool is_buffer = name.find("running") != std::string::npos;
    text += cat("x_", name, is_buffer ? ": BUFFER" : ": PARAMETER", " target='", name, "'\n");
  }
  model.graph.metadata = {{"pkg.torch.export.ExportedProgram.graph_signature", text}};
}

ModelDef exported() {
  ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 20}};
  model.producer_name = "pytorch";
  model.graph.name = "network";
  model.graph.inputs = {value("x", {std::string("N"), std::int64_t{4}})};
  model.graph.outputs = {value("y", {std::string("N"), std::int64_t{4}})};
  return model;
}

void then(ModelDef& model, const std::string& op, const std::vector<std::string>& others,
          const std::string& module, bool last) {
  GraphDef& graph = model.graph;
  std::vector<std::string> inputs{graph.nodes.empty() ? "x" : graph.nodes.back().outputs[0]};
  inputs.insert(inputs.end(), others.begin(), others.end());
  graph.nodes.push_back(named_node(op, inputs, {last ? "y" : cat("v", graph.nodes.size())}, {}));
  graph.nodes.back().metadata = {
      {"pkg.torch.onnx.name_scopes", cat("['', '", module, "', 'call']")}};
  if (op == "LayerNormalization") {
    graph.nodes.back().attributes = {{"axis", std::int64_t{-1}}};
  }
}

PrepareReport prepared(ModelDef& model, bool untie) {
  PrepareOptions options;
  options.loss = Loss::mse;
  options.tie = !untie;
  return prepare(model, options);
}

std::string text_of(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

}  // namespace ondine::test
