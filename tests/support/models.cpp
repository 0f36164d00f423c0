#include "tests/support/models.h"

#include "proto/export.h"
#include "tests/support/random_tensor.h"

namespace ondine::test {

using namespace graph;  // NOLINT

namespace {

constexpr const char* training_domain = "ai.onnx.preview.training";

ModelDef empty_model() {
  ModelDef model;
  model.ir_version = 9;
  model.opsets = {{"", 18}, {training_domain, 1}};
  model.graph.name = "main";
  return model;
}

}  // namespace

ValueDef tensor_value(const std::string& name, DType dtype, std::vector<DimDef> dims) {
  ValueDef value;
  value.name = name;
  value.type.kind = TypeKind::tensor;
  value.type.dtype = dtype;
  value.type.dims = std::move(dims);
  return value;
}

NodeDef node(const std::string& op, std::vector<std::string> inputs,
             std::vector<std::string> outputs, Attributes attributes, const std::string& domain) {
  NodeDef def;
  def.op = op;
  def.domain = domain;
  def.inputs = std::move(inputs);
  def.outputs = std::move(outputs);
  def.attributes = std::move(attributes);
  return def;
}

std::vector<std::byte> encode(const ModelDef& def) { return export_model(def); }

ModelDef linear_regression(float rate) {
  ModelDef model = empty_model();
  model.graph.inputs = {tensor_value("x", DType::float32, {"N", std::int64_t{2}})};
  model.graph.outputs = {tensor_value("y", DType::float32, {"N", std::int64_t{1}})};
  model.graph.initializers = {{"w", Tensor::of<float>({2, 1}, {0.5F, -1}), "", {}},
                              {"b", Tensor::of<float>({1}, {0.25F}), "", {}}};
  model.graph.nodes = {node("MatMul", {"x", "w"}, {"xw"}), node("Add", {"xw", "b"}, {"y"})};
  GraphDef step;
  step.name = "step";
  step.inputs = {tensor_value("t", DType::float32, {"N", std::int64_t{1}})};
  step.outputs = {tensor_value("loss", DType::float32, {}),
                  tensor_value("w_new", DType::float32, {std::int64_t{2}, std::int64_t{1}}),
                  tensor_value("b_new", DType::float32, {std::int64_t{1}})};
  step.initializers = {{"rate", Tensor::scalar(rate), "", {}}};
  step.nodes = {node("Sub", {"y", "t"}, {"d"}),
                node("Mul", {"d", "d"}, {"dd"}),
                node("ReduceMean", {"dd"}, {"loss"}, {{"keepdims", std::int64_t{0}}}),
                node("Gradient", {"w", "b"}, {"dw", "db"},
                     {{"xs", std::vector<std::string>{"w", "b"}}, {"y", std::string("loss")}},
                     training_domain),
                node("Mul", {"dw", "rate"}, {"dws"}),
                node("Sub", {"w", "dws"}, {"w_new"}),
                node("Mul", {"db", "rate"}, {"dbs"}),
                node("Sub", {"b", "dbs"}, {"b_new"})};
  TrainingInfoDef info;
  info.algorithm = step;
  info.update_binding = {{"w", "w_new"}, {"b", "b_new"}};
  model.training = {info};
  return model;
}

ModelDef dropout_classifier() {
  ModelDef model = empty_model();
  const auto weights = [](const Shape& shape, std::uint64_t seed) {
    return random_floats(shape, seed, -0.5F, 0.5F);
  };
  model.graph.inputs = {tensor_value("x", DType::float32, {"N", std::int64_t{8}})};
  model.graph.outputs = {tensor_value("logits", DType::float32, {"N", std::int64_t{4}})};
  const std::vector<std::string> names{"w1", "b1", "w2", "b2"};
  model.graph.initializers = {{"w1", weights({8, 16}, 1), "", {}},
                              {"b1", weights({16}, 2), "", {}},
                              {"w2", weights({16, 4}, 3), "", {}},
                              {"b2", weights({4}, 4), "", {}}};
  model.graph.nodes = {node("Gemm", {"x", "w1", "b1"}, {"h"}), node("Relu", {"h"}, {"r"}),
                       node("Gemm", {"r", "w2", "b2"}, {"logits"})};
  GraphDef step;
  step.name = "step";
  step.inputs = {tensor_value("label", DType::int64, {"N"})};
  step.outputs = {tensor_value("loss", DType::float32, {})};
  step.initializers = {{"rate", Tensor::scalar(0.01F), "", {}},
                       {"count", Tensor::scalar(std::int64_t{0}), "", {}},
                       {"one", Tensor::scalar(std::int64_t{1}), "", {}},
                       {"ratio", Tensor::scalar(0.25F), "", {}},
                       {"yes", Tensor::scalar(true), "", {}}};
  step.nodes = {node("Dropout", {"r", "ratio", "yes"}, {"rd"}),
                node("Gemm", {"rd", "w2", "b2"}, {"train_logits"}),
                node("SoftmaxCrossEntropyLoss", {"train_logits", "label"}, {"loss"}),
                node("Gradient", names, {"d_w1", "d_b1", "d_w2", "d_b2"},
                     {{"xs", names}, {"y", std::string("loss")}}, training_domain),
                node("Add", {"count", "one"}, {"count_new"})};
  step.outputs.push_back(tensor_value("count_new", DType::int64, {}));
  TrainingInfoDef info;
  info.update_binding = {{"count", "count_new"}};
  std::vector<std::string> inputs{"rate", "count"};
  std::vector<std::string> outputs;
  for (const char* part : {"", "d_", "v_", "h_"}) {
    for (const std::string& name : names) {
      const std::string full = part + name;
      inputs.push_back(full);
      if (full.starts_with("d_")) continue;
      const Tensor& like =
          model.graph.initializers[static_cast<std::size_t>(&name - names.data())].value;
      if (!std::string(part).empty()) {
        step.initializers.push_back({full, Tensor(DType::float32, like.shape()), "", {}});
      }
      outputs.push_back(full + "_new");
      std::vector<DimDef> dims(like.shape().begin(), like.shape().end());
      step.outputs.push_back(tensor_value(full + "_new", DType::float32, dims));
      info.update_binding.emplace_back(full, full + "_new");
    }
  }
  step.nodes.push_back(node("Adam", inputs, outputs, {}, training_domain));
  info.algorithm = step;
  model.training = {info};
  return model;
}

}  // namespace ondine::test
