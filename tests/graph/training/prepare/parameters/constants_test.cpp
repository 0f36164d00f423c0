#include "graph/training/prepare/parameters/constants.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/prepare.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

void constant(ModelDef& model, const std::string& name, Tensor value) {
  InitializerDef& added = model.graph.initializers.emplace_back();
  added.name = name;
  added.value = std::move(value);
}

// The network with `op`(p, value) as its output.
ModelDef with_operand(const std::string& op, Tensor value, const std::string& name = "k") {
  ModelDef model = network();
  constant(model, name, std::move(value));
  model.graph.nodes.pop_back();
  model.graph.nodes.push_back(named_node(op, {"logits", name}, {"p"}));
  return model;
}

Tensor made_of(const Shape& shape, double (*value)(double)) {
  Tensor tensor(DType::float32, shape);
  const auto values = tensor.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(value(static_cast<double>(i)));
  }
  return tensor;
}

const ParameterInfo& row(const std::vector<ParameterInfo>& table, const std::string& name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& one) { return one.name == name; });
  REQUIRE(found != table.end());
  return *found;
}

std::string reason_in(const ModelDef& model, const std::string& name, bool trained) {
  const ParameterChoice choice = choose_parameters(model.graph, {"p"}, {}, model.producer_name);
  CHECK(choice.trains(name) == trained);
  CHECK(row(choice.table, name).trained == trained);
  return row(choice.table, name).reason;
}

}  // namespace

TEST_CASE("tensors with infinities, NaN or the least numbers are never trained by default") {
  for (const float bad : {-infinity, infinity, std::nanf(""), -3.4e38F}) {
    ModelDef model = with_operand("Add", Tensor::of<float>({1, 3}, {0.25F, bad, -1}));
    CHECK_FALSE(reason_in(model, "k", false).empty());
    // Not even where the exporter calls them parameters.
    model.graph.initializers.back().metadata = {
        {"pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"}};
    reason_in(model, "k", false);
  }
  CHECK(reason_in(with_operand("Add", Tensor::of<float>({1, 3}, {0, -10000, 0})), "k", false) ==
        "a mask of 0 and -10000");
  // A large number is a bias beside a product, and a mask elsewhere.
  const Tensor large = Tensor::of<float>({1, 3}, {0.25F, -1e9F, -1});
  reason_in(with_operand("Add", large), "k", true);
  CHECK(reason_in(with_operand("Mul", large), "k", false) ==
        "holds elements of size 1e+09, as masks do");
  // Two values of which none is 0, and small ones.
  reason_in(with_operand("Add", Tensor::of<float>({3}, {0.5F, -10000, 0.5F})), "k", true);
  reason_in(with_operand("Add", Tensor::of<float>({3}, {0, -10, 0})), "k", true);
}

TEST_CASE("a name overrides what keeps a constant from training, wildcards do not") {
  const ModelDef model = with_operand("Add", Tensor::of<float>({1, 3}, {0, -infinity, 0}), "fc.m");
  PrepareOptions options;
  options.train = {"fc.*"};
  ParameterChoice choice = choose_parameters(model.graph, {"p"}, options);
  CHECK(choice.trains("fc.w"));
  CHECK_FALSE(choice.trains("fc.m"));
  CHECK(row(choice.table, "conv.w").reason == "matches no train pattern");
  options.train = {"fc.*", "fc.m"};
  choice = choose_parameters(model.graph, {"p"}, options);
  CHECK(choice.trains("fc.m"));
  CHECK(row(choice.table, "fc.m").reason == "train pattern 'fc.m'");
  options.freeze = {"fc.?"};
  options.train = {"*"};
  choice = choose_parameters(model.graph, {"p"}, options);
  CHECK_FALSE(choice.trains("fc.w"));
  CHECK(row(choice.table, "fc.w").reason == "freeze pattern 'fc.?'");
  // A pattern that matches constants alone names them.
  options = {};
  options.train = {"*.m"};
  CHECK(choose_parameters(model.graph, {"p"}, options).trains("fc.m"));
}

