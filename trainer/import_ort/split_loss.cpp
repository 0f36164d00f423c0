#include "trainer/import_ort/split_loss.h"

#include <algorithm>
#include <string_view>

#include "core/message.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/writer.h"

namespace ondine::trainer {
namespace {

using graph::GraphDef;
using graph::NodeDef;
using graph::Strings;
using graph::ValueDef;

bool reads_one_of(const NodeDef& node, const Strings& values) {
  return std::ranges::any_of(graph::reads_of(node),
                             [&](const std::string& name) { return values.contains(name); });
}

// onnxblock names what it adds "onnx::", a word, "::" and a number.
bool is_onnxblock_name(std::string_view name) {
  constexpr std::string_view start = "onnx::";
  const std::size_t last = name.rfind("::");
  if (!name.starts_with(start) || last == name.npos || last < start.size()) return false;
  const std::string_view number = name.substr(last + 2);
  return !number.empty() && number.find_first_not_of("0123456789") == number.npos;
}

// Whether a node that reads a parameter depends on the input.
bool leads_to_parameters(const GraphDef& graph, const std::string& input,
                         const Strings& parameters) {
  Strings reached{input};
  for (const NodeDef& node : graph.nodes) {
    if (!reads_one_of(node, reached)) continue;
    if (reads_one_of(node, parameters)) return true;
    reached.insert(node.outputs.begin(), node.outputs.end());
    reached.erase("");
  }
  return false;
}

class Splitter {
 public:
  Splitter(const graph::ModelDef& model, const graph::ValueTypes& types, const Strings& parameters)
      : model_(model), main_(model.graph), types_(types), parameters_(parameters) {}

  SplitModel split(const std::vector<std::string>& labels) {
    if (main_.outputs.empty()) fail(ErrorCode::mismatch, "has no output, needed is the loss");
    find_labels(labels);
    find_loss_nodes();
    find_reads();
    SplitModel result;
    result.labels.assign(labels_.begin(), labels_.end());
    result.loss = make_loss();
    result.network = make_network(result.dropped);
    return result;
  }

 private:
  const std::string& loss_value() const { return main_.outputs[0].name; }

  void find_labels(const std::vector<std::string>& given) {
    for (const ValueDef& input : main_.inputs) {
      if (!given.empty() || leads_to_parameters(main_, input.name, parameters_)) continue;
      labels_.insert(input.name);
    }
    for (const std::string& name : given) {
      const bool is_input = std::ranges::any_of(
          main_.inputs, [&](const ValueDef& input) { return input.name == name; });
      if (!is_input) fail(ErrorCode::mismatch, "has no input ", quoted(name), " to be a label");
      labels_.insert(name);
    }
  }

  void find_loss_nodes() {
    Strings after = labels_;
    for (const NodeDef& node : main_.nodes) {
      const bool is_loss =
          reads_one_of(node, after) || std::ranges::any_of(node.outputs, is_onnxblock_name);
      in_loss_.push_back(is_loss);
      if (is_loss) after.insert(node.outputs.begin(), node.outputs.end());
      after.erase("");
    }
    after_ = std::move(after);
  }

  // Finds the values that the loss's nodes read from outside of the loss. Constant nodes that the
  // loss reads are copied into it.
  void find_reads() {
    Strings needed{loss_value()};
    for (std::size_t i = main_.nodes.size(); i-- > 0;) {
      const NodeDef& node = main_.nodes[i];
      const bool wanted = std::ranges::any_of(
          node.outputs, [&](const std::string& name) { return needed.contains(name); });
      const bool is_constant = graph::is_standard(node, "Constant");
      if (!wanted || !(in_loss_[i] || is_constant)) continue;
      loss_nodes_.push_back(node);
      if (is_constant) needed.erase(node.outputs.at(0));
      for (std::string& name : graph::reads_of(node)) needed.insert(std::move(name));
    }
    std::ranges::reverse(loss_nodes_);
    for (const graph::InitializerDef& one : main_.initializers) {
      if (parameters_.contains(one.name) || !needed.contains(one.name)) continue;
      constants_.push_back(one);
      needed.erase(one.name);
    }
    for (const std::string& name : needed) {
      if (!after_.contains(name)) reads_.push_back(name);
    }
  }

