// tree_ensemble.cpp — the leaves of all trees that x leads to, aggregated for each target and
// transformed; branches may test membership in a set.
#include <algorithm>
#include <cmath>

#include "core/checked.h"
#include "kernels/common/op.h"
#include "kernels/ml/row_model.h"
#include "kernels/ml/trees.h"

namespace ondine::kernels::ops {
namespace {

std::int64_t targets_of(const NodeView& node) {
  std::int64_t targets = node.attr_int("n_targets", 0);
  if (node.has_attr("n_targets")) {
    if (targets < 1) fail(ErrorCode::invalid_model, "attribute 'n_targets' is ", targets);
    return targets;
  }
  for (const std::int64_t id : node.attr_ints("leaf_targetids")) {
    targets = std::max(targets, checked_add(id, 1));
  }
  return targets;
}

std::vector<double> tensor_of(const NodeView& node, std::string_view name, DType dtype) {
  const Tensor tensor = node.attr_tensor(name);
  if (!tensor.defined()) return {};
  if (tensor.dtype() != dtype) {
    fail(ErrorCode::mismatch, "attribute ", quoted(name), " has dtype ", tensor.dtype(),
         ", needed: ", dtype);
  }
  return numbers_of(tensor);
}

void infer(InferContext& context) {
  numbered_post_transform(context);
  const std::int64_t aggregate = context.attr_int("aggregate_function", 1);
  if (aggregate < 0 || aggregate > 3) {
    fail(ErrorCode::invalid_model, "attribute 'aggregate_function' is ", aggregate, ", not 0 to 3");
  }
  infer_scores(context, 0, context.dtype(0), targets_of(context));
}

// Membership sets in the order of their nodes, separated by NaN.
void set_members(Trees& trees, std::span<const double> values) {
  std::size_t at = 0;
  for (Trees::Branch& branch : trees.branches) {
    if (branch.compare != Compare::member) continue;
    if (at >= values.size()) {
      fail(ErrorCode::invalid_model, "'membership_values' has fewer sets than there are nodes");
    }
    branch.first_member = static_cast<std::uint32_t>(trees.members.size());
    for (; at < values.size() && !std::isnan(values[at]); ++at) {
      trees.members.push_back(values[at]);
    }
    ++at;
    branch.last_member = static_cast<std::uint32_t>(trees.members.size());
  }
  if (at < values.size()) {
    fail(ErrorCode::invalid_model, "'membership_values' has more sets than there are nodes");
  }
}

std::uint32_t index_of(std::string_view name, std::int64_t value, std::size_t bound) {
  if (value < 0 || value >= static_cast<std::int64_t>(bound)) {
    fail(ErrorCode::invalid_model, "attribute ", quoted(name), " has ", value,
         ", needed: less than ", bound);
  }
  return static_cast<std::uint32_t>(value);
}

Trees read_trees(const NodeView& node, DType dtype) {
  Trees trees;
  trees.targets = row_length(targets_of(node));
  trees.aggregate = static_cast<Aggregate>(node.attr_int("aggregate_function", 1));
  const std::vector<double> splits = tensor_of(node, "nodes_splits", dtype);
  const std::vector<double> modes = tensor_of(node, "nodes_modes", DType::uint8);
  const std::size_t n = splits.size();
  require_count("nodes_modes", modes.size(), n);
  const auto ints = [&](std::string_view name, bool required = true) {
    std::vector<std::int64_t> list = node.attr_ints(name);
    if (required || !list.empty()) require_count(name, list.size(), n);
    list.resize(n);
    return list;
  };
  const auto features = ints("nodes_featureids");
  const auto missing = ints("nodes_missing_value_tracks_true", false);
  const auto yes = ints("nodes_truenodeids");
  const auto yes_leaf = ints("nodes_trueleafs");
  const auto no = ints("nodes_falsenodeids");
  const auto no_leaf = ints("nodes_falseleafs");

  const std::vector<double> weights = tensor_of(node, "leaf_weights", dtype);
  const auto targets = node.attr_ints("leaf_targetids");
  require_count("leaf_targetids", targets.size(), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    trees.leaves.push_back({{index_of("leaf_targetids", targets[i], trees.targets), weights[i]}});
  }
  const auto child = [&](std::string_view name, std::int64_t index, bool leaf) -> Trees::Child {
    return {index_of(name, index, leaf ? weights.size() : n), leaf};
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (modes[i] > 6) {
      fail(ErrorCode::invalid_model, "attribute 'nodes_modes' has ", modes[i], ", not 0 to 6");
    }
    trees.branches.push_back({splits[i], features[i], static_cast<Compare>(modes[i]),
                              missing[i] != 0, child("nodes_truenodeids", yes[i], yes_leaf[i] != 0),
                              child("nodes_falsenodeids", no[i], no_leaf[i] != 0), 0, 0});
  }
  for (const std::int64_t root : node.attr_ints("tree_roots")) {
    trees.roots.push_back({index_of("tree_roots", root, n), false});
  }
  set_members(trees, tensor_of(node, "membership_values", dtype));
  return trees;
}

Kernel bind(BindContext& context) {
  Trees trees = read_trees(context, context.dtype(0));
  return bind_trees(context, std::move(trees), numbered_post_transform(context));
}

}  // namespace

extern const OpDef tree_ensemble{
    .name = "TreeEnsemble", .domain = ml_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
