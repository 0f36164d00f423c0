#include "graph/training/prepare/privacy/rows.h"

#include "core/message.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/privacy/node_step.h"

namespace ondine::graph {
namespace {

constexpr std::string_view copy_prefix = "train.";

Tracked followed(const NodeStep& step) {
  bool any_rows = false, any_sizes = false;
  for (std::size_t i = 0; i < step.node.inputs.size(); ++i) {
    any_rows = any_rows || step.has_rows(i);
    any_sizes = any_sizes || step.at(i).kind == Kind::sizes;
  }
  for (const std::string& name : reads_of(step.node)) {
    any_rows = any_rows || step.tracker.of(name).kind == Kind::rows;
  }
  if (any_rows) return follow_rows(step);
  Tracked result = follow_fixed(step);
  if (!any_sizes) return result;
  Tracked sizes = follow_sizes(step);
  sizes.parameter = result.parameter;
  sizes.is_moved = result.is_moved && only_moves_once(step.node.op);
  if (!sizes.is_moved) sizes.changed_by = described(step.node);
  return sizes;
}

}  // namespace

std::string described(const NodeDef& node) {
  std::string_view name = node.name.empty() ? node.outputs.at(0) : node.name;
  if (name.starts_with(copy_prefix)) name.remove_prefix(copy_prefix.size());
  return cat("node ", quoted(std::string(name)), " (", node.op, ")");
}

const Tracked& RowTracker::of(const std::string& value) const {
  static const Tracked fixed;
  const auto found = values_.find(value);
  return found == values_.end() ? fixed : found->second;
}

std::vector<std::optional<std::int64_t>> RowTracker::dims(const NodeDef& node,
                                                          const std::string& value) const {
  const auto type = types_->find(value);
  if (type == types_->end() || !type->second.dims) {
    fail(ErrorCode::unsupported, "training with privacy needs to know the rank of ", quoted(value),
         ", of ", described(node));
  }
  std::vector<std::optional<std::int64_t>> result;
  for (const DimDef& dim : *type->second.dims) {
    const auto* size = std::get_if<std::int64_t>(&dim);
    result.push_back(size == nullptr ? std::nullopt : std::optional<std::int64_t>(*size));
  }
  return result;
}

std::size_t RowTracker::rank(const NodeDef& node, const std::string& value) const {
  return dims(node, value).size();
}

void RowTracker::follow(const NodeDef& node) {
  const Tracked result = followed({*this, node});
  for (const std::string& output : node.outputs) {
    if (!output.empty()) values_[output] = result;
  }
}

}  // namespace ondine::graph
