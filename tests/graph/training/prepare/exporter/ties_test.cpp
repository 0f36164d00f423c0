#include "graph/training/prepare/exporter/ties.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/training/prepare/exporter/lost.h"
#include "graph/training/prepare/prepare.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

constexpr const char* key = "pkg.onnxscript.optimizer.folded_from";

// A matrix of counted elements, or its transposed.
Tensor counted(std::int64_t rows, std::int64_t columns, bool transposed = false) {
  Tensor tensor(DType::float32, transposed ? Shape{columns, rows} : Shape{rows, columns});
  const auto values = tensor.mutable_values<float>();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t at = transposed ? j * rows + i : i * columns + j;
      values[static_cast<std::size_t>(at)] = static_cast<float>(i * columns + j) * 0.25F - 1;
    }
  }
  return tensor;
}

// Tokens -> rows of wte -> scores of all tokens by `head`.
ModelDef language_model(const std::string& head, Tensor head_value) {
  ModelDef model;
  model.ir_version = 8;
  model.opsets = {{"", 17}};
  model.producer_name = "pytorch";
  GraphDef& graph = model.graph;
  graph.name = "language";
  graph.inputs = {value("tokens", {std::string("N"), std::int64_t{4}}, DType::int64)};
  graph.outputs = {value("scores", {std::string("N"), std::int64_t{4}, std::int64_t{5}})};
  graph.initializers.emplace_back().name = "net.wte.weight";
  graph.initializers.back().value = counted(5, 3);
  graph.initializers.emplace_back().name = head;
  graph.initializers.back().value = std::move(head_value);
  graph.nodes = {named_node("Gather", {"net.wte.weight", "tokens"}, {"h"}),
                 named_node("MatMul", {"h", head}, {"scores"})};
  return model;
}

}  // namespace

TEST_CASE("a transposed copy of a tied weight trains as one with it") {
  ModelDef model = language_model("onnx::MatMul_7", counted(5, 3, true));
  PrepareOptions options;
  options.untie = GENERATE(false, true);
  const PrepareReport report = prepare(model, options);
  CHECK(report.trained == std::vector<std::string>{"net.wte.weight"});
  REQUIRE_FALSE(report.notes.empty());
  CHECK_THAT(report.notes[0], Catch::Contains("'onnx::MatMul_7' ('net.wte.weight' transposed)"));
  REQUIRE(find_op(model.graph, "Transpose") != nullptr);
  CHECK(find_op(model.graph, "Transpose")->outputs[0] == "onnx::MatMul_7");
  require_single_assignment(model);
}

TEST_CASE("copies of one folded parameter train as one, by the exporter's metadata") {
  ModelDef model = language_model("val_9", counted(5, 3, true));
  model.graph.initializers[0].name = "val_3";
  model.graph.nodes[0].inputs[0] = "val_3";
  CHECK(tie_copies(model.graph).empty());  // which of two unnamed weights was first is unknown
  for (const char* name : {"val_3", "val_9"}) {
    ValueDef& said = model.graph.value_infos.emplace_back(value(name, {}));
    said.metadata = {{key, "['net.wte.weight']"}};
  }
  ModelDef equal = model;
  CHECK(tie_copies(model.graph).size() == 1);
  CHECK(find_op(model.graph, "Transpose")->inputs[0] == "val_3");
  equal.graph.initializers[1].value = counted(5, 3);
  CHECK(tie_copies(equal.graph).size() == 1);
  CHECK(find_op(equal.graph, "Identity")->inputs[0] == "val_3");
  CHECK(equal.graph.initializers.size() == 1);
}

TEST_CASE("weights that are no copies stay apart") {
  SECTION("another element") {
    Tensor head = counted(5, 3, true);
    head.mutable_values<float>()[14] += 1;
    ModelDef model = language_model("onnx::MatMul_7", head);
    CHECK(tie_copies(model.graph).empty());
  }
  SECTION("a name of its own") {
    ModelDef model = language_model("net.head.weight", counted(5, 3, true));
    CHECK(tie_copies(model.graph).empty());
  }
  SECTION("zeros") {
    ModelDef model = language_model("onnx::MatMul_7", Tensor(DType::float32, {3, 5}));
    model.graph.initializers[0].value = Tensor(DType::float32, {5, 3});
    CHECK(tie_copies(model.graph).empty());
  }
  SECTION("folded from several values, or from a constant") {
    ModelDef model = language_model("w", counted(5, 3));
    for (const char* text : {"['net.wte.weight', 'val_1']", "['arange_1']"}) {
      ModelDef other = model;
      other.graph.value_infos = {value("w", {}), value("net.wte.weight", {})};
      for (ValueDef& one : other.graph.value_infos) one.metadata = {{key, text}};
      CHECK(tie_copies(other.graph).empty());
    }
  }
}

TEST_CASE("values that the exporter computed from parameters are named") {
  ModelDef model = language_model("net.head.weight", counted(3, 5));
  model.graph.initializers.emplace_back().name = "embedding_1";
  model.graph.initializers.back().value = counted(4, 3);
  ValueDef& said = model.graph.value_infos.emplace_back(value("embedding_1", {}));
  CHECK(lost_parameters(model).empty());
  said.metadata = {{key, "['net.types.weight', 'val_2']"}};
  const std::vector<std::string> notes = lost_parameters(model);
  REQUIRE_FALSE(notes.empty());
  CHECK_THAT(notes[0], Catch::Contains("'embedding_1' (from 'net.types.weight')"));
}