TEST_CASE("masks, positions, anchors, frequencies and tables of sines are no parameters") {
  const Tensor mask = Tensor::of<float>({2, 3}, {1, 0, 1, 1, 1, 0});
  reason_in(with_operand("Mul", mask), "k", false);
  // Windows of Swin, after folding took the name of the buffer.
  const Tensor windows = Tensor::of<float>({2, 3}, {0, -100, 0, 0, -100, 0});
  CHECK(reason_in(with_operand("Add", windows), "k", false) == "a mask of 0 and -100");
  const Tensor slopes = made_of({2, 4}, [](double i) { return i < 4 ? 0.5 * i : 0.25 * (i - 4); });
  reason_in(with_operand("Add", slopes), "k", false);
  const Tensor positions = made_of({1, 9}, [](double i) { return 0.1 * i; });
  reason_in(with_operand("Mul", positions), "k", false);
  const Tensor grid = made_of({2, 6}, [](double i) { return std::floor(i / 2) + 0.5; });
  reason_in(with_operand("Add", grid), "k", false);
  reason_in(with_operand("Mul", Tensor::of<float>({3, 2}, {10, 13, 16, 30, 33, 23})), "k", false);
  const Tensor frequencies = made_of({6}, [](double i) { return std::pow(1e4, -i / 6); });
  reason_in(with_operand("Mul", frequencies), "k", false);
  const Tensor angles = made_of({1, 4, 2}, [](double i) {
    return std::floor(i / 2) * (i == 2 * std::floor(i / 2) ? 1 : 0.01);
  });
  CHECK(reason_in(with_operand("MatMul", angles), "k", false) == "positions times frequencies");
  const Tensor sines = made_of({4, 6}, [](double i) {
    const double channel = i - 6 * std::floor(i / 6);
    const double pair = std::floor(channel / 2);
    const double angle = std::floor(i / 6) / std::pow(1e4, pair / 3);
    return channel == 2 * pair ? std::sin(angle) : std::cos(angle);
  });
  reason_in(with_operand("Add", sines), "k", false);
  const Tensor others = made_of({4, 3}, [](double i) { return std::sin(3 * i + 1); });
  reason_in(with_operand("Add", others, "model.anchor_grid"), "model.anchor_grid", false);
  reason_in(with_operand("MatMul", others, "stft.basis_buffer"), "stft.basis_buffer", false);
  const std::string table = "layers.0.attn.relative_coords_table";
  reason_in(with_operand("MatMul", others, table), table, false);
}

TEST_CASE("weights that only look a little like constants are trained") {
  reason_in(with_operand("Add", Tensor::of<float>({2, 3}, {0, -9, 0, 0, -9, 0})), "k", true);
  reason_in(with_operand("Add", Tensor(DType::float32, {2, 4})), "k", true);
  reason_in(with_operand("Add", Tensor::of<float>({2, 4}, {0, 0.3F, 0.6F, 0.9F, 0, 0.3F, 0.6F, 1})),
            "k", true);
  // Integers that a product reads, short rows, zeros and ones of one dim, random numbers.
  reason_in(with_operand("MatMul", Tensor::of<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 10})), "k",
            true);
  reason_in(with_operand("Add", Tensor::of<float>({3}, {1, 2, 3})), "k", true);
  reason_in(with_operand("Mul", Tensor::of<float>({3}, {0, 1, 1})), "k", true);
  reason_in(with_operand("Mul", Tensor::of<float>({1, 3}, {1, 1, 1})), "k", true);
  reason_in(with_operand("MatMul", Tensor::of<float>({3, 2}, {0, 0, 1, 3, 2, 5})), "k", true);
  reason_in(with_operand("MatMul", Tensor(DType::float32, {3, 2})), "k", true);
  const Tensor others = made_of({4, 3}, [](double i) { return std::sin(3 * i + 1); });
  reason_in(with_operand("Add", others, "mask.weight"), "mask.weight", true);
}

