#include "graph/training/prepare/head/linear_models.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/training/prepare/writer.h"

namespace ondine::graph {
namespace {

template <class T>
T attribute(const NodeDef& node, std::string_view name, T otherwise) {
  const Attribute* found = find(node.attributes, name);
  const T* value = found == nullptr ? nullptr : std::get_if<T>(&found->data);
  return value == nullptr ? std::move(otherwise) : *value;
}

struct LinearModel {
  std::int64_t rows = 0;
  std::vector<float> coefficients;  // [rows, features]
  std::vector<float> intercepts;    // [rows]
  std::string transform;            // operator, or empty
  Tensor labels;                    // of a classifier
};

// The labels of a classifier; undefined if there are none or both kinds.
Tensor labels_of(const NodeDef& node) {
  const auto ints = attribute<std::vector<std::int64_t>>(node, "classlabels_ints", {});
  const auto texts = attribute<std::vector<std::string>>(node, "classlabels_strings", {});
  if (ints.empty() == texts.empty()) return {};
  if (texts.empty()) return Tensor::of({static_cast<std::int64_t>(ints.size())}, ints);
  Tensor result(DType::string, Shape{static_cast<std::int64_t>(texts.size())});
  const auto values = result.mutable_values<std::string>();
  std::copy(texts.begin(), texts.end(), values.begin());
  return result;
}

// Empty for a node that stays.
std::optional<LinearModel> read(const NodeDef& node) {
  const bool classifies = node.op == "LinearClassifier";
  if (node.domain != "ai.onnx.ml" || (!classifies && node.op != "LinearRegressor")) return {};
  LinearModel model;
  model.coefficients = attribute<std::vector<float>>(node, "coefficients", {});
  if (classifies) model.labels = labels_of(node);
  if (classifies && !model.labels.defined()) return {};
  model.rows = classifies ? model.labels.size() : attribute<std::int64_t>(node, "targets", 1);
  const auto rows = static_cast<std::size_t>(model.rows);
  if (model.rows < 1 || model.coefficients.empty() || model.coefficients.size() % rows != 0) {
    return {};
  }
  model.intercepts = attribute<std::vector<float>>(node, "intercepts", std::vector<float>(rows));
  // As many intercepts as rows of coefficients: one of them for two classes.
  if (model.intercepts.size() != rows) return {};
  const std::string transform = attribute<std::string>(node, "post_transform", "NONE");
  if (transform == "SOFTMAX") {
    model.transform = "Softmax";
  } else if (transform == "LOGISTIC") {
    model.transform = "Sigmoid";
  } else if (transform != "NONE") {
    return {};
  }
  return model;
}

class Expansion {
 public:
  Expansion(GraphDef& graph, Names& names) : graph_(&graph), writer_(part_, names, 0) {}

  void run() {
    for (NodeDef& node : std::exchange(graph_->nodes, {})) {
      if (const auto model = read(node)) {
        write(node, *model);
      } else {
        part_.nodes.push_back(std::move(node));
      }
    }
    graph_->nodes = std::move(part_.nodes);
    for (InitializerDef& one : part_.initializers) graph_->initializers.push_back(std::move(one));
  }

 private:
  std::string scores(const NodeDef& node, const LinearModel& model) {
    const std::string name = node.name.empty() ? node.op : node.name;
    const std::int64_t features = static_cast<std::int64_t>(model.coefficients.size()) / model.rows;
    const std::string shape =
        writer_.initializer(name + ".shape", Tensor::of<std::int64_t>({2}, {-1, features}));
    const std::string number = writer_.cast(node.inputs.at(0), DType::float32, name + ".input");
    const std::string rows = writer_.node("Reshape", {number, shape}, name + ".rows");
    const std::string w = writer_.initializer(
        name + ".coefficients", Tensor::of({model.rows, features}, model.coefficients));
    const std::string b =
        writer_.initializer(name + ".intercepts", Tensor::of({model.rows}, model.intercepts));
    return writer_.node("Gemm", {rows, w, b}, name + ".scores", {{"transB", std::int64_t{1}}});
  }

  void copy_to(const std::string& name, const std::string& op, const std::string& value,
               Attributes attributes = {}) {
    if (name.empty()) return;
    NodeDef node;
    node.op = op;
    node.inputs = {value};
    node.outputs = {name};
    node.attributes = std::move(attributes);
    part_.nodes.push_back(std::move(node));
  }

  void write(const NodeDef& node, const LinearModel& model) {
    const std::string found = scores(node, model);
    const std::size_t at = model.labels.defined() ? 1 : 0;
    if (node.outputs.size() > at) {
      Attributes attributes;
      if (model.transform == "Softmax") attributes = {{"axis", std::int64_t{1}}};
      copy_to(node.outputs[at], model.transform.empty() ? "Identity" : model.transform, found,
              std::move(attributes));
    }
    if (!model.labels.defined() || node.outputs[0].empty()) return;
    const std::string best =
        writer_.node("ArgMax", {found}, node.outputs[0] + ".index",
                     {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}});
    const std::string labels = writer_.initializer(node.outputs[0] + ".labels", model.labels);
    NodeDef chosen;
    chosen.op = "Gather";
    chosen.inputs = {labels, best};
    chosen.outputs = {node.outputs[0]};
    part_.nodes.push_back(std::move(chosen));
  }

  GraphDef* graph_;
  GraphDef part_;
  GraphWriter writer_;
};

}  // namespace

void expand_linear_models(GraphDef& graph, Names& names) {
  for (const NodeDef& node : graph.nodes) {
    if (read(node)) return Expansion(graph, names).run();
  }
}

}  // namespace ondine::graph
