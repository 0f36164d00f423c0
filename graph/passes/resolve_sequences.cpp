// SplitToSequence whose parts are read by SequenceAt at constant positions becomes Split: sizes of
// parts are known then, and no sequence is made. PyTorch's exporter writes split() and chunk() so.
#include <algorithm>
#include <limits>

#include "graph/contract/catalogue.h"
#include "graph/contract/infer_node.h"
#include "graph/passes/fuse.h"
#include "graph/passes/refined_types.h"

namespace ondine::graph {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t most_parts = 256;

class Resolver {
 public:
  Resolver(Graph& graph, const OpDef& split)
      : graph_(graph),
        split_(split),
        uses_(graph),
        readers_(graph, "SequenceAt", "", 0),
        gone_(graph.nodes.size()) {}

  bool run() {
    RefinedTypes refined(graph_);
    bool changed = false;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      Node& node = graph_.nodes[i];
      if (gone_[i]) continue;
      if (resolve(node)) {
        infer_node(node, graph_);
        for (const ValueId id : node.outputs) refined.add(id);
        changed = true;
      } else if (changed) {
        refined.infer_readers(node);
      }
    }
    if (changed) erase_nodes(graph_, gone_);
    return changed;
  }

 private:
  // Sizes of the parts; empty if they are not known.
  Sizes sizes_of(const Node& node, std::size_t axis) const {
    const Dim dim = (*graph_[node.inputs[0]].type.dims)[axis];
    const NodeView view(node);
    if (view.has_input(1)) {
      const auto given = uses_.integers(node.inputs[1]);
      if (!given || given->empty()) return {};
      if (uses_.constant(node.inputs[1]).shape().rank() == 1) return fitting(*given, dim);
      return dim.known() ? parts(dim.size(), given->front()) : Sizes();
    }
    const bool keeps_axis = view.attr_int("keepdims", 1) != 0;
    return keeps_axis && dim.known() ? parts(dim.size(), 1) : Sizes();
  }

  // Sizes that do not add up to the axis fail when the node runs.
  static Sizes fitting(const Sizes& sizes, Dim dim) {
    std::int64_t sum = 0;
    for (const std::int64_t size : sizes) {
      if (size < 0 || size > std::numeric_limits<std::int32_t>::max()) return {};
      sum += size;
    }
    return std::ssize(sizes) <= most_parts && (!dim.known() || dim.size() == sum) ? sizes : Sizes();
  }

  static Sizes parts(std::int64_t whole, std::int64_t size) {
    if (size <= 0 || whole <= 0 || (whole - 1) / size >= most_parts) return {};
    Sizes sizes;
    for (std::int64_t at = 0; at < whole; at += size) sizes.push_back(std::min(size, whole - at));
    return sizes;
  }

  // The position that a SequenceAt reads.
  std::optional<std::size_t> position(const Node& node, std::size_t count) const {
    const auto given = uses_.integers(node.inputs[1]);
    const auto size = static_cast<std::int64_t>(count);
    if (!given || given->size() != 1) return std::nullopt;
    const std::int64_t at = given->front() < 0 ? given->front() + size : given->front();
    return at >= 0 && at < size ? std::optional(static_cast<std::size_t>(at)) : std::nullopt;
  }

  bool resolve(Node& node) {
    if (node.op->name != "SplitToSequence" || !node.op->domain.empty()) return false;
    const Type& type = graph_[node.inputs[0]].type;
    const ValueId sequence = node.outputs[0];
    if (!type.ranked() || type.rank() == 0 || uses_.is_named(sequence)) return false;
    const std::int64_t given = NodeView(node).attr_int("axis", 0);
    const auto rank = static_cast<std::int64_t>(type.rank());
    if (given < -rank || given >= rank) return false;
    const std::size_t axis = NodeView::normalize_axis(given, type.rank());
    const Sizes sizes = sizes_of(node, axis);
    const auto readers = readers_.of(sequence);
    const auto read_by_others = uses_.readers(sequence) - static_cast<int>(readers.size());
    if (sizes.empty() || read_by_others != 0) return false;
    std::vector<ValueId> parts(sizes.size(), no_value);
    for (const std::size_t reader : readers) {
      const Node& read = graph_.nodes[reader];
      const auto at = position(read, parts.size());
      if (!at || parts[*at] != no_value) return false;
      parts[*at] = read.outputs[0];
    }
    for (const std::size_t reader : readers) gone_[reader] = true;
    become_split(node, axis, sizes, std::move(parts));
    return true;
  }

  void become_split(Node& node, std::size_t axis, const Sizes& sizes,
                    std::vector<ValueId> outputs) {
    const DType dtype = graph_[node.inputs[0]].type.dtype;
    for (ValueId& output : outputs) {
      if (output == no_value) output = graph_.add_temporary("part", Type::tensor(dtype));
    }
    Tensor tensor = Tensor::of<std::int64_t>({static_cast<std::int64_t>(sizes.size())}, sizes);
    const ValueId constant =
        graph_.add_temporary("split", Type::tensor(DType::int64, tensor.shape()));
    graph_[constant].constant = std::move(tensor);
    node.op = &split_;
    node.version = 18;
    node.inputs = {node.inputs[0], constant};
    node.attributes = {{"axis", static_cast<std::int64_t>(axis)}};
    node.outputs = std::move(outputs);
  }

  Graph& graph_;
  const OpDef& split_;
  Uses uses_;
  ReadersByInput readers_;
  std::vector<bool> gone_;
};

bool run(Graph& graph, const PassContext& context) {
  const OpDef* split =
      context.catalogue != nullptr ? context.catalogue->find("", "Split") : nullptr;
  return split != nullptr && Resolver(graph, *split).run();
}

}  // namespace

const Pass resolve_sequences{"resolve_sequences", run};

}  // namespace ondine::graph