TEST_CASE("a scalar is trained where the exporter names it as a parameter") {
  ModelDef model = network();
  constant(model, "logit_scale", Tensor::scalar(2.5F));
  constant(model, "val_7", Tensor::scalar(0.5F));
  constant(model, "model.temperature", Tensor::scalar(1.5F));
  model.graph.nodes.pop_back();
  model.graph.nodes.push_back(named_node("Exp", {"logit_scale"}, {"scale"}));
  model.graph.nodes.push_back(named_node("Mul", {"logits", "scale"}, {"scaled"}));
  model.graph.nodes.push_back(named_node("Mul", {"scaled", "val_7"}, {"halved"}));
  model.graph.nodes.push_back(named_node("Mul", {"halved", "model.temperature"}, {"p"}));
  CHECK(reason_in(model, "logit_scale", true) == "read by Exp 'node_scale'");
  reason_in(model, "val_7", false);
  reason_in(model, "model.temperature", false);
  model.producer_name = "pytorch";
  reason_in(model, "logit_scale", true);
  reason_in(model, "val_7", false);
  reason_in(model, "model.temperature", true);
  // Metadata decides over names.
  model.graph.initializers[0].metadata = {
      {"pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"}};
  reason_in(model, "model.temperature", false);
}

TEST_CASE("the table says what is assumed of parameters that a file does not tell from constants") {
  const Tensor others = made_of({3}, [](double i) { return std::sin(3 * i + 1); });
  const std::string made_up = "; the exporter made up its name: assumed to be a parameter";
  ModelDef model = with_operand("Add", others, "onnx::Add_7");
  CHECK(reason_in(model, "onnx::Add_7", true) == "read by Add 'node_p'" + made_up);
  model.graph.initializers.back().metadata = {
      {"pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"}};
  CHECK(reason_in(model, "onnx::Add_7", true) ==
        "read by Add 'node_p', a parameter in the exporter's metadata");
  const auto folded = [&](const char* sources) {
    model.graph.initializers.back().metadata.clear();
    model.graph.value_infos = {value("onnx::Add_7", {std::int64_t{3}})};
    model.graph.value_infos[0].metadata = {{"pkg.onnxscript.optimizer.folded_from", sources}};
    return reason_in(model, "onnx::Add_7", true);
  };
  CHECK(folded("['layer.bias', 'val_3']") == "read by Add 'node_p'");
  CHECK(folded("['layer.table', 'val_3']") == "read by Add 'node_p'" + made_up);
  CHECK(reason_in(with_operand("Mul", others, "12"), "12", true) ==
        "read by Mul 'node_p'" + made_up);
  CHECK(reason_in(with_operand("Add", others, "head.b"), "head.b", true) == "read by Add 'node_p'");
  // Weights of layers, which exporters transpose.
  const Tensor matrix = made_of({3, 3}, [](double i) { return std::sin(3 * i + 1); });
  CHECK(reason_in(with_operand("MatMul", matrix, "onnx::MatMul_7"), "onnx::MatMul_7", true) ==
        "read by MatMul 'node_p'");
}

TEST_CASE("frequencies that Sin and Cos read are trained, and the table says that it is assumed") {
  const Tensor others = made_of({3}, [](double i) { return std::sin(3 * i + 1); });
  ModelDef model = with_operand("Mul", others);
  model.graph.nodes.back().outputs = {"turns"};
  constant(model, "two_pi", Tensor::scalar(6.25F));
  const std::vector<NodeDef> start = model.graph.nodes;
  const auto reason = [&](const std::string& between, const std::string& second) {
    model.graph.nodes = start;
    model.graph.nodes.push_back(named_node(between, {"turns", "two_pi"}, {"angles"}));
    model.graph.nodes.push_back(named_node("Sin", {"angles"}, {"sine"}));
    model.graph.nodes.push_back(named_node(second, {"angles"}, {"second"}));
    model.graph.nodes.push_back(named_node("Add", {"sine", "second"}, {"p"}));
    return reason_in(model, "k", true);
  };
  const std::string read = "read by Mul 'node_p'";
  const std::string assumed = "; frequencies of Sin and Cos: assumed to be learned";
  CHECK(reason("Mul", "Cos") == read + assumed);
  CHECK(reason("Div", "Cos") == read + assumed);
  CHECK(reason("Add", "Cos") == read);
  CHECK(reason("Mul", "Sin") == read);
  CHECK(reason("Mul", "Neg") == read);
  // Metadata does not say whether a parameter requires a gradient.
  model.graph.initializers[model.graph.initializers.size() - 2].metadata = {
      {"pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"}};
  CHECK(reason("Mul", "Cos") == read + ", a parameter in the exporter's metadata" + assumed);
}

