// Where the rows of a node's result are, by operator.
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/privacy/node_step.h"

namespace ondine::graph {
namespace {

bool is_elementwise(std::string_view op) {
  return one_of(op, {"Abs",
                     "Add",
                     "And",
                     "CastLike",
                     "Ceil",
                     "Celu",
                     "Clip",
                     "Cos",
                     "Div",
                     "Elu",
                     "Equal",
                     "Erf",
                     "Exp",
                     "Floor",
                     "Gelu",
                     "Greater",
                     "GreaterOrEqual",
                     "HardSigmoid",
                     "HardSwish",
                     "Identity",
                     "IsInf",
                     "IsNaN",
                     "LeakyRelu",
                     "Less",
                     "LessOrEqual",
                     "Log",
                     "Max",
                     "Mean",
                     "Min",
                     "Mish",
                     "Mod",
                     "Mul",
                     "Neg",
                     "Not",
                     "Or",
                     "PRelu",
                     "Pow",
                     "Reciprocal",
                     "Relu",
                     "Round",
                     "Selu",
                     "Shrink",
                     "Sigmoid",
                     "Sign",
                     "Sin",
                     "Softplus",
                     "Softsign",
                     "Sqrt",
                     "Sub",
                     "Sum",
                     "Swish",
                     "Tan",
                     "Tanh",
                     "ThresholdedRelu",
                     "Where",
                     "Xor"});
}

// Rows are axis 0 of the first input and of the first output.
bool is_image_operator(std::string_view op) {
  return one_of(op, {"Conv", "MaxPool", "AveragePool", "LpPool", "GlobalAveragePool",
                     "GlobalMaxPool", "GlobalLpPool", "LRN", "InstanceNormalization",
                     "GroupNormalization", "DepthToSpace", "SpaceToDepth", "ConvTranspose"});
}

struct RowRules : NodeStep {
  Tracked rows_at(std::size_t axis, bool is_exact = true) const {
    Tracked result;
    result.kind = Kind::rows;
    result.axis = axis;
    result.is_exact = is_exact;
    return result;
  }
  Tracked same() const { return rows_at(at(0).axis, at(0).is_exact); }

