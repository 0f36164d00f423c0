#include "graph/training/cut_step.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/message.h"
#include "graph/check/location.h"
#include "graph/training/combine.h"
#include "graph/training/gradient_names.h"
#include "graph/training/nodes_within.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/writer.h"
#include "graph/training/sum_loss.h"

namespace ondine::graph {
namespace {

using Strings = std::set<std::string, std::less<>>;

bool is_gradient(const NodeDef& node) {
  return node.domain == training_domain && node.op == "Gradient";
}

bool is_random(const NodeDef& node) {
  return node.domain.empty() &&
         one_of(node.op, {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
                          "Bernoulli", "Multinomial", "Dropout"});
}

// Whether a graph looks for infinities: by operators for it, or by a comparison with infinity as
// that of a scaled loss.
bool finds_infinities(const GraphDef& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const NodeDef& node) {
                       return is_standard(node, "IsInf") || is_standard(node, "IsNaN");
                     }) ||
         std::any_of(graph.initializers.begin(), graph.initializers.end(),
                     [](const InitializerDef& one) {
                       return one.value.dtype() == DType::float32 && one.value.size() == 1 &&
                              std::isinf(one.value.values<float>()[0]);
                     });
}

class Cutter {
 public:
  Cutter(const ModelDef& model, std::size_t algorithm, std::span<const std::string> rows,
         const MeanWeights& weights)
      : model_(&model),
        info_(&model.training[algorithm]),
        graph_(combine(model, algorithm)),
        rows_(rows.begin(), rows.end()),
        weights_(weights.begin(), weights.end()),
        local_(rows_) {
    for (const NodeDef& node : graph_.nodes) {
      for (const std::string& output : node.outputs) {
        if (!output.empty()) producers_.emplace(output, &node);
      }
    }
    follow_rows();
    find_needed();
  }

