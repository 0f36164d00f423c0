#include "graph/training/synchronize.h"

#include <algorithm>
#include <utility>

#include "core/message.h"
#include "graph/check/location.h"
#include "graph/contract/catalogue.h"
#include "graph/training/nodes_within.h"
#include "graph/training/prepare/losses/pieces.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t first_opset = 15;  // with CastLike

bool is_batch_normalization(const NodeDef& node) { return is_standard(node, "BatchNormalization"); }

template <class T>
T value_of(const NodeDef& node, std::string_view name, T otherwise) {
  const Attribute* const found = find(node.attributes, name);
  const T* const value = found == nullptr ? nullptr : std::get_if<T>(&found->data);
  return value == nullptr ? otherwise : *value;
}

bool is_in_training_mode(const NodeDef& node) {
  return value_of<std::int64_t>(node, "training_mode", 0) != 0;
}

bool computes_statistics(const NodeDef& node) {
  return is_batch_normalization(node) && is_in_training_mode(node);
}

std::int64_t opset_of(const ModelDef& model) {
  const auto found = std::find_if(model.opsets.begin(), model.opsets.end(),
                                  [](const OpsetImport& one) { return one.domain.empty(); });
  return found == model.opsets.end() ? 0 : found->version;
}

class Synchronizer {
 public:
  Synchronizer(GraphDef& graph, Names& names, std::int64_t opset)
      : writer_(graph, names, opset),
        rows_(writer_.initializer("sync.rows", Tensor::of<std::int64_t>({3}, {0, 0, -1}))),
        channels_(writer_.initializer("sync.channels", Tensor::of<std::int64_t>({3}, {1, -1, 1}))),
        flat_(writer_.initializer("sync.flat", Tensor::of<std::int64_t>({1}, {-1}))),
        done_(writer_.initializer("sync.start", Tensor::scalar(0.0F))) {}

  void write(const NodeDef& node) {
    const std::string& x = node.inputs.at(0);
    const std::string rows = apply("Reshape", x, rows_);
    const std::string mean = batch_mean(rows);
    const std::string centered = apply("Sub", rows, mean);
    const std::string variance = batch_mean(apply("Mul", centered, centered));
    const std::string shifted = apply("Add", variance, like(value_of(node, "epsilon", 1e-5F), x));
    const std::string normal =
        apply("Div", centered, writer_.node("Sqrt", {shifted}, "sync.deviation"));
    const std::string scale = apply("Reshape", apply("CastLike", node.inputs.at(1), x), channels_);
    const std::string bias = apply("Reshape", apply("CastLike", node.inputs.at(2), x), channels_);
    const std::string y = apply("Add", apply("Mul", normal, scale), bias);
    give("Reshape", {y, writer_.node("Shape", {x}, "sync.shape")}, node.outputs.at(0));
    keep(node, 1, 3, mean);
    keep(node, 2, 4, variance);
  }

 private:
  std::string apply(const std::string& op, const std::string& a, const std::string& b) {
    return writer_.node(op, {a, b}, "sync");
  }

  // A constant of the type of `value`.
  std::string like(float constant, const std::string& value) {
    return apply("CastLike",
                 writer_.scalar("sync.constant", static_cast<double>(constant), DType::float32),
                 value);
  }

  // Over the rows and positions of all parts: [1, C, 1].
  std::string batch_mean(const std::string& value) {
    const std::string own = reduce(writer_, "ReduceMean", value, {0, 2}, true, "sync.mean");
    const std::vector<std::string> both = writer_.nodes(
        "BatchMean", {own, done_}, {"sync.of_all", "sync.done"}, {}, std::string(ondine_domain));
    done_ = both[1];
    return both[0];
  }

  // Running statistic `output`, from that of `input`.
  void keep(const NodeDef& node, std::size_t output, std::size_t input,
            const std::string& statistic) {
    if (node.outputs.size() <= output || node.outputs[output].empty()) return;
    const float momentum = value_of(node, "momentum", 0.9F);
    const std::string& old = node.inputs.at(input);
    const std::string now =
        apply("CastLike", writer_.node("Reshape", {statistic, flat_}, "sync.statistic"), old);
    const std::string added = apply("Mul", now, like(1 - momentum, old));
    give("Add", {apply("Mul", old, like(momentum, old)), added}, node.outputs[output]);
  }

  void give(const std::string& op, std::vector<std::string> inputs, const std::string& output) {
    NodeDef node;
    node.op = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    writer_.graph().nodes.push_back(std::move(node));
  }

  GraphWriter writer_;
  std::string rows_;      // [N, C, ...] to [N, C, positions]
  std::string channels_;  // [C] to [1, C, 1]
  std::string flat_;
  std::string done_;  // of the BatchMean before
};

}  // namespace

void synchronize_statistics(ModelDef& model) {
  NodesWithin within(model, computes_statistics);
  const std::int64_t opset = opset_of(model);
  Names names(model);
  std::vector<NodeDef> nodes = std::exchange(model.graph.nodes, {});
  Synchronizer synchronizer(model.graph, names, opset);
  bool found = false;
  for (NodeDef& node : nodes) {
    if (is_batch_normalization(node) && opset < first_opset) {
      fail(ErrorCode::unsupported, describe(node), " of ai.onnx ", opset,
           ": --sync-batch-stats needs ai.onnx ", first_opset);
    }
    if (computes_statistics(node)) {
      synchronizer.write(node);
      found = true;
    } else if (within.contains(node)) {
      fail(ErrorCode::unsupported, describe(node),
           " computes statistics of the batch inside: --sync-batch-stats needs them in the graph "
           "itself");
    } else {
      model.graph.nodes.push_back(std::move(node));
    }
  }
  if (!found) {
    fail(ErrorCode::mismatch,
         "--sync-batch-stats has no effect: the model has no BatchNormalization in training mode");
  }
  const bool is_imported =
      std::any_of(model.opsets.begin(), model.opsets.end(),
                  [](const OpsetImport& one) { return one.domain == ondine_domain; });
  if (!is_imported) model.opsets.push_back({std::string(ondine_domain), 1});
}

}  // namespace ondine::graph
