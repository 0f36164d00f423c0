#include "graph/training/prepare/privacy/private_gradients.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/message.h"
#include "graph/training/prepare/losses/pieces.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/privacy/norms.h"
#include "graph/training/prepare/renaming.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t first_opset = 13;

// The main graph and what the algorithm has so far, as one model.
ModelDef joined(const ModelDef& model, const GraphDef& algorithm) {
  ModelDef result = model;
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(result.graph.nodes, algorithm.nodes);
  append(result.graph.initializers, algorithm.initializers);
  append(result.graph.inputs, algorithm.inputs);
  append(result.graph.outputs, algorithm.outputs);
  return result;
}

// The name of the dim that counts rows; "" where inputs do not name it.
std::string find_batch(const GraphDef& main) {
  std::string batch;
  for (const ValueDef& input : main.inputs) {
    const auto& dims = input.type.dims;
    if (!dims || dims->empty()) continue;
    if (const auto* size = std::get_if<std::int64_t>(&dims->front())) {
      fail(ErrorCode::unsupported, "input ", quoted(input.name), " takes batches of ", *size,
           " rows alone; training with privacy needs a first dim of any size, since batches of a "
           "random sample have random sizes");
    }
    const auto* name = std::get_if<DimName>(&dims->front());
    if (name == nullptr) continue;
    if (!batch.empty() && *name != batch) {
      fail(ErrorCode::unsupported, "the inputs count rows by ", quoted(batch), " and by ",
           quoted(*name), "; training with privacy needs one first dim for all inputs");
    }
    batch = *name;
  }
  return batch;
}

class PrivateWriter {
 public:
  PrivateWriter(GraphWriter& writer, const ModelDef& model, const LossValues& loss,
                const std::vector<std::string>& values,
                const std::vector<const InitializerDef*>& trained, const PrepareOptions& options,
                const TypesOf& types_of)
      : writer_(&writer),
        main_(&model.graph),
        loss_(&loss),
        values_(&values),
        trained_(&trained),
        options_(&options),
        joined_(joined(model, writer.graph())),
        types_(types_of(joined_)),
        tracker_(joined_.graph, types_, find_batch(model.graph)) {}

  PrivateGradients write() {
    track();
    require_uses();
    place();
    const BatchValues batch(*writer_, options_->label, loss_->dtype);
    write_deltas(batch);
    const std::string factors = write_factors(batch);
    std::vector<std::string> gradients = write_sums(batch, factors);
    add_noise(batch, gradients);
    count_rows(batch);
    return {std::move(gradients), std::move(noise_)};
  }