TEST_CASE("frequencies are found through up to 15 further products, all of which are read") {
  const Tensor others = made_of({3}, [](double i) { return std::sin(3 * i + 1); });
  ModelDef model = with_operand("Mul", others);
  model.graph.nodes.back().outputs = {"turns0"};
  constant(model, "two_pi", Tensor::scalar(6.25F));
  const std::vector<NodeDef> start = model.graph.nodes;
  const auto is_assumed = [&](int products, bool unread) {
    model.graph.nodes = start;
    for (int i = 0; i < products; ++i) {
      model.graph.nodes.push_back(named_node("Mul", {"turns" + std::to_string(i), "two_pi"},
                                             {"turns" + std::to_string(i + 1)}));
    }
    const std::string angles = "turns" + std::to_string(products);
    model.graph.nodes.push_back(named_node("Sin", {angles}, {"sine"}));
    model.graph.nodes.push_back(named_node("Cos", {angles}, {"cosine"}));
    if (unread) model.graph.nodes.push_back(named_node("Mul", {angles, "two_pi"}, {"unread"}));
    model.graph.nodes.push_back(named_node("Add", {"sine", "cosine"}, {"p"}));
    return reason_in(model, "k", true).find("assumed to be learned") != std::string::npos;
  };
  CHECK(is_assumed(0, false));
  CHECK_FALSE(is_assumed(0, true));
  CHECK(is_assumed(14, false));
  CHECK_FALSE(is_assumed(15, false));
}

TEST_CASE("one element beside the data of Where, Max and Min is no parameter") {
  const Tensor one = Tensor::of<float>({1}, {0.5F});
  CHECK(reason_in(with_operand("Max", one), "k", false) == "one element beside others in Max");
  reason_in(with_operand("Min", one), "k", false);
  for (const char* op : {"Mul", "Div", "Pow"}) {
    CAPTURE(op);
    reason_in(with_operand(op, one), "k", false);
  }
  ModelDef model = with_operand("Add", one);
  model.graph.nodes.back() = named_node("Add", {"logits", "fc.b"}, {"sum"});
  model.graph.nodes.push_back(named_node("Greater", {"sum", "fc.b"}, {"above"}));
  model.graph.nodes.push_back(named_node("Where", {"above", "sum", "k"}, {"p"}));
  reason_in(model, "k", false);
  model.producer_name = "pytorch";
  model.graph.initializers.back().name = "model.floor";
  for (NodeDef& node : model.graph.nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), std::string("k"),
                 std::string("model.floor"));
  }
  reason_in(model, "model.floor", true);
}

TEST_CASE("one element in a Constant node is a number, or the bias of a layer") {
  ModelDef model = network();
  weight(model, "fc2.w", {3, 1});
  GraphDef& graph = model.graph;
  graph.nodes.pop_back();
  for (const char* name : {"zero", "one", "factor", "offset"}) {
    const Tensor value = Tensor::of<float>({1}, {0.25F});
    graph.nodes.push_back(named_node("Constant", {}, {name}, {{"value", value}}));
  }
  graph.nodes.push_back(named_node("Greater", {"logits", "zero"}, {"above"}));
  graph.nodes.push_back(named_node("Where", {"above", "logits", "zero"}, {"cut"}));
  graph.nodes.push_back(named_node("Add", {"one", "cut"}, {"moved"}));
  graph.nodes.push_back(named_node("Mul", {"moved", "factor"}, {"scaled"}));
  graph.nodes.push_back(named_node("MatMul", {"scaled", "fc2.w"}, {"m"}));
  graph.nodes.push_back(named_node("Add", {"m", "offset"}, {"p"}));
  graph.outputs[0].type.dims = {std::string("N"), std::int64_t{1}};
  PrepareOptions options;
  options.loss = Loss::mse;
  const std::vector<std::string> trained = prepare(model, options).trained;
  const auto trains = [&](const char* name) {
    return std::count(trained.begin(), trained.end(), name) == 1;
  };
  CHECK(trains("offset"));
  CHECK_FALSE(trains("one"));
  CHECK_FALSE(trains("factor"));
  CHECK_FALSE(trains("zero"));
}

