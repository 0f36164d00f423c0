#include "graph/training/prepare/prediction/class_axis.h"

#include <algorithm>

#include "graph/training/prepare/names.h"

namespace ondine::graph {
namespace {

using AxisDims = std::optional<std::vector<DimDef>>;

bool is_one(const DimDef& dim) {
  const auto* size = std::get_if<std::int64_t>(&dim);
  return size != nullptr && *size == 1;
}

std::optional<std::size_t> rank_of(const ValueTypes& types, const std::string& value) {
  const auto found = types.find(value);
  if (found == types.end() || !found->second.dims) return std::nullopt;
  return found->second.dims->size();
}

AxisDims dims_of(const ValueTypes& types, const std::string& value) {
  const auto found = types.find(value);
  return found == types.end() ? AxisDims{} : found->second.dims;
}

// Follows the axis of the classes through what moves the probabilities.
class ClassAxis {
 public:
  ClassAxis(const GraphDef& graph, const ValueTypes& types) : graph_(&graph), types_(&types) {}

  // Counted from 0 in the shape after all moves; empty if unknown.
  std::optional<std::size_t> follow(const Logits& logits, std::optional<std::size_t> last_rank) {
    rank_ = rank_of(*types_, logits.value);
    if (!rank_ && logits.moves.empty()) rank_ = last_rank;
    dims_ = dims_of(*types_, logits.value);
    axis_ = logits.axis ? from_start(*logits.axis) : std::nullopt;
    if (logits.flattens) keep_flattened();
    for (const NodeDef& move : logits.moves) {
      if (!is_same(move)) axis_ = after(move);
      if (!is_same(move)) rank_ = rank_of(*types_, move.outputs[0]);
      dims_ = dims_of(*types_, move.outputs[0]);
    }
    return axis_;
  }

 private:
  static bool is_same(const NodeDef& move) { return one_of(move.op, {"Identity", "Cast"}); }

  std::optional<std::size_t> from_start(std::int64_t axis) const {
    if (axis >= 0) return static_cast<std::size_t>(axis);
    if (!rank_ || static_cast<std::size_t>(-axis) > *rank_) return std::nullopt;
    return *rank_ - static_cast<std::size_t>(-axis);
  }

  // The classes of a Softmax over several axes are one of them when the others have one element.
  void keep_flattened() {
    if (!axis_) return;
    if (!dims_) {
      if (rank_.value_or(2) != 2) axis_.reset();
      return;
    }
    for (std::size_t i = *axis_ + 1; i < dims_->size(); ++i) {
      if (!is_one((*dims_)[i])) axis_.reset();
      if (!axis_) return;
    }
  }

  std::optional<std::size_t> after(const NodeDef& move) const {
    if (!axis_) return std::nullopt;
    if (move.op == "Transpose") return after_transpose(move);
    if (move.op == "Flatten") {
      const std::int64_t split = integer_attribute(move, "axis", 1);
      if (split < 0) return std::nullopt;
      return *axis_ >= static_cast<std::size_t>(split) ? 1 : 0;
    }
    if (move.op == "Squeeze" || move.op == "Unsqueeze") return after_axes(move);
    return after_reshape(move);
  }

  std::optional<std::size_t> after_transpose(const NodeDef& move) const {
    const Attribute* given = find(move.attributes, "perm");
    if (given == nullptr) return rank_ ? std::optional(*rank_ - 1 - *axis_) : std::nullopt;
    const auto* perm = std::get_if<std::vector<std::int64_t>>(&given->data);
    if (perm == nullptr) return std::nullopt;
    const auto found = std::find(perm->begin(), perm->end(), static_cast<std::int64_t>(*axis_));
    if (found == perm->end()) return std::nullopt;
    return static_cast<std::size_t>(found - perm->begin());
  }

  std::optional<std::size_t> after_axes(const NodeDef& move) const {
    std::optional<std::vector<std::int64_t>> axes;
    if (const Attribute* given = find(move.attributes, "axes")) {
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&given->data)) axes = *list;
    } else if (move.inputs.size() > 1) {
      axes = constant_integers(*graph_, move.inputs[1]);
    }
    if (!axes) return after_reshape(move);
    const bool adds = move.op == "Unsqueeze";
    std::vector<std::size_t> places;
    for (std::int64_t axis : *axes) {
      if (axis < 0) {
        if (!rank_) return std::nullopt;
        axis += static_cast<std::int64_t>(adds ? *rank_ + axes->size() : *rank_);
      }
      if (axis < 0) return std::nullopt;
      places.push_back(static_cast<std::size_t>(axis));
    }
    std::sort(places.begin(), places.end());
    std::size_t axis = *axis_;
    if (adds) {
      for (const std::size_t place : places) axis += place <= axis ? 1 : 0;
      return axis;
    }
    if (std::find(places.begin(), places.end(), axis) != places.end()) return std::nullopt;
    return axis - static_cast<std::size_t>(std::count_if(places.begin(), places.end(),
                                                         [&](auto place) { return place < axis; }));
  }

  // The only axis of that many elements, or the last of both shapes.
  std::optional<std::size_t> after_reshape(const NodeDef& move) const {
    const AxisDims to = dims_of(*types_, move.outputs[0]);
    if (!dims_ || !to || *axis_ >= dims_->size()) return std::nullopt;
    const auto* classes = std::get_if<std::int64_t>(&(*dims_)[*axis_]);
    if (classes == nullptr) return std::nullopt;
    const DimDef wanted = *classes;
    if (*axis_ + 1 == dims_->size() && !to->empty() && to->back() == wanted) {
      return to->size() - 1;
    }
    if (std::count(to->begin(), to->end(), wanted) != 1) return std::nullopt;
    return static_cast<std::size_t>(std::find(to->begin(), to->end(), wanted) - to->begin());
  }

  const GraphDef* graph_;
  const ValueTypes* types_;
  std::optional<std::size_t> rank_;
  AxisDims dims_;
  std::optional<std::size_t> axis_;
};

}  // namespace

std::optional<std::size_t> find_class_axis(const GraphDef& graph, const ValueTypes& types,
                                           const Logits& logits,
                                           std::optional<std::size_t> last_rank) {
  return ClassAxis(graph, types).follow(logits, last_rank);
}

}  // namespace ondine::graph
