// The operator sets that an inference model imports.
#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "proto/import.h"
#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

constexpr const char* training_domain = "ai.onnx.preview.training";

bool imports_training(const ModelDef& model) {
  const ModelDef exported = load_model(Model::load(encode(model)).export_inference());
  CHECK(exported.training.empty());
  for (const OpsetImport& import : exported.opsets) {
    if (import.domain == training_domain) return true;
  }
  return false;
}

// A step of k by itself.
NodeDef adagrad() {
  return node("Adagrad", {"speed", "count", "k", "k", "k"}, {"k_new", "h_new"}, {},
              training_domain);
}

ModelDef with_constants() {
  ModelDef model = linear_regression(0.1F);
  model.graph.initializers.push_back({"speed", Tensor::scalar(0.5F), "", {}});
  model.graph.initializers.push_back({"count", Tensor::scalar(std::int64_t{1}), "", {}});
  model.graph.initializers.push_back({"k", Tensor::of<float>({2}, {1, 2}), "", {}});
  return model;
}

}  // namespace

TEST_CASE("an inference model imports the training operators only where it has one") {
  CHECK_FALSE(imports_training(linear_regression(0.1F)));
  CHECK_FALSE(imports_training(with_constants()));
  ModelDef outside = with_constants();
  outside.graph.nodes.push_back(adagrad());
  outside.graph.outputs.push_back(tensor_value("k_new", DType::float32, {std::int64_t{2}}));
  CHECK(imports_training(outside));

  ModelDef inside = with_constants();
  const auto branch = [](const NodeDef& content, const std::string& output) {
    GraphDef graph;
    graph.name = output + "_branch";
    graph.nodes = {content};
    graph.outputs = {tensor_value(output, DType::float32, {std::int64_t{2}})};
    return std::make_shared<const GraphDef>(std::move(graph));
  };
  inside.graph.initializers.push_back({"yes", Tensor::scalar(true), "", {}});
  inside.graph.nodes.push_back(
      node("If", {"yes"}, {"z"},
           {{"then_branch", branch(adagrad(), "k_new")},
            {"else_branch", branch(node("Neg", {"k"}, {"less"}), "less")}}));
  inside.graph.outputs.push_back(tensor_value("z", DType::float32, {std::int64_t{2}}));
  CHECK(imports_training(inside));
}