TEST_CASE("what does not require a gradient is no parameter") {
  ModelDef model = network();
  InitializerDef& bias = model.graph.initializers[6];
  REQUIRE(bias.name == "fc.b");
  bias.metadata = {{"pkg.torch.onnx.requires_grad", "False"}};
  CHECK(reason_in(model, "fc.b", false) == "no parameter in the exporter's metadata");
  bias.metadata = {{"pkg.torch.onnx.requires_grad", "True"}};
  reason_in(model, "fc.b", true);
}

TEST_CASE("tables that only become indices or conditions are not reached by derivatives") {
  ModelDef model = network();
  constant(model, "order", Tensor::of<float>({3}, {2, 1, 0}));
  constant(model, "threshold", Tensor::of<float>({3}, {0.5F, 0.5F, 0.25F}));
  model.graph.nodes.pop_back();
  model.graph.nodes.push_back(
      named_node("Cast", {"order"}, {"index"}, {{"to", static_cast<std::int64_t>(DType::int64)}}));
  model.graph.nodes.push_back(
      named_node("Gather", {"logits", "index"}, {"ordered"}, {{"axis", std::int64_t{1}}}));
  model.graph.nodes.push_back(named_node("Greater", {"ordered", "threshold"}, {"large"}));
  model.graph.nodes.push_back(named_node("Where", {"large", "ordered", "logits"}, {"p"}));
  CHECK(reason_in(model, "order", false) == "no derivative reaches it");
  CHECK(reason_in(model, "threshold", false) == "no derivative reaches it");
  const PrepareReport report = prepare(model, {});
  CHECK(row(report.parameters, "bn.mean").reason == "no derivative reaches it");
  CHECK(row(report.parameters, "conv.w").reason == "read by Conv 'node_c'");
  CHECK(row(report.parameters, "conv.w").shape == Shape{2, 1, 3, 3});
  CHECK(report.parameters.size() == model.graph.initializers.size());
}

TEST_CASE("constants in branches play their parts too") {
  ModelDef model = network();
  constant(model, "half", Tensor::of<float>({1}, {0.5F}));
  constant(model, "shift", Tensor::of<float>({3}, {0.5F, 0.25F, 1}));
  constant(model, "condition", Tensor::scalar(true));
  const auto branch = [](const char* op, const char* operand, const std::string& output) {
    auto body = std::make_shared<GraphDef>();
    body->name = output + "_branch";
    body->outputs = {value(output, {std::string("N"), std::int64_t{3}})};
    body->nodes = {named_node(op, {"logits", operand}, {output})};
    return std::shared_ptr<const GraphDef>(body);
  };
  model.graph.nodes.pop_back();
  model.graph.nodes.push_back(named_node(
      "If", {"condition"}, {"p"},
      {{"then_branch", branch("Mul", "half", "a")}, {"else_branch", branch("Add", "shift", "b")}}));
  CHECK(reason_in(model, "half", false) == "factor of one element");
  CHECK(reason_in(model, "shift", true) == "read by Add 'node_b'");
}

TEST_CASE("scales and tables of rotations of com.microsoft's operators are never trained") {
  const auto reason = [](NodeDef node, std::size_t input) {
    ModelDef model = network();
    model.graph.nodes.pop_back();
    node.domain = "com.microsoft";
    node.outputs = {"p"};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != "logits") constant(model, node.inputs[i], Tensor(DType::float32, {2}));
    }
    model.graph.nodes.push_back(node);
    return reason_in(model, node.inputs[input], false);
  };
  const NodeDef rotation = named_node("RotaryEmbedding", {"logits", "at", "cos", "sin"}, {"p"});
  CHECK(reason(rotation, 2) == "table of rotations of RotaryEmbedding");
  CHECK(reason(rotation, 3) == "table of rotations of RotaryEmbedding");
  const NodeDef product = named_node("MatMulNBits", {"logits", "q", "scales", "points"}, {"p"});
  CHECK(reason(product, 2) == "scale of MatMulNBits");
  CHECK(reason(product, 3) == "scale of MatMulNBits");
  ModelDef model = with_operand("FusedMatMul", Tensor(DType::float32, {3, 3}));
  model.graph.nodes.back().domain = "com.microsoft";
  reason_in(model, "k", true);
}
