#include "graph/training/prepare/exporter/merged.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/training/prepare/exporter/lost.h"
#include "graph/training/prepare/prepare.h"
#include "tests/graph/training/exported_network.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

// A linear layer, a fresh BatchNormalization whose statistics are merged with its parameters, and
// a second one merged with it.
ModelDef fresh_norms() {
  ModelDef model = exported();
  add_parameter(model, "0.weight", {4, 4}, 0.5F);
  add_parameter(model, "1.weight", {4}, 1);
  add_parameter(model, "1.bias", {4}, 0);
  list(model, {"0.weight", "1.weight", "1.bias", "2.weight", "2.bias", "1.running_mean",
               "1.running_var", "2.running_mean", "2.running_var"});
  then(model, "MatMul", {"0.weight"}, "0");
  then(model, "BatchNormalization", {"1.weight", "1.bias", "1.bias", "1.weight"}, "1");
  then(model, "BatchNormalization", {"1.weight", "1.bias", "1.bias", "1.weight"}, "2", true);
  return model;
}

}  // namespace

TEST_CASE("running statistics that an exporter merged with parameters are separate") {
  ModelDef model = fresh_norms();
  const bool untie = GENERATE(false, true);
  const PrepareReport report = prepared(model, untie);
  const std::vector<NodeDef>& nodes = model.graph.nodes;
  CHECK(nodes[1].inputs[3] == "1.running_mean");
  CHECK(nodes[1].inputs[4] == "1.running_var");
  CHECK(nodes[2].inputs[3] == "2.running_mean");
  CHECK(nodes[2].inputs[4] == "2.running_var");
  const std::set<std::string> bound = keys(model.training[0].update_binding);
  for (const char* name : {"1.running_mean", "1.running_var", "2.running_mean", "2.running_var"}) {
    CHECK(bound.contains(name));
    CHECK(std::count(report.trained.begin(), report.trained.end(), name) == 0);
  }
  CHECK_THAT(text_of(report.notes), Catch::Contains("'1.running_mean' ('1.bias')"));
  CHECK(nodes[2].inputs[1] == (untie ? "2.weight" : "1.weight"));
  CHECK(nodes[2].inputs[2] == (untie ? "2.bias" : "1.bias"));
  CHECK(report.trained.size() == (untie ? 5 : 3));
  const std::string tied = "train as one, as asked for (tie, --tie): '2.weight'";
  CHECK((text_of(report.notes).find(tied) == std::string::npos) == untie);
  require_single_assignment(model);
}

TEST_CASE("running statistics are told from parameters without metadata") {
  ModelDef model = network();
  model.graph.nodes[1].inputs[3] = "bn.bias";
  model.graph.nodes[1].inputs[4] = "bn.scale";
  PrepareOptions options;
  options.training_mode = GENERATE(false, true);
  prepare(model, options);
  CHECK(model.graph.nodes[1].inputs[2] == "bn.bias");
  CHECK(model.graph.nodes[1].inputs[3] == "bn.bias.running_mean");
  CHECK(model.graph.nodes[1].inputs[4] == "bn.scale.running_var");
  const std::set<std::string> bound = keys(model.training[0].update_binding);
  CHECK(bound.contains("bn.bias"));
  CHECK(bound.contains("bn.bias.running_mean") == options.training_mode);
  require_single_assignment(model);
}

