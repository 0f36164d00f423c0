// Report of an import that writes a file, and whether Dropout drops.
#include <ondine/import_ort.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "proto/export.h"
#include "proto/import.h"
#include "tests/support/models.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
namespace fs = std::filesystem;

namespace {

// The fixture with a changed evaluation model.
class Changed {
 public:
  explicit Changed(const std::function<void(graph::GraphDef&)>& change) {
    const fs::path data = test::source_folder() / "tests/trainer/import_ort/data";
    for (const fs::directory_entry& one : fs::directory_iterator(data)) {
      fs::copy_file(one.path(), folder_ / one.path().filename().string());
    }
    graph::ModelDef model = load_model(folder_ / "eval_model.onnx");
    change(model.graph);
    save_model(model, folder_ / "eval_model.onnx");
  }
  Model import() const { return import_ort(folder_.path(), {.checkpoint = folder_ / "saved"}); }
  ImportOrtReport write() const {
    return import_ort(folder_.path(), folder_ / "out.onnx", {.checkpoint = folder_ / "saved"});
  }

 private:
  TemporaryFolder folder_;
};

double first_loss(Model model) {
  std::vector<float> x(12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 6;
  return model
      .train_step(NamedValues{{"x", Tensor::of<float>({4, 3}, x)},
                              {"labels", Tensor::of<std::int64_t>({4}, {0, 2, 1, 2})}})
      .scalar("loss");
}

void unchanged(graph::GraphDef&) {}

}  // namespace

TEST_CASE("an import reports the warnings about the model that it writes") {
  CHECK(Changed(unchanged).write().prepared.warnings.empty());
  const auto without_shape = [](graph::GraphDef& graph) {
    for (graph::ValueDef& input : graph.inputs) {
      if (input.name == "x") input.type.dims.reset();
    }
  };
  const std::vector<std::string> warnings = Changed(without_shape).write().prepared.warnings;
  REQUIRE_FALSE(warnings.empty());
  CHECK_THAT(warnings[0], Catch::Contains("graph input 'x' has no shape"));
}

TEST_CASE("Dropout that the training model does not have does not drop") {
  const auto with_dropout = [](graph::GraphDef& graph) {
    for (graph::NodeDef& each : graph.nodes) {
      std::replace(each.inputs.begin(), each.inputs.end(), std::string("x"), std::string("x_kept"));
    }
    graph.nodes.insert(graph.nodes.begin(), node("Dropout", {"x"}, {"x_kept"}));
  };
  CHECK(first_loss(Changed(with_dropout).import()) == first_loss(Changed(unchanged).import()));
}
