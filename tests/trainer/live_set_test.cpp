// Values that a training step of a small CNN keeps from the forward part for the backward part.
#include <algorithm>
#include <map>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "graph/contract/op_def.h"
#include "tests/support/models.h"
#include "tests/support/op_harness.h"
#include "trainer/model/assemble.h"
#include "trainer/plan/plan.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

constexpr std::int64_t batch = 5;

InitializerDef floats(const std::string& name, const Shape& shape) {
  return {name, random_floats(shape, name.size(), -0.5F, 0.5F), "", {}};
}

// Conv -> BatchNormalization -> Relu -> Dropout -> MaxPool -> Gemm -> loss, all in the algorithm
// graph but for the weights. Images of 8 x 8, four channels, ten classes.
ModelDef small_cnn() {
  ModelDef model;
  model.ir_version = 9;
  model.opsets = {{"", 18}, {"ai.onnx.preview.training", 1}};
  model.graph.name = "main";
  model.graph.inputs = {tensor_value("image", DType::float32,
                                     {"N", std::int64_t{1}, std::int64_t{8}, std::int64_t{8}})};
  model.graph.initializers = {floats("w", {4, 1, 3, 3}), floats("scale", {4}), floats("shift", {4}),
                              floats("v", {64, 10}), floats("c", {10})};
  GraphDef step;
  step.name = "step";
  step.inputs = {tensor_value("label", DType::int64, {"N"})};
  step.outputs = {tensor_value("loss", DType::float32, {})};
  step.initializers = {{"ratio", Tensor::scalar(0.5F), "", {}},
                       {"yes", Tensor::scalar(true), "", {}},
                       {"mean", Tensor(DType::float32, {4}), "", {}},
                       {"var", Tensor(DType::float32, {4}), "", {}}};
  const std::vector<std::string> names{"w", "scale", "shift", "v", "c"};
  std::vector<std::string> derivatives;
  for (const auto& name : names) derivatives.push_back("d_" + name);
  step.nodes = {
      node("Conv", {"image", "w"}, {"conv"}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}),
      node("BatchNormalization", {"conv", "scale", "shift", "mean", "var"}, {"norm", "m2", "v2"},
           {{"training_mode", std::int64_t{1}}}),
      node("Relu", {"norm"}, {"relu"}),
      node("Dropout", {"relu", "ratio", "yes"}, {"dropped"}),
      node("MaxPool", {"dropped"}, {"pooled"},
           {{"kernel_shape", std::vector<std::int64_t>{2, 2}},
            {"strides", std::vector<std::int64_t>{2, 2}}}),
      node("Flatten", {"pooled"}, {"flat"}),
      node("Gemm", {"flat", "v", "c"}, {"logits"}),
      node("SoftmaxCrossEntropyLoss", {"logits", "label"}, {"loss"}),
      node("Gradient", names, derivatives, {{"xs", names}, {"y", std::string("loss")}},
           "ai.onnx.preview.training")};
  TrainingInfoDef info;
  for (const auto& name : names) {
    const auto& like =
        *std::find_if(model.graph.initializers.begin(), model.graph.initializers.end(),
                      [&](const auto& init) { return init.name == name; });
    step.nodes.push_back(node("Sub", {name, "d_" + name}, {name + "_new"}));
    step.outputs.push_back(
        tensor_value(name + "_new", DType::float32,
                     std::vector<DimDef>(like.value.shape().begin(), like.value.shape().end())));
    info.update_binding.emplace_back(name, name + "_new");
  }
  info.algorithm = step;
  model.training = {info};
  return model;
}

// Bytes of every arena buffer that is written up to the loss and read after it, by the operator
// that writes it.
std::map<std::string, std::size_t> kept_for_backward(const ModelDef& def) {
  LoadOptions options;
  const trainer::Functions functions = trainer::assemble(def, options);
  const trainer::Function& step = functions.algorithms[0].step;
  Graph graph = *step.graph;
  ValueId loss = no_value;
  for (const auto& output : step.outputs) {
    if (output.name == "loss") loss = output.value;
  }
  graph.outputs = {loss};
  for (const auto& update : step.updates) graph.outputs.push_back(update.value);
  std::vector<Type> types;
  for (const ValueId id : graph.inputs) {
    Type type = graph[id].type;
    for (Dim& dim : *type.dims) {
      if (!dim.known()) dim = Dim(batch);
    }
    types.push_back(type);
  }
  trainer::PlanOptions plan_options;
  plan_options.limits = &options.limits;
  const trainer::Plan plan =
      trainer::make_plan(std::make_shared<const Graph>(graph), types, plan_options);
  // The last operator up to the loss that writes a buffer: others are overwritten in place.
  std::map<std::size_t, std::string> writer;
  std::int32_t at = -1;
  for (std::size_t i = 0; i < plan.nodes.size() && at < 0; ++i) {
    for (const ValueId id : plan.nodes[i].node->outputs) {
      if (id == no_value) continue;
      const std::size_t buffer = plan.buffer_of[static_cast<std::size_t>(id)];
      writer.insert_or_assign(buffer, std::string(plan.nodes[i].node->op->name));
      if (id == plan.graph.outputs[0]) at = static_cast<std::int32_t>(i);
    }
  }
  REQUIRE(at >= 0);
  const std::size_t result = plan.buffer_of[static_cast<std::size_t>(plan.graph.outputs[0])];
  std::map<std::string, std::size_t> kept;
  for (const auto& [buffer, op] : writer) {
    const trainer::Buffer& b = plan.buffers[buffer];
    if (b.kind != trainer::BufferKind::arena || buffer == result) continue;
    if (b.first <= at && b.last > at) kept[op] += b.bytes;
  }
  return kept;
}

}  // namespace

TEST_CASE("a step keeps no more of a small CNN than its derivatives need") {
  if (std::getenv("ONDINE_NO_FUSION") != nullptr) {
    WARN("the count is that of fused derivatives: skipped with ONDINE_NO_FUSION");
    return;
  }
  const auto kept = kept_for_backward(small_cnn());
  const std::size_t image = static_cast<std::size_t>(batch) * 4 * 8 * 8;
  const std::size_t pooled = image / 4;
  const std::map<std::string, std::size_t> want{
      {"Conv", image * 4},                          // x of BatchNormalization
      {"BatchNormalizationActivation", 2 * 4 * 4},  // saved mean and deviation
      {"Dropout", image},                           // its mask
      {"MaxPool", pooled * 8},                      // where the maxima are
      {"Flatten", pooled * 4},                      // x of Gemm
      {"SoftmaxCrossEntropyLoss", batch * 10 * 4}   // logarithms of the probabilities
  };
  const auto text = [](const std::map<std::string, std::size_t>& bytes) {
    std::string lines;
    for (const auto& [op, count] : bytes) lines += op + " " + std::to_string(count) + "\n";
    return lines;
  };
  CHECK(text(kept) == text(want));
}
