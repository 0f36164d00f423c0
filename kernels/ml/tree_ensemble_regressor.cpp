// tree_ensemble_regressor.cpp — the leaves of all trees that x leads to, aggregated for each
// target, plus base values, transformed. Version 3 has attributes of double.
#include <algorithm>
#include <array>

#include "kernels/common/op.h"
#include "kernels/ml/row_model.h"
#include "kernels/ml/tree_attributes.h"

namespace ondine::kernels::ops {
namespace {

std::int64_t targets_of(const NodeView& node) {
  const std::int64_t targets = node.attr_int("n_targets", 1);
  if (targets < 1) fail(ErrorCode::invalid_model, "attribute 'n_targets' is ", targets);
  return targets;
}

Aggregate aggregate_of(const NodeView& node) {
  constexpr std::array<std::string_view, 4> names{"AVERAGE", "SUM", "MIN", "MAX"};
  const std::string name = node.attr_string("aggregate_function", "SUM");
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    fail(ErrorCode::invalid_model, "attribute 'aggregate_function' is ", quoted(name),
         ", not AVERAGE, SUM, MIN or MAX");
  }
  return static_cast<Aggregate>(found - names.begin());
}

void infer(InferContext& context) {
  read_post_transform(context);
  aggregate_of(context);
  infer_scores(context, 0, DType::float32, targets_of(context));
}

Kernel bind(BindContext& context) {
  Trees trees = trees_of_arrays(context, "target", "target_ids", row_length(targets_of(context)));
  trees.aggregate = aggregate_of(context);
  return bind_trees(context, std::move(trees), read_post_transform(context));
}

}  // namespace

extern const OpDef tree_ensemble_regressor{
    .name = "TreeEnsembleRegressor", .domain = ml_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