TEST_CASE("untied parameters of modules have the names that they had") {
  ModelDef model = exported();
  add_parameter(model, "gain", {4}, 1);
  add_parameter(model, "fc.weight", {4, 4}, 0.25F);
  add_parameter(model, "ln.bias", {4}, 0);
  list(model, {"gain", "fc.weight", "ln.weight", "ln.bias", "rms.weight", "shift", "fc.bias"});
  then(model, "LayerNormalization", {"gain", "ln.bias"}, "ln");
  then(model, "Gemm", {"fc.weight", "ln.bias"}, "fc");
  then(model, "LayerNormalization", {"gain", "ln.bias"}, "ln");  // the module runs twice
  then(model, "Mul", {"gain"}, "rms");
  then(model, "Mul", {"gain"}, "", true);
  model.graph.nodes.back().metadata[0].second = "['', 'mul']";
  ModelDef tied = model;
  CHECK(prepared(tied, false).trained == std::vector<std::string>{"gain", "fc.weight", "ln.bias"});
  CHECK(tied.graph.nodes[0].inputs[1] == "gain");
  const PrepareReport report = prepared(model, true);
  const std::vector<NodeDef>& nodes = model.graph.nodes;
  CHECK(nodes[0].inputs[1] == "ln.weight");
  CHECK(nodes[0].inputs[2] == "ln.bias");
  CHECK(nodes[1].inputs[2] == "fc.bias");
  CHECK(nodes[2].inputs[1] == "ln.weight");
  CHECK(nodes[3].inputs[1] == "rms.weight");
  CHECK(nodes[4].inputs[1] == "gain");
  CHECK(report.trained == std::vector<std::string>{"gain", "fc.weight", "ln.bias", "ln.weight",
                                                   "fc.bias", "rms.weight"});
  for (const ParameterInfo& one : report.parameters) {
    if (one.name == "rms.weight") CHECK_THAT(one.reason, Catch::Contains("metadata"));
  }
  CHECK(missing_parameters(model.graph) == std::vector<std::string>{"shift"});
}

TEST_CASE("two equal parameters of one module are told by their order") {
  ModelDef model = exported();
  add_parameter(model, "0.gamma_1", {4}, 0.5F);
  const std::string other = GENERATE("1", "token.0");
  list(model, {"0.gamma_1", "0.gamma_2", other + ".gamma_1", other + ".gamma_2"});
  for (const std::string& module : {std::string("0"), other}) {
    then(model, "Mul", {"0.gamma_1"}, module);
    then(model, "Mul", {"0.gamma_1"}, module, module == other);
  }
  model.graph.nodes[2].outputs[0] = "z";
  model.graph.nodes[3].inputs[0] = "z";
  model.graph.nodes[3].outputs[0] = "y";
  prepared(model, true);
  const std::vector<NodeDef>& nodes = model.graph.nodes;
  CHECK(nodes[0].inputs[1] == "0.gamma_1");
  CHECK(nodes[1].inputs[1] == "0.gamma_2");
  CHECK(nodes[2].inputs[1] == other + ".gamma_1");
  CHECK(nodes[3].inputs[1] == other + ".gamma_2");
}

TEST_CASE("scale and bias of one module that are folded and merged are told by what reads them") {
  ModelDef model = exported();
  add_folded(model, "view", {1, 4}, 0, "['grn.bias', 'val_0']");
  list(model, {"grn.weight", "grn.bias"});
  then(model, "Mul", {"view"}, "grn");
  then(model, "Add", {"view"}, "grn", true);
  CHECK(prepared(model, true).trained == std::vector<std::string>{"view", "view_1"});
  CHECK(model.graph.nodes[0].inputs[1] == "view_1");
  CHECK(model.graph.nodes[1].inputs[1] == "view");
}

TEST_CASE("one tensor of two modules stays one when untied") {
  ModelDef model = exported();
  add_parameter(model, "b.weight", {4, 4}, 0.25F);
  add_parameter(model, "d.weight", {4}, 1);
  // The name of the last is kept.
  list(model, {"a.weight", "b.weight", "c.weight", "d.weight"});
  then(model, "MatMul", {"b.weight"}, "a");
  then(model, "LayerNormalization", {"d.weight"}, "c");
  then(model, "LayerNormalization", {"d.weight"}, "d");
  then(model, "MatMul", {"b.weight"}, "b", true);
  ModelDef large = exported();
  add_parameter(large, "a.weight", {4, 300}, 0.25F);  // larger than what the exporter merges
  list(large, {"a.weight", "b.weight"});
  large.graph.outputs = {value("y", {std::string("N"), std::int64_t{300}})};
  then(large, "MatMul", {"a.weight"}, "a");
  then(large, "Relu", {}, "a");
  large.graph.nodes.push_back(named_node("MatMul", {"x", "a.weight"}, {"w"}));
  large.graph.nodes.back().metadata = {{"pkg.torch.onnx.name_scopes", "['', 'b', 'call']"}};
  then(large, "Add", {"v0"}, "", true);
  CHECK(merged_uses(model.graph).empty());
  CHECK(merged_uses(large.graph).empty());
  CHECK(prepared(model, true).trained == std::vector<std::string>{"b.weight", "d.weight"});
  CHECK(missing_parameters(model.graph) == std::vector<std::string>{"a.weight", "c.weight"});
}