  ValueDef typed(const std::string& name) const {
    const auto type = types_.find(name);
    if (type == types_.end()) {
      fail(ErrorCode::mismatch, "the type of ", quoted(name), ", which the loss reads, is unknown");
    }
    ValueDef value;
    value.name = name;
    value.type = type->second;
    return value;
  }

  graph::ModelDef make_loss() const {
    graph::ModelDef loss;
    loss.ir_version = model_.ir_version;
    loss.opsets = model_.opsets;
    loss.graph.name = "loss";
    loss.graph.nodes = loss_nodes_;
    loss.graph.initializers = constants_;
    for (const std::string& name : reads_) loss.graph.inputs.push_back(typed(name));
    for (const ValueDef& input : main_.inputs) {
      if (labels_.contains(input.name)) loss.graph.inputs.push_back(input);
    }
    loss.graph.outputs = {main_.outputs[0]};
    if (has_one_element()) {
      append(loss.graph, "ReduceSum").attributes.emplace_back("keepdims", std::int64_t{0});
      loss.graph.outputs[0].type =
          graph::tensor_type(loss.graph.outputs[0].type.dtype, std::vector<graph::DimDef>{});
    } else if (loss_nodes_.empty()) {
      append(loss.graph, "Identity");
    }
    return loss;
  }

  // A node that makes the loss of what the model has for it.
  NodeDef& append(GraphDef& loss, const std::string& op) const {
    NodeDef& node = loss.nodes.emplace_back();
    node.op = op;
    node.inputs = {loss_value()};
    node.outputs = {graph::Names(model_).fresh("loss")};
    loss.outputs[0].name = node.outputs[0];
    return node;
  }

  // Whether the loss has dims, all of size 1, as of products with a Constant of onnxblock, which
  // has the shape [1].
  bool has_one_element() const {
    const auto type = types_.find(loss_value());
    const bool is_inferred = type != types_.end() && type->second.dims;
    const auto& dims = is_inferred ? type->second.dims : main_.outputs[0].type.dims;
    return dims && !dims->empty() && std::ranges::all_of(*dims, [](const graph::DimDef& one) {
             const auto* size = std::get_if<std::int64_t>(&one);
             return size != nullptr && *size == 1;
           });
  }

  graph::ModelDef make_network(std::vector<std::string>& dropped) const {
    graph::ModelDef network = model_;
    GraphDef& graph = network.graph;
    graph.nodes.clear();
    Strings made;
    Strings read;
    for (std::size_t i = 0; i < main_.nodes.size(); ++i) {
      const NodeDef& node = main_.nodes[i];
      if (in_loss_[i]) continue;
      graph.nodes.push_back(node);
      made.insert(node.outputs.begin(), node.outputs.end());
      for (std::string& name : graph::reads_of(node)) read.insert(std::move(name));
    }
    std::erase_if(graph.inputs, [&](const ValueDef& one) { return labels_.contains(one.name); });
    std::erase_if(graph.initializers, [&](const graph::InitializerDef& one) {
      return !read.contains(one.name) && !parameters_.contains(one.name);
    });
    std::erase_if(graph.value_infos, [&](const ValueDef& one) { return !made.contains(one.name); });
    graph.outputs.clear();
    for (const std::string& name : reads_) {
      if (made.contains(name)) graph.outputs.push_back(typed(name));
    }
    for (const ValueDef& output : main_.outputs) {
      if (after_.contains(output.name)) {
        if (output.name != loss_value()) dropped.push_back(output.name);
      } else if (std::ranges::find(reads_, output.name) == reads_.end()) {
        graph.outputs.push_back(output);
      }
    }
    std::erase_if(graph.value_infos, [&](const ValueDef& one) {
      return std::ranges::any_of(graph.outputs,
                                 [&](const ValueDef& output) { return output.name == one.name; });
    });
    return network;
  }

  const graph::ModelDef& model_;
  const GraphDef& main_;
  const graph::ValueTypes& types_;
  const Strings& parameters_;
  Strings labels_;
  std::vector<bool> in_loss_;
  Strings after_;  // labels and the results of the loss's nodes
  std::vector<NodeDef> loss_nodes_;
  std::vector<graph::InitializerDef> constants_;
  std::vector<std::string> reads_;
};

}  // namespace

SplitModel split_loss(const graph::ModelDef& model, const graph::ValueTypes& types,
                      const graph::Strings& parameters, const std::vector<std::string>& labels) {
  return Splitter(model, types, parameters).split(labels);
}

}  // namespace ondine::trainer