 private:
  // The nodes that the values read by the loss need.
  std::set<const NodeDef*> needed() const {
    std::set<std::string, std::less<>> wanted(values_->begin(), values_->end());
    std::set<const NodeDef*> result;
    const auto& nodes = joined_.graph.nodes;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const bool is_wanted = std::any_of(node->outputs.begin(), node->outputs.end(),
                                         [&](const auto& one) { return wanted.contains(one); });
      if (!is_wanted) continue;
      for (std::string& name : reads_of(*node)) wanted.insert(std::move(name));
      result.insert(&*node);
    }
    return result;
  }

  void track() {
    for (const ValueDef& input : main_->inputs) {
      const bool is_scalar = input.type.dims && input.type.dims->empty();
      const bool is_constant = find_initializer(*main_, input.name) != nullptr;
      if (!is_scalar && !is_constant) tracker_.set_rows(input.name);
    }
    for (const InitializerDef* one : *trained_) tracker_.set_parameter(one->name);
    const std::set<const NodeDef*> reached = needed();
    for (const NodeDef& node : joined_.graph.nodes) {
      if (!reached.contains(&node)) continue;
      tracker_.follow(node);
      if (reads_rows(node) && !parameters_of(node).empty()) using_.insert(&node);
    }
    for (const std::string& value : *values_) {
      const Tracked& known = tracker_.of(value);
      if (known.kind == Tracked::Kind::rows && known.axis == 0 && known.is_exact) continue;
      fail(ErrorCode::unsupported, "the loss reads ", quoted(value),
           ", whose first dim does not count the rows of the batch; training with privacy needs "
           "the loss of each row");
    }
  }

  bool reads_rows(const NodeDef& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& one) {
      return tracker_.of(one).kind == Tracked::Kind::rows;
    });
  }

  // The inputs that are computed from trained parameters.
  std::vector<std::size_t> parameters_of(const NodeDef& node) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!tracker_.of(node.inputs[i]).parameter.empty()) result.push_back(i);
    }
    return result;
  }

  // One use for each parameter, of its own elements.
  void require_uses() const {
    std::map<std::string, const NodeDef*> found;
    for (const NodeDef& node : joined_.graph.nodes) {
      if (!using_.contains(&node)) continue;
      for (const std::size_t i : parameters_of(node)) {
        const Tracked& known = tracker_.of(node.inputs[i]);
        if (!known.is_moved) {
          fail(ErrorCode::unsupported, "parameter ", quoted(known.parameter), " is changed by ",
               known.changed_by, " before ", described(node),
               " reads it, so that the norm of the "
               "gradient of a single example cannot be formed; freeze it (--freeze), or train "
               "without privacy");
        }
        const auto [other, added] = found.emplace(known.parameter, &node);
        if (added) continue;
        fail(ErrorCode::unsupported, "parameter ", quoted(known.parameter), " is read by ",
             described(*other->second), " and by ", described(node),
             "; training with privacy needs parameters that one node reads (--freeze)");
      }
    }
    for (const InitializerDef* one : *trained_) {
      if (found.contains(one->name)) continue;
      fail(ErrorCode::unsupported, "no node computes with parameter ", quoted(one->name),
           " and rows of the batch, so that its gradient cannot be bounded; freeze it (--freeze)");
    }
  }

  // Writes the forward pass anew, with zeros added to the results of nodes with parameters. What it
  // is written from stays, for the sizes of the zeros: they must not depend on one another.
  void place() {
    std::vector<NodeDef> own = std::exchange(writer_->graph().nodes, {});
    const std::size_t in_main = main_->nodes.size();
    const std::set<const NodeDef*> reached = needed();
    for (std::size_t i = 0; i < joined_.graph.nodes.size(); ++i) {
      const NodeDef& node = joined_.graph.nodes[i];
      const bool is_own = i >= in_main;
      if (!reached.contains(&node)) {
        if (!is_own) continue;
        rename_reads(own[i - in_main], renamed_);
        writer_->graph().nodes.push_back(std::move(own[i - in_main]));
        continue;
      }
      if (is_own) writer_->graph().nodes.push_back(std::move(own[i - in_main]));
      const std::vector<std::string> reads = reads_of(node);
      const bool is_affected =
          using_.contains(&node) ||
          std::any_of(reads.begin(), reads.end(),
                      [&](const std::string& name) { return renamed_.contains(name); });
      if (is_affected) copy(node);
    }
  }

  void copy(const NodeDef& original) {
    append(original, renamed_copy(original, "private.", writer_->names(), renamed_));
  }

  void append(const NodeDef& original, NodeDef node) {
    writer_->graph().nodes.push_back(node);
    if (!using_.contains(&original)) return;
    const std::string& y = node.outputs.at(0);
    Tensor zero(loss_->dtype, {1});
    const std::string shape = writer_->node("Shape", {original.outputs[0]}, "privacy.shape");
    ParameterUse use;
    use.probe =
        writer_->node("ConstantOfShape", {shape}, "privacy.zeros", {{"value", std::move(zero)}});
    renamed_[original.outputs[0]] = writer_->node("Add", {y, use.probe}, y + ".probed");
    use.original = original;
    use.placed = std::move(node);
    uses_.push_back(std::move(use));
  }

  std::vector<std::string> gradients_of(const std::string& y, const std::vector<std::string>& xs,
                                        const std::vector<std::string>& hints) {
    return writer_->nodes("Gradient", xs, hints, {{"xs", xs}, {"y", y}}, training_domain);
  }

  // Derivatives of the sum of the losses; the loss is their mean over all rows.
  void write_deltas(const BatchValues& batch) {
    const std::string rows = writer_->cast(batch.size(), loss_->dtype, "privacy.row_count");
    const std::string total = batch.node("Mul", {loss_->loss, rows}, "total_loss");
    std::vector<std::string> probes, hints;
    for (const ParameterUse& use : uses_) {
      probes.push_back(use.probe);
      hints.push_back(use.placed.outputs[0] + ".derivative");
    }
    const std::vector<std::string> deltas = gradients_of(total, probes, hints);
    for (std::size_t i = 0; i < uses_.size(); ++i) uses_[i].delta = deltas[i];
  }

  // min(1, clip / norm) of each row's gradient.
  std::string write_factors(const BatchValues& batch) {
    std::string total;
    for (const ParameterUse& use : uses_) {
      for (const std::size_t i : parameters_of(use.original)) {
        const std::string one = write_squared_norm(batch, tracker_, use, i);
        total = total.empty() ? one : batch.node("Add", {total, one}, "norms");
      }
    }
    const std::string clip =
        writer_->scalar("privacy.clip", static_cast<double>(options_->privacy->clip), loss_->dtype);
    // Sums of pairs may be rounded to just below 0.
    const std::string norm = batch.node("Sqrt", {batch.node("Relu", {total}, "squares")}, "norm");
    return batch.node("Div", {clip, batch.node("Max", {norm, clip}, "bound")}, "factor");
  }

  // Each node with parameters once more, of other names for the parameters: derivatives by these
  // see no other node. Those of the sum of results times weighed derivatives by them are those of
  // the weighed losses.
  std::vector<std::string> write_sums(const BatchValues& batch, const std::string& factors) {
    std::vector<std::string> xs, hints;
    Renaming apart;
    for (const InitializerDef* one : *trained_) {
      xs.push_back(writer_->node("Identity", {one->name}, one->name + ".apart"));
      hints.push_back(one->name + ".clipped_sum");
      apart[one->name] = xs.back();
    }
    write_moves_of_parameters(apart);
    std::string total;
    for (const ParameterUse& use : uses_) {
      NodeDef node = use.placed;
      if (!node.name.empty()) node.name = writer_->names().fresh(node.name);
      rename_reads(node, apart);
      for (std::string& output : node.outputs) {
        if (!output.empty()) output = writer_->names().fresh(output + ".apart");
      }
      const std::string y = node.outputs[0];
      writer_->graph().nodes.push_back(std::move(node));
      const std::string& result = use.original.outputs[0];
      const Tracked& known = tracker_.of(result);
      const RowPlace place{known.axis, tracker_.rank(use.original, result), known.is_exact};
      const std::string part =
          sum(*writer_, batch.node("Mul", {y, batch.times(use.delta, place, factors)}, "part"),
              "privacy.part");
      total = total.empty() ? part : batch.node("Add", {total, part}, "parts");
    }
    return gradients_of(total, xs, hints);
  }

  // Copies nodes that read parameters alone, under the other names.
  void write_moves_of_parameters(Renaming& apart) {
    const std::set<const NodeDef*> reached = needed();
    for (const NodeDef& original : joined_.graph.nodes) {
      if (!reached.contains(&original) || original.outputs.empty()) continue;
      const bool is_moved = !tracker_.of(original.outputs[0]).parameter.empty();
      if (!is_moved) continue;
      NodeDef node = original;
      if (!node.name.empty()) node.name = writer_->names().fresh(node.name + ".apart");
      rename_reads(node, apart);
      for (std::string& output : node.outputs) {
        if (output.empty()) continue;
        const std::string name = writer_->names().fresh(output + ".apart");
        apart[output] = name;
        output = name;
      }
      writer_->graph().nodes.push_back(std::move(node));
    }
  }

  void add_noise(const BatchValues& batch, std::vector<std::string>& gradients) {
    const Privacy& privacy = *options_->privacy;
    const std::string rows =
        writer_->scalar("privacy.batch", static_cast<double>(privacy.batch_size), loss_->dtype);
    const float deviation = privacy.noise * privacy.clip;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::string& name = (*trained_)[i]->name;
      if (deviation != 0) {
        const std::string noise = writer_->node("RandomNormalLike", {gradients[i]}, name + ".noise",
                                                {{"mean", 0.0F}, {"scale", deviation}});
        gradients[i] = writer_->node("Add", {gradients[i], noise}, name + ".noisy_sum");
        noise_.push_back(noise);
      }
      gradients[i] = batch.node("Div", {gradients[i], rows}, "gradient");
    }
  }

  // The outputs of the algorithm that are means over all rows become those over the rows that
  // count.
  void count_rows(const BatchValues& batch) {
    const std::string counted =
        batch.node("Expand", {weights_name(*options_), batch.sizes()}, "counted");
    const std::string one = writer_->scalar("privacy.one", 1, DType::float32);
    const std::string number =
        sum(*writer_, writer_->cast(counted, DType::float32, "privacy.counts"), "privacy.count");
    const std::string rows = writer_->cast(batch.size(), DType::float32, "privacy.row_number");
    const std::string factor =
        batch.node("Div", {rows, batch.node("Max", {number, one}, "divisor")}, "per_counted");
    scale(loss_->loss, loss_->dtype, factor);
    if (!loss_->accuracy.empty()) scale(loss_->accuracy, DType::float32, factor);
  }

  void scale(const std::string& output, DType dtype, const std::string& factor) {
    const Renaming renaming{{output, writer_->names().fresh(output + ".all_rows")}};
    const std::string& inner = renaming.begin()->second;
    for (NodeDef& node : writer_->graph().nodes) {
      rename_reads(node, renaming);
      std::replace(node.outputs.begin(), node.outputs.end(), output, inner);
    }
    NodeDef last;
    last.op = "Mul";
    last.inputs = {
        inner, dtype == DType::float32 ? factor : writer_->cast(factor, dtype, "privacy.factor")};
    last.outputs = {output};
    writer_->graph().nodes.push_back(std::move(last));
  }

  GraphWriter* writer_;
  const GraphDef* main_;
  const LossValues* loss_;
  const std::vector<std::string>* values_;
  const std::vector<const InitializerDef*>* trained_;
  const PrepareOptions* options_;
  ModelDef joined_;
  ValueTypes types_;
  RowTracker tracker_;
  std::set<const NodeDef*> using_;  // nodes of joined_ that compute with parameters and rows
  Renaming renamed_;
  std::vector<ParameterUse> uses_;
  std::vector<std::string> noise_;
};

}  // namespace

PrivateGradients write_private_gradients(GraphWriter& writer, const ModelDef& model,
                                         const LossValues& loss,
                                         const std::vector<std::string>& values,
                                         const std::vector<const InitializerDef*>& trained,
                                         const PrepareOptions& options, const TypesOf& types_of) {
  require_opset(writer, first_opset, "training with privacy");
  for (const InitializerDef* one : trained) {
    if (one->value.dtype() == loss.dtype) continue;
    fail(ErrorCode::unsupported, "training with privacy needs parameters of the loss's type, ",
         loss.dtype, "; ", quoted(one->name), " is ", one->value.dtype());
  }
  return PrivateWriter(writer, model, loss, values, trained, options, types_of).write();
}

}  // namespace ondine::graph