TEST_CASE("layers into which a normalization was folded keep the names of their parameters") {
  ModelDef model = exported();
  add_parameter(model, "0.weight", {4, 4}, 0.5F);
  add_parameter(model, "0.bias", {4}, 0.5F);
  list(model, {"0.weight", "0.bias", "1.weight", "1.bias"});
  then(model, "Gemm", {"0.weight", "0.bias"}, "1", true);  // where the normalization was
  CHECK(merged_uses(model.graph).empty());
  CHECK(missing_parameters(model.graph) == std::vector<std::string>{"1.weight", "1.bias"});
  CHECK_THAT(text_of(lost_parameters(model)), Catch::Contains("folded into parameters of others") &&
                                                  Catch::Contains("'1' ('0.weight')") &&
                                                  !Catch::Contains("as one"));
}

TEST_CASE("biases of functions inside a module belong to the weights beside them") {
  ModelDef model = exported();
  add_parameter(model, "norm.bias", {4}, 0);
  add_folded(model, "val_1", {4, 4}, 0.5F, "['attn.proj.weight']");
  add_parameter(model, "attn.qkv.weight", {4, 4}, 0.5F);
  list(model,
       {"norm.bias", "attn.qkv.weight", "attn.qkv.bias", "attn.proj.weight", "attn.proj.bias"});
  then(model, "Add", {"norm.bias"}, "norm");
  then(model, "Gemm", {"attn.qkv.weight", "norm.bias"}, "attn");
  then(model, "MatMul", {"val_1"}, "attn");
  then(model, "Add", {"norm.bias"}, "attn", true);
  prepared(model, true);
  CHECK(model.graph.nodes[1].inputs[2] == "attn.qkv.bias");
  CHECK(model.graph.nodes[3].inputs[1] == "attn.proj.bias");
}

TEST_CASE("a parameter of an inner module is not taken for one that the outer module reads") {
  ModelDef model = exported();
  add_folded(model, "embedding_1", {4}, 0, "['a.types.weight', 'val_0']");
  add_parameter(model, "a.fc.weight", {4, 4}, 0.5F);
  list(model, {"a.types.weight", "a.fc.weight", "a.fc.bias"});
  then(model, "Add", {"embedding_1"}, "a");
  then(model, "MatMul", {"a.fc.weight"}, "a.fc", true);
  CHECK(merged_uses(model.graph).empty());
  CHECK(missing_parameters(model.graph) == std::vector<std::string>{"a.fc.bias"});
}

TEST_CASE("constants merged with a parameter do not train") {
  ModelDef model = exported();
  add_parameter(model, "0.weight", {4}, 1);
  add_parameter(model, "fc.weight", {4, 4}, 0.5F);
  list(model, {"0.weight", "fc.weight"});
  then(model, "Mul", {"0.weight"}, "0");
  then(model, "LayerNormalization", {"0.weight"}, "1");
  then(model, "MatMul", {"fc.weight"}, "fc", true);
  ModelDef other = model;
  Tensor scale(DType::float32, {4});
  scale.mutable_values<float>()[1] = 2;
  other.graph.initializers[0].value = scale;
  const PrepareReport report = prepared(model, GENERATE(false, true));
  CHECK(model.graph.nodes[1].inputs[1] == "0.weight.constant");
  CHECK(report.trained == std::vector<std::string>{"0.weight", "fc.weight"});
  CHECK_THAT(text_of(report.notes), Catch::Contains("a constant of '1' ('0.weight')"));
  prepared(other, true);
  CHECK(other.graph.nodes[1].inputs[1] == "0.weight");
}

