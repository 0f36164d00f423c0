#include "graph/training/prepare/training_mode.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/message.h"
#include "graph/training/prepare/parameters/initializers.h"
#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/renaming.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {
namespace {

bool has_mode(const NodeDef& node) {
  return is_standard(node, "Dropout") || is_standard(node, "BatchNormalization");
}

void set(NodeDef& node, const std::string& name, Attribute::Data data) {
  std::erase_if(node.attributes, [&](const Attribute& one) { return one.name == name; });
  node.attributes.emplace_back(name, std::move(data));
}

// The nodes on the way to values, in their order.
std::vector<const NodeDef*> needed_for(const GraphDef& graph,
                                       const std::vector<std::string>& values) {
  std::set<std::string> wanted(values.begin(), values.end());
  std::vector<const NodeDef*> result;
  const auto& nodes = graph.nodes;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (std::none_of(node->outputs.begin(), node->outputs.end(),
                     [&](const std::string& name) { return wanted.count(name); })) {
      continue;
    }
    for (const std::string& name : reads_of(*node)) wanted.insert(name);
    result.push_back(&*node);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

class TrainingCopy {
 public:
  TrainingCopy(GraphWriter& writer, const ModelDef& model, DType dtype,
               const ParameterChoice& parameters, const QuantizedNetwork& quantized,
               Properties& bindings, const Renaming& instead)
      : writer_(&writer),
        model_(&model),
        dtype_(dtype),
        parameters_(&parameters),
        quantized_(&quantized),
        bindings_(&bindings),
        initializers_(model.graph),
        producers_(producers_of(model.graph)),
        renamed_(instead) {
    for (const FunctionDef& function : model.functions) {
      functions_[{function.domain, function.name, function.overload}] = &function;
    }
  }

  std::vector<std::string> copy(std::vector<std::string> values) {
    for (const NodeDef* node : needed_for(model_->graph, values)) {
      if (const NodeDef* inner = hidden_in(*node)) refuse(*inner, *node);
      const std::vector<std::string> reads = reads_of(*node);
      const bool affected =
          trains(*node) || std::any_of(reads.begin(), reads.end(),
                                       [&](const auto& name) { return renamed_.count(name); });
      if (affected) write(*node);
      if (std::any_of(reads.begin(), reads.end(), [&](const std::string& name) {
            return learned_.contains(name) || parameters_->trains(name);
          })) {
        learned_.insert(node->outputs.begin(), node->outputs.end());
      }
    }
    for (std::string& value : values) value = renamed(value);
    return values;
  }

 private:
  // Without parameters of its own BatchNormalization trains where its input does.
  bool trains(const NodeDef& node) const {
    if (is_standard(node, "Dropout") || is_observed(node)) return true;
    if (!is_standard(node, "BatchNormalization") || node.inputs.size() < 5) return false;
    if (!has_statistics(node)) return false;
    if (parameters_->trains(node.inputs[1]) || parameters_->trains(node.inputs[2])) return true;
    return !parameters_->excluded_names.contains(node.inputs[1]) &&
           !parameters_->excluded_names.contains(node.inputs[2]) &&
           learned_.contains(node.inputs[0]);
  }

  bool is_observed(const NodeDef& node) const {
    return is_standard(node, "QuantizeLinear") && quantized_->activations.contains(node.inputs[1]);
  }

  // Others than the initializers are those of the batch, which need no training mode.
  bool has_statistics(const NodeDef& node) const {
    const auto kept = [&](const std::string& name) {
      if (initializers_.find(name) != nullptr) return true;
      if (copies_initializer(name)) {
        fail(ErrorCode::unsupported, "running statistics ", quoted(name),
             " of BatchNormalization are a copy of others, which an exporter writes for equal "
             "ones; prepare without training mode");
      }
      return false;
    };
    return kept(node.inputs[3]) && kept(node.inputs[4]);
  }

  bool copies_initializer(const std::string& name) const {
    const NodeDef* node = standard_producer(producers_, name);
    return node != nullptr && node->op == "Identity" &&
           initializers_.find(node->inputs[0]) != nullptr;
  }

  // The first node with a training mode in subgraphs of `node` and the functions that it calls, or
  // nullptr. Visits each function once, however often it is called.
  const NodeDef* hidden_in(const NodeDef& node) {
    for (const auto& subgraph : subgraphs_of(node)) {
      if (const NodeDef* inner = first_with_mode(subgraph->nodes)) return inner;
    }
    if (functions_.empty()) return nullptr;
    const auto called = functions_.find({node.domain, node.op, *node.overload});
    if (called == functions_.end()) return nullptr;
    const auto [entry, added] = hidden_in_function_.try_emplace(called->second, nullptr);
    if (added) entry->second = first_with_mode(called->second->nodes);
    return entry->second;
  }

  const NodeDef* first_with_mode(const std::vector<NodeDef>& nodes) {
    for (const NodeDef& node : nodes) {
      if (has_mode(node)) return &node;
      if (const NodeDef* inner = hidden_in(node)) return inner;
    }
    return nullptr;
  }

  [[noreturn]] static void refuse(const NodeDef& inner, const NodeDef& outer) {
    fail(ErrorCode::unsupported, "training mode of ", inner.op, " inside node ",
         quoted(outer.name.empty() ? outer.outputs[0] : outer.name), " (", outer.op,
         "); prepare without training mode to keep it as it is");
  }

  const std::string& renamed(const std::string& name) const {
    return graph::renamed(renamed_, name);
  }

  void write(const NodeDef& original) {
    if (is_standard(original, "Dropout") && writer_->opset() < 12) {
      write_old_dropout(original);
      return;
    }
    if (is_observed(original)) write_scale(original);
    NodeDef node = renamed_copy(original, "train.", writer_->names(), renamed_);
    if (is_standard(node, "Dropout")) set_dropout(node);
    if (trains(original) && is_standard(node, "BatchNormalization")) set_batch_norm(node);
    writer_->graph().nodes.push_back(std::move(node));
  }

  // The nodes of the copy read the scale of this step, which the state is to become.
  void write_scale(const NodeDef& quantize) {
    const std::string& scale = quantize.inputs[1];
    const std::string next = write_activation_scale(*writer_, renamed(quantize.inputs[0]), scale,
                                                    quantized_->activations.find(scale)->second);
    writer_->output(next, initializers_.find(scale)->value);
    bindings_->emplace_back(scale, next);
    renamed_[scale] = next;
  }

  // Without its seed: a mask of its own in every step.
  void set_dropout(NodeDef& node) {
    if (always_.empty()) always_ = writer_->initializer("train.mode", Tensor::scalar(true));
    std::erase_if(node.attributes, [](const Attribute& one) { return one.name == "seed"; });
    node.inputs.resize(3);
    node.inputs[2] = always_;
  }

  // Until version 12 Dropout passes its input on. y = x [u >= ratio] / (1 - ratio), u in [0, 1).
  void write_old_dropout(const NodeDef& original) {
    const Attribute* given = find(original.attributes, "ratio");
    const auto* value = given == nullptr ? nullptr : std::get_if<float>(&given->data);
    const double ratio = value == nullptr ? 0.5 : static_cast<double>(*value);
    const std::string x = renamed(original.inputs.at(0));
    const std::string hint = "train." + original.outputs.at(0);
    const std::string bound = writer_->scalar(hint + ".ratio", ratio, dtype_);
    const std::string scale =
        writer_->scalar(hint + ".scale", ratio < 1 ? 1 / (1 - ratio) : 0, dtype_);
    const std::string u = writer_->node("RandomUniformLike", {x}, hint + ".uniform",
                                        {{"dtype", static_cast<std::int64_t>(dtype_)}});
    const std::string dropped = writer_->node("Less", {u, bound}, hint + ".dropped");
    const std::string kept = writer_->node("Not", {dropped}, hint + ".kept");
    const std::string mask = writer_->cast(kept, dtype_, hint + ".mask");
    const std::string scaled = writer_->node("Mul", {mask, scale}, hint + ".scaled_mask");
    renamed_[original.outputs[0]] = writer_->node("Mul", {x, scaled}, hint);
    if (original.outputs.size() > 1 && !original.outputs[1].empty()) {
      renamed_[original.outputs[1]] = writer_->opset() < 10 ? mask : kept;
    }
  }

  // Statistics of the batch; outputs 1 and 2 are the next running mean and variance.
  void set_batch_norm(NodeDef& node) {
    const Attribute* spatial = find(node.attributes, "spatial");
    const auto* each = spatial == nullptr ? nullptr : std::get_if<std::int64_t>(&spatial->data);
    if (each != nullptr && *each == 0) {
      fail(ErrorCode::unsupported, "training mode of BatchNormalization with spatial = 0; ",
           "convert the model to a newer opset first");
    }
    if (writer_->opset() >= 14) set(node, "training_mode", std::int64_t{1});
    node.outputs.resize(1);
    const std::string y = node.outputs[0];
    for (std::size_t i : {std::size_t{3}, std::size_t{4}}) {
      const std::string statistic = node.inputs[i];
      const std::string next = writer_->names().fresh(statistic + ".next");
      node.outputs.push_back(next);
      writer_->output(next, initializers_.find(statistic)->value);
      // A layer that is used again goes on from what its use before gave.
      const auto [before, added] = bound_.try_emplace(statistic, bindings_->size());
      if (added) {
        bindings_->emplace_back(statistic, next);
      } else {
        node.inputs[i] = std::exchange((*bindings_)[before->second].second, next);
      }
    }
    if (writer_->opset() < 14) {  // five outputs mean training
      node.outputs.push_back(writer_->names().fresh(y + ".batch_mean"));
      node.outputs.push_back(writer_->names().fresh(y + ".batch_var"));
    }
  }

  GraphWriter* writer_;
  const ModelDef* model_;
  DType dtype_;
  const ParameterChoice* parameters_;
  const QuantizedNetwork* quantized_;
  Properties* bindings_;
  InitializerIndex initializers_;
  Producers producers_;
  std::map<std::tuple<std::string, std::string, std::string>, const FunctionDef*> functions_;
  std::map<std::string, std::size_t> bound_;  // statistics, and where `bindings` has them
  Renaming renamed_;
  Strings learned_;  // values that trained parameters reach
  std::map<const FunctionDef*, const NodeDef*> hidden_in_function_;
  std::string always_;
};

}  // namespace

std::vector<std::string> write_training_copy(GraphWriter& writer, const ModelDef& model,
                                             const std::vector<std::string>& values, DType dtype,
                                             const ParameterChoice& parameters,
                                             const QuantizedNetwork& quantized,
                                             Properties& bindings, const Renaming& instead) {
  return TrainingCopy(writer, model, dtype, parameters, quantized, bindings, instead).copy(values);
}

std::vector<std::string> write_copy(GraphWriter& writer, const ModelDef& model,
                                    const std::vector<std::string>& values,
                                    const Renaming& instead) {
  Renaming names = instead;
  for (const NodeDef* node : needed_for(model.graph, values)) {
    const std::vector<std::string> reads = reads_of(*node);
    const bool affected = std::any_of(reads.begin(), reads.end(),
                                      [&](const auto& name) { return names.contains(name); });
    if (affected) {
      writer.graph().nodes.push_back(renamed_copy(*node, "train.", writer.names(), names));
    }
  }
  std::vector<std::string> copies;
  for (const std::string& value : values) copies.push_back(renamed(names, value));
  return copies;
}

}  // namespace ondine::graph
