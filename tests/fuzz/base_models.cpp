#include "tests/fuzz/base_models.h"

#include "tests/support/models.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

using Subgraph = std::shared_ptr<const GraphDef>;

ValueDef floats(const std::string& name, std::vector<DimDef> dims) {
  return tensor_value(name, DType::float32, std::move(dims));
}

ModelDef model_of(GraphDef graph) {
  ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 17}, {"ai.onnx.preview.training", 1}};
  model.graph = std::move(graph);
  model.graph.name = "main";
  return model;
}

// loss = mean(y^2), w is updated by gradient descent.
void add_training(ModelDef& model, const std::string& y, const std::string& w, const Shape& shape) {
  GraphDef step;
  step.name = "step";
  step.nodes = {node("Mul", {y, y}, {"yy"}),
                node("ReduceMean", {"yy"}, {"loss"}, {{"keepdims", std::int64_t{0}}}),
                node("Gradient", {w}, {"dw"},
                     {{"xs", std::vector<std::string>{w}}, {"y", std::string("loss")}},
                     "ai.onnx.preview.training"),
                node("Sub", {w, "dw"}, {"w_new"})};
  step.outputs = {floats("loss", {}), floats("w_new", {shape.begin(), shape.end()})};
  TrainingInfoDef info;
  info.algorithm = std::move(step);
  info.update_binding = {{w, "w_new"}};
  GraphDef start;
  start.name = "start";
  start.outputs = {floats("w_0", {shape.begin(), shape.end()})};
  start.nodes = {node("RandomNormal", {}, {"w_0"},
                      {{"shape", std::vector<std::int64_t>(shape.begin(), shape.end())}})};
  info.initialization = std::move(start);
  info.initialization_binding = {{w, "w_0"}};
  model.training = {std::move(info)};
}

ModelDef with_loop() {
  GraphDef body;
  body.name = "body";
  body.inputs = {tensor_value("i", DType::int64, {}), tensor_value("go", DType::boolean, {}),
                 floats("h", {std::int64_t{3}})};
  body.nodes = {node("Identity", {"go"}, {"go_on"}), node("Mul", {"h", "w"}, {"hw"}),
                node("Add", {"hw", "x"}, {"h_next"}), node("Tanh", {"h_next"}, {"seen"})};
  body.outputs = {tensor_value("go_on", DType::boolean, {}), floats("h_next", {std::int64_t{3}}),
                  floats("seen", {std::int64_t{3}})};
  GraphDef graph;
  graph.inputs = {floats("x", {std::int64_t{3}})};
  graph.outputs = {floats("h_end", {std::int64_t{3}}), floats("all", {"K", std::int64_t{3}})};
  graph.initializers = {{"trips", Tensor::scalar(std::int64_t{4}), "", {}},
                        {"yes", Tensor::scalar(true), "", {}},
                        {"w", Tensor::of<float>({3}, {0.5F, 1, -1}), "", {}}};
  graph.nodes = {node("Loop", {"trips", "yes", "x"}, {"h_end", "all"},
                      {{"body", std::make_shared<const GraphDef>(body)}})};
  ModelDef model = model_of(std::move(graph));
  add_training(model, "h_end", "w", {3});
  return model;
}

ModelDef with_scan_and_if() {
  GraphDef body;
  body.name = "body";
  body.inputs = {floats("s", {std::int64_t{2}}), floats("e", {std::int64_t{2}})};
  body.nodes = {node("Add", {"s", "e"}, {"s_next"}), node("Mul", {"s_next", "w"}, {"out"})};
  body.outputs = {floats("s_next", {std::int64_t{2}}), floats("out", {std::int64_t{2}})};
  const auto branch = [](const std::string& name, const std::string& op) {
    GraphDef graph;
    graph.name = name;
    graph.nodes = {node(op, {"sums"}, {name + "_out"})};
    graph.outputs = {floats(name + "_out", {"N", std::int64_t{2}})};
    return std::make_shared<const GraphDef>(graph);
  };
  GraphDef graph;
  graph.inputs = {floats("x", {"N", std::int64_t{2}}), tensor_value("which", DType::boolean, {})};
  graph.outputs = {floats("y", {"N", std::int64_t{2}})};
  graph.initializers = {{"w", Tensor::of<float>({2}, {0.5F, 2}), "", {}},
                        {"zero", Tensor::of<float>({2}, {0, 0}), "", {}}};
  graph.nodes = {
      node(
          "Scan", {"zero", "x"}, {"last", "sums"},
          {{"body", std::make_shared<const GraphDef>(body)}, {"num_scan_inputs", std::int64_t{1}}}),
      node("If", {"which"}, {"y"},
           {{"then_branch", branch("yes", "Relu")}, {"else_branch", branch("no", "Neg")}})};
  ModelDef model = model_of(std::move(graph));
  add_training(model, "y", "w", {2});
  return model;
}