  // Inputs that only say sizes must not become numbers that depend on the batch.
  void require_no_sizes() const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (at(i).kind == Kind::sizes) refuse("computes with the number of rows in the batch");
    }
  }
  void require_rows_only_at_0() const {
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (has_rows(i)) refuse();
    }
    if (!has_rows(0)) refuse();
  }

  Tracked elementwise() const {
    require_no_sizes();
    const std::size_t out = out_rank();
    std::optional<Tracked> result;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!has_rows(i)) continue;
      const Tracked one = rows_at(at(i).axis + out - rank(i), at(i).is_exact);
      if (result && (result->axis != one.axis || result->is_exact != one.is_exact)) refuse();
      result = one;
    }
    return *result;
  }

  Tracked image() const {
    require_rows_only_at_0();
    if (at(0).axis != 0) refuse();
    for (std::size_t i = 1; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty()) refuse("has a second result that counts over the batch");
    }
    return same();
  }

  Tracked batch_normalization() const {
    const bool trains = integer_attribute(node, "training_mode", 0) != 0 || node.outputs.size() > 1;
    if (trains) {
      refuse(
          "computes statistics over the rows of the batch (--no-training-mode keeps those of the "
          "model)");
    }
    return image();
  }

  // Over axes from `axis` on.
  Tracked over_last(std::int64_t axis) const {
    require_rows_only_at_0();
    if (positive(axis, rank(0)) <= static_cast<std::int64_t>(at(0).axis)) refuse();
    return same();
  }

  Tracked over_axis(std::int64_t axis) const {
    require_rows_only_at_0();
    if (positive(axis, rank(0)) == static_cast<std::int64_t>(at(0).axis)) refuse();
    return same();
  }

  Tracked product() const {
    require_no_sizes();
    const std::size_t out = out_rank();
    if (has_rows(0) && !has_rows(1)) {
      if (at(0).axis + 1 == rank(0)) refuse();
      if (rank(1) == 1) return same();
      return rows_at(at(0).axis + out - rank(0), at(0).is_exact);
    }
    const bool leads = at(1).axis + 2 < rank(1);
    if (!has_rows(0)) {
      if (!leads) refuse();
      return rows_at(at(1).axis + out - rank(1), at(1).is_exact);
    }
    const std::size_t first = at(0).axis + out - rank(0);
    const std::size_t second = at(1).axis + out - rank(1);
    if (!leads || first != second || at(0).is_exact != at(1).is_exact) refuse();
    return rows_at(first, at(0).is_exact);
  }

  Tracked gemm() const {
    if (!has_rows(0) || has_rows(1) || integer_attribute(node, "transA", 0) != 0) refuse();
    if (has_rows(2) && (at(2).axis != 0 || rank(2) != 2 || at(2).is_exact != at(0).is_exact)) {
      refuse();
    }
    if (at(0).axis != 0) refuse();
    return same();
  }

  Tracked transpose() const {
    std::vector<std::int64_t> order = integers_of(node, "perm");
    if (order.empty()) {
      for (std::size_t i = rank(0); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
    }
    const auto found = std::find(order.begin(), order.end(), static_cast<std::int64_t>(at(0).axis));
    if (found == order.end()) refuse();
    return rows_at(static_cast<std::size_t>(found - order.begin()), at(0).is_exact);
  }

  bool is_batch_dim(std::size_t axis) const {
    const auto type = tracker.types().find(node.outputs[0]);
    if (type == tracker.types().end() || !type->second.dims) return false;
    if (axis >= type->second.dims->size()) return false;
    const auto* name = std::get_if<DimName>(&(*type->second.dims)[axis]);
    return name != nullptr && !tracker.batch().empty() && *name == tracker.batch();
  }

  // Rows stay together where the axes before theirs stay and the axes after theirs have sizes that
  // do not depend on the batch: the size of a row's part is then a multiple of that of theirs.
  Tracked reshape() const {
    const auto shape = entries(1);
    const std::size_t axis = at(0).axis;
    if (!shape || axis >= shape->size()) refuse("has a shape by which rows cannot be followed");
    const auto before = tracker.dims(node, input(0));
    for (std::size_t i = 0; i < axis; ++i) {
      const Entry& one = (*shape)[i];
      const bool stays = one.kind == Entry::Kind::number &&
                         ((one.value == 0 && integer_attribute(node, "allowzero", 0) == 0) ||
                          (one.value > 0 && before[i] == one.value));
      if (!stays) refuse("has a shape by which rows cannot be followed");
    }
    const Entry& own = (*shape)[axis];
    if (own.kind == Entry::Kind::batch || is_batch_dim(axis)) return rows_at(axis, true);
    if (own.kind == Entry::Kind::number && own.value == 0) return same();
    const bool is_free =
        (own.kind == Entry::Kind::number && own.value == -1) || own.kind == Entry::Kind::sizes;
    for (std::size_t i = axis + 1; i < shape->size(); ++i) {
      const Entry& one = (*shape)[i];
      const bool depends =
          depends_on_batch(one) || (one.kind == Entry::Kind::number && one.value <= 0);
      if (depends) refuse("has a shape by which rows cannot be followed");
    }
    if (!is_free) refuse("has a shape by which rows cannot be followed");
    return rows_at(axis, false);
  }

  Tracked flatten() const {
    const std::int64_t axis = positive(integer_attribute(node, "axis", 1), rank(0));
    if (at(0).axis != 0 || axis < 1) refuse();
    return rows_at(0, at(0).is_exact && axis == 1);
  }

  Tracked squeeze() const {
    const auto gone = axes(1);
    if (!gone || gone->empty()) refuse("has axes by which rows cannot be followed");
    std::size_t axis = at(0).axis;
    for (std::int64_t one : *gone) {
      one = positive(one, rank(0));
      if (one == static_cast<std::int64_t>(at(0).axis)) refuse();
      if (one < static_cast<std::int64_t>(at(0).axis)) --axis;
    }
    return rows_at(axis, at(0).is_exact);
  }

  Tracked unsqueeze() const {
    auto added = axes(1);
    if (!added || added->empty()) refuse("has axes by which rows cannot be followed");
    const std::size_t out = out_rank();
    for (std::int64_t& one : *added) one = positive(one, out);
    std::size_t left = at(0).axis;
    for (std::size_t i = 0; i < out; ++i) {
      const bool is_new =
          std::find(added->begin(), added->end(), static_cast<std::int64_t>(i)) != added->end();
      if (is_new) continue;
      if (left-- == 0) return rows_at(i, at(0).is_exact);
    }
    refuse();
  }

  Tracked reduce() const {
    require_rows_only_at_0();
    auto gone = axes(1);
    if (!gone || gone->empty()) refuse();
    std::size_t axis = at(0).axis;
    for (std::int64_t one : *gone) {
      one = positive(one, rank(0));
      if (one == static_cast<std::int64_t>(at(0).axis)) refuse();
      const bool is_before = one < static_cast<std::int64_t>(at(0).axis);
      if (is_before && integer_attribute(node, "keepdims", 1) == 0) --axis;
    }
    return rows_at(axis, at(0).is_exact);
  }

  Tracked joined() const {
    const std::int64_t axis = positive(integer_attribute(node, "axis", 0), out_rank());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!has_rows(i) || at(i).axis != at(0).axis || at(i).is_exact != at(0).is_exact) refuse();
    }
    if (axis == static_cast<std::int64_t>(at(0).axis)) refuse();
    return same();
  }

  Tracked slice() const {
    require_rows_only_at_0();
    std::optional<std::vector<std::int64_t>> cut = input(3).empty() ? std::nullopt : numbers(3);
    if (!cut && input(3).empty()) {
      const auto starts = numbers(1);
      if (!starts) refuse("has axes by which rows cannot be followed");
      cut.emplace();
      for (std::size_t i = 0; i < starts->size(); ++i) cut->push_back(static_cast<std::int64_t>(i));
    }
    if (!cut) refuse("has axes by which rows cannot be followed");
    for (const std::int64_t one : *cut) {
      if (positive(one, rank(0)) == static_cast<std::int64_t>(at(0).axis)) refuse();
    }
    return same();
  }

  Tracked gather() const {
    const auto axis =
        static_cast<std::size_t>(positive(integer_attribute(node, "axis", 0), rank(0)));
    if (has_rows(0) && has_rows(1)) refuse();
    if (at(1).kind == Kind::sizes) refuse("computes with the number of rows in the batch");
    if (has_rows(1)) return rows_at(axis + at(1).axis, at(1).is_exact);
    if (axis == at(0).axis) refuse();
    return at(0).axis < axis ? same() : rows_at(at(0).axis + rank(1) - 1, at(0).is_exact);
  }

  Tracked pad() const {
    require_rows_only_at_0();
    const auto pads = numbers(1);
    if (!pads || !input(3).empty() || pads->size() != 2 * rank(0)) refuse();
    if ((*pads)[at(0).axis] != 0 || (*pads)[at(0).axis + rank(0)] != 0) refuse();
    return same();
  }

  Tracked expand() const {
    if (has_rows(1)) refuse();
    return rows_at(at(0).axis + out_rank() - rank(0), at(0).is_exact);
  }

  Tracked shape() const {
    Tracked result;
    result.kind = Kind::sizes;
    if (find(node.attributes, "start") != nullptr || find(node.attributes, "end") != nullptr) {
      return result;
    }
    result.entries.emplace();
    const auto sizes = tracker.dims(node, input(0));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (i == at(0).axis) {
        result.entries->push_back({at(0).is_exact ? Entry::Kind::batch : Entry::Kind::sizes, 0});
      } else if (sizes[i]) {
        result.entries->push_back({Entry::Kind::number, *sizes[i]});
      } else {
        result.entries->push_back({Entry::Kind::fixed, 0});
      }
    }
    return result;
  }

  Tracked follow() const {
    const std::string_view op = node.op;
    if (!node.domain.empty() || !subgraphs_of(node).empty()) refuse();
    if (op == "Shape") return shape();
    if (op == "Dropout" || op == "Cast") {
      require_rows_only_at_0();
      return same();
    }
    if (is_elementwise(op)) return elementwise();
    if (is_image_operator(op)) return image();
    if (op == "BatchNormalization") return batch_normalization();
    if (op == "MatMul") return product();
    if (op == "Gemm") return gemm();
    if (op == "Transpose") return transpose();
    if (op == "Reshape" && has_rows(0) && !has_rows(1)) return reshape();
    if (op == "Flatten") return flatten();
    if (op == "Squeeze") return squeeze();
    if (op == "Unsqueeze") return unsqueeze();
    if (op == "Concat") return joined();
    if (op == "Slice") return slice();
    if (op == "Gather") return gather();
    if (op == "Pad") return pad();
    if (op == "Expand" && has_rows(0)) return expand();
    if (one_of(op, {"Softmax", "LogSoftmax", "Hardmax", "LpNormalization"})) {
      return over_axis(integer_attribute(node, "axis", -1));
    }
    if (op == "Split") return over_axis(integer_attribute(node, "axis", 0));
    if (one_of(op, {"LayerNormalization", "RMSNormalization"})) {
      return over_last(integer_attribute(node, "axis", -1));
    }
    if (op.starts_with("Reduce")) return reduce();
    refuse();
  }
};

}  // namespace

Tracked follow_rows(const NodeStep& step) { return RowRules{step}.follow(); }

}  // namespace ondine::graph
