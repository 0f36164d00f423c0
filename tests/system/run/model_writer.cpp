#include "tests/system/run/model_writer.h"

#include <algorithm>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"

namespace ondine::test {

using namespace graph;  // NOLINT

namespace {

constexpr const char* training_domain = "ai.onnx.preview.training";

std::vector<DimDef> dims_of(const Tensor& tensor) {
  return {tensor.shape().begin(), tensor.shape().end()};
}

}  // namespace

ModelWriter::ModelWriter() {
  model_.ir_version = 9;
  model_.opsets = {{"", 18}, {training_domain, 1}};
  model_.graph.name = "main";
}

std::string ModelWriter::weight(const std::string& name, const Shape& shape, float scale) {
  const std::uint64_t seed = 100 + model_.graph.initializers.size();
  model_.graph.initializers.push_back({name, random_floats(shape, seed, -scale, scale), "", {}});
  return name;
}

std::string ModelWriter::constant(GraphDef& graph, const std::string& name, Tensor value) {
  graph.initializers.push_back({name, std::move(value), "", {}});
  return name;
}

std::string ModelWriter::op(GraphDef& graph, const std::string& type,
                            std::vector<std::string> inputs, Attributes attributes,
                            std::string output) {
  if (output.empty()) output = type + std::to_string(++names_);
  graph.nodes.push_back(node(type, std::move(inputs), {output}, std::move(attributes)));
  return output;
}

void ModelWriter::adam(TrainingInfoDef& info, const std::string& loss,
                       const std::vector<std::string>& weights, float rate,
                       const std::string& prefix) {
  if (!info.algorithm) info.algorithm.emplace();
  GraphDef& step = *info.algorithm;
  if (step.name.empty()) step.name = "step";
  step.outputs.insert(step.outputs.begin(), tensor_value(loss, DType::float32, {}));
  std::vector<std::string> gradients;
  for (const auto& name : weights) gradients.push_back(prefix + "d_" + name);
  step.nodes.push_back(
      node("Gradient", weights, gradients, {{"xs", weights}, {"y", loss}}, training_domain));
  const std::string count = constant(step, prefix + "count", Tensor::scalar(std::int64_t{0}));
  const std::string one = constant(step, prefix + "one", Tensor::scalar(std::int64_t{1}));
  op(step, "Add", {count, one}, {}, count + "_new");
  step.outputs.push_back(tensor_value(count + "_new", DType::int64, {}));
  info.update_binding.emplace_back(count, count + "_new");
  std::vector<std::string> inputs{constant(step, prefix + "rate", Tensor::scalar(rate)), count};
  std::vector<std::string> outputs;
  for (const std::string part : {"", "d_", "v_", "h_"}) {
    for (const std::string& name : weights) {
      const std::string full = part.empty() ? name : prefix + part + name;
      inputs.push_back(full);
      if (part == "d_") continue;
      const auto like =
          std::find_if(model_.graph.initializers.begin(), model_.graph.initializers.end(),
                       [&](const InitializerDef& init) { return init.name == name; });
      if (!part.empty()) constant(step, full, Tensor(DType::float32, like->value.shape()));
      outputs.push_back(prefix + part + name + "_new");
      step.outputs.push_back(tensor_value(outputs.back(), DType::float32, dims_of(like->value)));
      info.update_binding.emplace_back(full, outputs.back());
    }
  }
  step.nodes.push_back(node("Adam", inputs, outputs, {}, training_domain));
}

}  // namespace ondine::test