ModelDef with_functions() {
  FunctionDef inner;
  inner.name = "Scaled";
  inner.domain = "local";
  inner.inputs = {"a"};
  inner.outputs = {"b"};
  inner.attributes = {"factor"};
  Attribute factor("value_float", 0.0F);
  factor.data = std::monostate{};
  factor.kind = AttributeKind::real;
  factor.ref = std::string("factor");
  inner.nodes = {node("Constant", {}, {"f"}, {factor}), node("Mul", {"a", "f"}, {"b"})};
  inner.opsets = {{"", 17}};
  FunctionDef outer;
  outer.name = "Twice";
  outer.domain = "local";
  outer.inputs = {"p", "q"};
  outer.outputs = {"r"};
  outer.nodes = {node("Scaled", {"p"}, {"s"}, {{"factor", 2.0F}}, "local"),
                 node("Add", {"s", "q"}, {"r"})};
  outer.opsets = {{"", 17}, {"local", 1}};
  GraphDef graph;
  graph.inputs = {floats("x", {"N", std::int64_t{2}})};
  graph.outputs = {floats("y", {"N", std::int64_t{2}})};
  graph.initializers = {{"w", Tensor::of<float>({2}, {0.5F, 2}), "", {}}};
  SparseTensorDef sparse;
  sparse.name = "sparse";
  sparse.values = Tensor::of<float>({1}, {3});
  sparse.indices = Tensor::of<std::int64_t>({1}, {1});
  sparse.dims = {2};
  graph.sparse_initializers = {sparse};
  graph.nodes = {node("Twice", {"x", "w"}, {"t"}, {}, "local"),
                 node("Add", {"t", "sparse"}, {"y"})};
  ModelDef model = model_of(std::move(graph));
  model.opsets.push_back({"local", 1});
  model.functions = {inner, outer};
  add_training(model, "y", "w", {2});
  return model;
}

ModelDef convolutional() {
  GraphDef graph;
  graph.inputs = {floats("x", {"N", std::int64_t{1}, std::int64_t{6}, std::int64_t{6}})};
  graph.outputs = {floats("y", {"N", "F"})};
  graph.initializers = {{"k", Tensor(DType::float32, {2, 1, 3, 3}), "", {}},
                        {"scale", Tensor::of<float>({2}, {1, 1}), "", {}},
                        {"mean", Tensor::of<float>({2}, {0, 0.5F}), "", {}},
                        {"rows", Tensor::of<std::int64_t>({2}, {0, -1}), "", {}}};
  graph.nodes = {node("Conv", {"x", "k"}, {"c"},
                      {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}},
                       {"strides", std::vector<std::int64_t>{1, 1}}}),
                 node("BatchNormalization", {"c", "scale", "mean", "mean", "scale"}, {"n"}),
                 node("MaxPool", {"n"}, {"p"}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}}),
                 node("Gather", {"p", "rows"}, {"g"}, {{"axis", std::int64_t{1}}}),
                 node("Shape", {"g"}, {"s"}),
                 node("Flatten", {"g"}, {"f"}),
                 node("Softmax", {"f"}, {"y"}, {{"axis", std::int64_t{1}}})};
  ModelDef model = model_of(std::move(graph));
  add_training(model, "y", "k", {2, 1, 3, 3});
  return model;
}

ModelDef with_sequences() {
  GraphDef graph;
  graph.inputs = {floats("x", {"N", std::int64_t{2}})};
  graph.outputs = {floats("y", {"M"}), tensor_value("n", DType::int64, {})};
  graph.initializers = {{"w", Tensor::of<float>({2}, {0.5F, 2}), "", {}},
                        {"at", Tensor::scalar(std::int64_t{-1}), "", {}},
                        {"sizes", Tensor::of<std::int64_t>({2}, {1, 1}), "", {}}};
  graph.nodes = {node("Mul", {"x", "w"}, {"xw"}), node("SequenceConstruct", {"xw", "x"}, {"seq"}),
                 node("SequenceInsert", {"seq", "w"}, {"longer"}),
                 node("SequenceAt", {"longer", "at"}, {"y"}),
                 node("SequenceLength", {"longer"}, {"n"})};
  ModelDef model = model_of(std::move(graph));
  add_training(model, "y", "w", {2});
  return model;
}

}  // namespace

const std::vector<ModelDef>& base_models() {
  static const std::vector<ModelDef> all{
      linear_regression(0.1F), dropout_classifier(), with_loop(),     with_scan_and_if(),
      with_functions(),        convolutional(),      with_sequences()};
  return all;
}

}  // namespace ondine::test