  CutStep run(std::span<const std::string> fetched) {
    Strings roots(fetched.begin(), fetched.end());
    for (const auto& [variable, output] : info_->update_binding) {
      roots.insert(output);
      bound_.insert(output);
    }
    std::vector<std::string> open(roots.begin(), roots.end());
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      visit(name, open);
    }
    set_weights();
    make_rows();
    make_update(roots);
    require_one_draw();
    return std::move(result_);
  }

 private:
  // Marks what depends on the rows, and on Gradient nodes.
  void follow_rows() {
    NodesWithin gradients(*model_, is_gradient);
    for (const NodeDef& node : graph_.nodes) {
      const bool differentiates = is_gradient(node);
      if (!differentiates && gradients.contains(node)) {
        fail(
            ErrorCode::unsupported, describe(node),
            " takes a Gradient inside: a step in micro-shards needs Gradient nodes in the graph of "
            "the algorithm itself");
      }
      std::vector<std::string> reads = reads_of(node);
      for (std::string& name : named_by_gradients(node)) reads.push_back(std::move(name));
      const auto any = [&](const Strings& set) {
        return std::any_of(reads.begin(), reads.end(),
                           [&](const std::string& name) { return set.contains(name); });
      };
      const bool is_local = differentiates || any(local_);
      const bool is_trained = differentiates || any(trained_);
      const bool counts = !is_trained && is_local && only_counts(node, reads);
      for (const std::string& output : node.outputs) {
        if (output.empty()) continue;
        if (is_local) local_.insert(output);
        if (is_trained) trained_.insert(output);
        if (counts) counting_.insert(output);
      }
    }
  }

  // Whether all that the node knows of the rows is their number.
  bool only_counts(const NodeDef& node, const std::vector<std::string>& reads) const {
    return row_index(node) != nullptr ||
           std::all_of(reads.begin(), reads.end(), [&](const std::string& name) {
             return !local_.contains(name) || counting_.contains(name);
           });
  }

  // The index 0 by which the node takes the number of rows from the shape of what is fed; nullptr
  // where it is another node.
  const Tensor* row_index(const NodeDef& node) const {
    if (!is_standard(node, "Gather") || node.inputs.size() != 2) return nullptr;
    const auto shape = producers_.find(node.inputs[0]);
    const InitializerDef* const index = find_initializer(graph_, node.inputs[1]);
    const bool fits = shape != producers_.end() && is_standard(*shape->second, "Shape") &&
                      shape->second->attributes.empty() &&
                      rows_.contains(shape->second->inputs[0]) && index != nullptr &&
                      index->value.dtype() == DType::int64 && index->value.size() == 1 &&
                      index->value.values<std::int64_t>()[0] == 0;
    return fits ? &index->value : nullptr;
  }

  // Marks what Gradient nodes need.
  void find_needed() {
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      const bool is_needed =
          is_gradient(*node) ||
          std::any_of(node->outputs.begin(), node->outputs.end(),
                      [&](const std::string& name) { return needed_.contains(name); });
      if (!is_needed) continue;
      for (std::string& name : reads_of(*node)) needed_.insert(std::move(name));
      for (std::string& name : named_by_gradients(*node)) needed_.insert(std::move(name));
    }
  }

  void visit(const std::string& name, std::vector<std::string>& open) {
    if (name.empty() || !seen_.insert(name).second) return;
    const auto found = producers_.find(name);
    const NodeDef* const producer = found == producers_.end() ? nullptr : found->second;
    if (counting_.contains(name)) {
      if (const Tensor* const index = row_index(*producer)) {
        result_.counts.push_back({name, index->shape()});
        return;
      }
    } else if (local_.contains(name)) {
      if (producer != nullptr && is_gradient(*producer)) return cut_gradient(*producer, name);
      if (!trained_.contains(name) || needed_.contains(name)) {
        const bool is_bound = bound_.contains(name);
        result_.values.push_back({name, is_bound ? CutKind::statistic : CutKind::number, {}});
        return;
      }
    }
    if (producer == nullptr) return;
    updating_.insert(producer);
    for (std::string& read : reads_of(*producer)) open.push_back(std::move(read));
  }

  void cut_gradient(const NodeDef& node, const std::string& name) {
    const auto names = gradient_names(node);
    const auto at = std::find(node.outputs.begin(), node.outputs.end(), name);
    const auto index = static_cast<std::size_t>(at - node.outputs.begin());
    if (!names || index >= names->xs.size()) {
      fail(ErrorCode::invalid_model, describe(node), " has no tensor in xs for output ",
           quoted(name));
    }
    const std::string& x = names->xs[index];
    ys_[name] = names->y;
    if (local_.contains(x)) {
      fail(ErrorCode::unsupported, describe(node), " differentiates by ", quoted(x),
           ", which depends on the rows: a step in micro-shards updates from derivatives by state "
           "variables");
    }
    result_.values.push_back({name, CutKind::gradient, x});
    if (!local_.contains(names->y) || !losses_.insert(names->y).second) return;
    if (const NodeDef* const sum = sums_rows(producers_, local_, names->y)) {
      fail(ErrorCode::unsupported, "the loss ", quoted(names->y), " is a sum over rows, by ",
           describe(*sum), ": micro-shards are averaged, which needs a loss that is a mean");
    }
    result_.losses.push_back(names->y);
  }

  // The weights of the means that a value is made of.
  Strings weights_of(const std::string& value) const {
    Strings seen, found;
    std::vector<std::string> open{value};
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      if (!seen.insert(name).second) continue;
      if (const auto weight = weights_.find(name); weight != weights_.end()) {
        found.insert(weight->second);
        continue;
      }
      const auto producer = producers_.find(name);
      if (producer == producers_.end()) continue;
      for (std::string& read : reads_of(*producer->second)) open.push_back(std::move(read));
    }
    return found;
  }

  // Weights come first among the values.
  void set_weights() {
    if (weights_.empty()) return;
    Strings used;
    for (const auto& [mean, weight] : weights_) used.insert(weight);
    const Strings all = std::exchange(used, {});
    for (CutValue& value : result_.values) {
      if (value.kind == CutKind::statistic) continue;
      const bool is_gradient = value.kind == CutKind::gradient;
      const Strings found = all.contains(value.name)
                                ? Strings{value.name}
                                : weights_of(is_gradient ? ys_.at(value.name) : value.name);
      if (found.size() > 1) {
        fail(ErrorCode::unsupported, quoted(value.name), " is made of means over ",
             quoted(*found.begin()), " and over ", quoted(*std::next(found.begin())),
             ": micro-shards are averaged, which needs one of them");
      }
      if (found.empty()) continue;
      value.weight = *found.begin();
      used.insert(value.weight);
    }
    for (const CutValue& value : result_.values) used.erase(value.name);
    for (const std::string& weight : used) {
      result_.values.push_back({weight, CutKind::number, {}, weight});
    }
    std::stable_partition(result_.values.begin(), result_.values.end(),
                          [](const CutValue& value) { return value.weight == value.name; });
  }

  EvaluationModel part() const {
    EvaluationModel result;
    result.model = *model_;
    result.model.training.clear();
    result.model.graph = graph_;
    return result;
  }

  void make_rows() {
    result_.rows = part();
    GraphDef& graph = result_.rows.model.graph;
    graph.outputs.clear();
    Strings added;
    for (const CutValue& value : result_.values) {
      result_.rows.default_outputs.push_back(value.name);
      if (added.insert(value.name).second) graph.outputs.push_back({value.name, {}, {}, {}});
    }
    for (const std::string& loss : result_.losses) {
      if (added.insert(loss).second) graph.outputs.push_back({loss, {}, {}, {}});
    }
    keep_needed(result_.rows);
  }

  void make_update(const Strings& roots) {
    result_.update = part();
    GraphDef& graph = result_.update.model.graph;
    graph.nodes.clear();
    for (const NodeDef& node : graph_.nodes) {
      if (updating_.contains(&node)) graph.nodes.push_back(node);
    }
    std::erase_if(graph.outputs, [&](const ValueDef& one) { return !roots.contains(one.name); });
    Strings cut;
    for (const CutValue& value : result_.values) {
      cut.insert(value.name);
      graph.inputs.push_back({value.name, {}, {}, {}});
    }
    for (const RowCount& count : result_.counts) {
      cut.insert(count.name);
      graph.inputs.push_back(
          {count.name, tensor_type(DType::int64, to_dim_defs(count.shape)), {}, {}});
    }
    for (NodeDef& node : graph.nodes) {
      for (std::string& output : node.outputs) {
        if (cut.contains(output)) output.clear();
      }
    }
    std::erase_if(graph.value_infos, [&](const ValueDef& one) { return cut.contains(one.name); });
    keep_needed(result_.update);
    result_.handles_infinities = finds_infinities(graph);
  }

  // Random numbers that both parts draw would differ.
  void require_one_draw() const {
    NodesWithin random(*model_, is_random);
    Strings drawn;
    for (const NodeDef& node : result_.rows.model.graph.nodes) {
      if (random.contains(node)) drawn.insert(node.outputs.begin(), node.outputs.end());
    }
    drawn.erase("");
    for (const NodeDef& node : result_.update.model.graph.nodes) {
      for (const std::string& output : node.outputs) {
        if (!drawn.contains(output)) continue;
        fail(ErrorCode::unsupported, describe(node),
             " draws random numbers that both the loss and the update read: micro-shards would "
             "draw them anew");
      }
    }
  }

  const ModelDef* model_;
  const TrainingInfoDef* info_;
  GraphDef graph_;
  std::unordered_map<std::string, const NodeDef*> producers_;
  Strings rows_;                                             // inputs
  std::map<std::string, std::string, std::less<>> weights_;  // of means
  std::map<std::string, std::string, std::less<>> ys_;       // of gradients: what is differentiated
  Strings local_;                                            // depends on the rows
  Strings counting_;                                         // depends on their number alone
  Strings trained_;                                          // depends on a Gradient
  Strings needed_;                                           // a Gradient depends on it
  Strings bound_;                                            // a state variable takes it
  Strings seen_;
  Strings losses_;
  std::set<const NodeDef*> updating_;
  CutStep result_;
};

}  // namespace

CutStep cut_step(const ModelDef& model, std::size_t algorithm, std::span<const std::string> rows,
                 std::span<const std::string> fetched, const MeanWeights& weights) {
  return Cutter(model, algorithm, rows, weights).run(fetched);
}

}  // namespace ondine::graph
