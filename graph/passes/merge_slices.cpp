// Slices that partition an axis of a value become one Split, whose derivative is one Concat instead
// of a sum of tensors of zeros: the parts of a product, and the two that torch.roll exchanges.
#include <algorithm>
#include <map>
#include <utility>

#include "graph/contract/catalogue.h"
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

struct Part {
  std::size_t node;
  std::int64_t begin, end;
};

// The only element of a constant list of integers.
std::optional<std::int64_t> only(const Uses& uses, const Node& node, std::size_t input) {
  if (!NodeView(node).has_input(input)) return std::nullopt;
  const auto values = uses.integers(node.inputs[input]);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

class Merger {
 public:
  Merger(Graph& graph, const OpDef& split) : graph_(graph), split_(split) {}

  bool run() {
    const Uses uses(graph_);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) read(uses, i);
    std::vector<bool> merged(graph_.nodes.size());
    for (auto& [key, parts] : parts_) {
      if (shares_out(key, parts)) merge(key, parts, merged);
    }
    std::size_t i = 0;
    return std::erase_if(graph_.nodes, [&](const Node&) { return merged[i++]; }) > 0;
  }

 private:
  using Key = std::pair<ValueId, std::size_t>;  // a value and one of its axes

  std::optional<std::int64_t> size_of_axis(Key key) const {
    const Dim dim = (*graph_[key.first].type.dims)[key.second];
    return dim.known() ? std::optional(dim.size()) : std::nullopt;
  }

  void read(const Uses& uses, std::size_t position) {
    const Node& node = graph_.nodes[position];
    if (node.op->name != "Slice" || !node.op->domain.empty() || node.version < 10) return;
    const Type& type = graph_[node.inputs[0]].type;
    const auto start = only(uses, node, 1);
    const auto end = only(uses, node, 2);
    const auto axis = NodeView(node).has_input(3) ? only(uses, node, 3) : 0;
    const auto step = NodeView(node).has_input(4) ? only(uses, node, 4) : 1;
    if (!type.ranked() || !start || !end || !axis || step != 1) return;
    const auto rank = static_cast<std::int64_t>(type.rank());
    if (*axis < -rank || *axis >= rank) return;
    const Key key{node.inputs[0], NodeView::normalize_axis(*axis, type.rank())};
    const auto size = size_of_axis(key);
    if (!size) return;
    const auto place = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + *size : at, 0, *size);
    };
    const Part part{position, place(*start), place(*end)};
    if (part.begin < part.end) parts_[key].push_back(part);  // empty ones stay
  }

  bool shares_out(Key key, std::vector<Part>& parts) const {
    if (parts.size() < 2) return false;
    std::ranges::sort(parts, {}, &Part::begin);
    std::int64_t next = 0;
    for (const Part& part : parts) {
      if (part.begin != next) return false;
      next = part.end;
    }
    return next == size_of_axis(key);
  }

  // The first of the nodes becomes the Split.
  void merge(Key key, const std::vector<Part>& parts, std::vector<bool>& merged) {
    std::vector<std::int64_t> sizes;
    std::vector<ValueId> outputs;
    for (const Part& part : parts) {
      sizes.push_back(part.end - part.begin);
      outputs.push_back(graph_.nodes[part.node].outputs[0]);
      merged[part.node] = true;
    }
    const std::size_t first = std::ranges::min(parts, {}, &Part::node).node;
    merged[first] = false;
    Tensor tensor = Tensor::of<std::int64_t>({static_cast<std::int64_t>(sizes.size())}, sizes);
    const ValueId constant =
        graph_.add_temporary("split", Type::tensor(DType::int64, tensor.shape()));
    graph_[constant].constant = std::move(tensor);
    Node& node = graph_.nodes[first];
    node.op = &split_;
    node.version = 18;
    node.inputs = {key.first, constant};
    node.attributes = {{"axis", static_cast<std::int64_t>(key.second)}};
    node.outputs = std::move(outputs);
  }

  Graph& graph_;
  const OpDef& split_;
  std::map<Key, std::vector<Part>> parts_;
};

bool run(Graph& graph, const PassContext& context) {
  const OpDef* split =
      context.catalogue != nullptr ? context.catalogue->find("", "Split") : nullptr;
  return split != nullptr && Merger(graph, *split).run();
}

}  // namespace

const Pass merge_slices{"merge_slices", run};

}  // namespace ondine::graph