TEST_CASE("values folded from merged parameters are separate when untied") {
  ModelDef model = exported();
  add_folded(model, "val_3", {1, 4}, 1, "['1.weight', 'val_0', 'val_1']");
  add_folded(model, "val_5", {1, 4}, 0, "['1.bias', 'val_0', 'val_1']");
  add_folded(model, "val_9", {1, 4}, 0.5F, "['val_0', 'x']");
  list(model, {"1.weight", "1.bias", "4.weight", "4.bias", "6.scale"});
  then(model, "Mul", {"val_3"}, "1");
  then(model, "Add", {"val_5"}, "1");
  then(model, "Mul", {"val_3"}, "4");
  then(model, "Add", {"val_5"}, "4");
  then(model, "Mul", {"val_9"}, "5", true);
  const PrepareReport report = prepared(model, true);
  CHECK(model.graph.nodes[0].inputs[1] == "val_3");
  CHECK(model.graph.nodes[2].inputs[1] == "val_3_1");
  CHECK(model.graph.nodes[3].inputs[1] == "val_5_1");
  // val_9 was folded from no parameter.
  CHECK(report.trained == std::vector<std::string>{"val_3", "val_5", "val_3_1", "val_5_1"});
}

TEST_CASE("parameters inside a module are told by their paths") {
  ModelDef model = exported();
  add_parameter(model, "a.attn.out.weight", {4, 4}, 0.25F);
  list(model, {"a.attn.in_weight", "a.attn.out.weight", "b.attn.in_weight", "b.attn.out.weight"});
  then(model, "MatMul", {"a.attn.out.weight"}, "a.attn");
  then(model, "MatMul", {"a.attn.out.weight"}, "b.attn", true);
  CHECK(prepared(model, true).trained ==
        std::vector<std::string>{"a.attn.out.weight", "b.attn.out.weight"});
}

TEST_CASE("a parameter merged with a constant is told from the constants of its module") {
  ModelDef model = exported();
  model.graph.inputs = {value("x", {std::string("N"), std::int64_t{4}, std::int64_t{4}})};
  add_folded(model, "val_2", {4}, 1, "['val_0', 'val_1']");
  add_folded(model, "val_4", {1, 4}, 1, "['val_0', 'val_1']");
  add_parameter(model, "zeros", {4}, 0);
  list(model, {"zeros", "2.weight"});
  then(model, "InstanceNormalization", {"val_2", "zeros"}, "1");
  then(model, "Mul", {"val_4"}, "1");
  then(model, "InstanceNormalization", {"val_2", "zeros"}, "2");
  then(model, "Mul", {"val_4"}, "2");
  then(model, "Add", {"zeros"}, "2");
  then(model, "Add", {"zeros"}, "", true);
  model.graph.nodes.back().metadata[0].second = "['', 'add']";
  CHECK(prepared(model, true).trained == std::vector<std::string>{"zeros", "val_4_1"});
  CHECK(model.graph.nodes[2].inputs[1] == "val_2");
  CHECK(model.graph.nodes[3].inputs[1] == "val_4_1");
  CHECK(model.graph.nodes[4].inputs[1] == "zeros.constant");
}

TEST_CASE("what was computed from a listed parameter is named, whatever its name") {
  ModelDef model = exported();
  add_folded(model, "index", {4}, 0.5F, "['2.p.0', 'val_1']");
  then(model, "Add", {"index"}, "2", true);
  CHECK(lost_parameters(model).empty());
  list(model, {"2.p.0"});
  CHECK_THAT(text_of(lost_parameters(model)), Catch::Contains("'index' (from '2.p.0')"));
}

TEST_CASE("parameters that the file lacks are named") {
  ModelDef model = exported();
  add_parameter(model, "0.weight", {4, 4}, 0.25F);
  list(model, {"0.weight", "0.bias"});
  then(model, "MatMul", {"0.weight"}, "0", true);
  CHECK(lost_parameters(model).empty());
  model.graph.nodes[0].metadata.emplace_back("pkg.onnxscript.rewriter.rule_name", "any");
  CHECK_THAT(text_of(lost_parameters(model)), Catch::Contains("zero and left out") &&
                                                  Catch::Contains("'0.bias'") &&
                                                  !Catch::Contains("'0.weight'"));
}
