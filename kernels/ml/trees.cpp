#include "kernels/ml/trees.h"

#include <algorithm>

#include "kernels/common/element_conversion.h"
#include "kernels/ml/forest.h"

namespace ondine::kernels {
namespace {

void check_child(const Trees& trees, Trees::Child child) {
  const std::size_t bound = child.leaf ? trees.leaves.size() : trees.branches.size();
  if (child.index >= bound) {
    fail(ErrorCode::invalid_model, "a tree leads to ", child.leaf ? "leaf " : "node ", child.index,
         " of ", bound);
  }
}

// Walks depth first; a branch that is met again on the current path leads back to itself.
void check_no_cycles(const Trees& trees) {
  enum class State : std::uint8_t { fresh, on_path, done };
  std::vector<State> states(trees.branches.size(), State::fresh);
  std::vector<std::uint32_t> path;
  const auto enter = [&](Trees::Child child) {
    if (child.leaf || states[child.index] == State::done) return;
    if (states[child.index] == State::on_path) {
      fail(ErrorCode::invalid_model, "the tree's node ", child.index, " leads back to itself");
    }
    states[child.index] = State::on_path;
    path.push_back(child.index);
  };
  std::vector<char> second(trees.branches.size());  // whether the true side was visited
  for (const Trees::Child root : trees.roots) {
    enter(root);
    while (!path.empty()) {
      const std::uint32_t at = path.back();
      const Trees::Branch& branch = trees.branches[at];
      const char side = second[at]++;
      if (side < 2) {
        enter(side == 0 ? branch.yes : branch.no);
      } else {
        states[at] = State::done;
        path.pop_back();
      }
    }
  }
}

}  // namespace

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> out;
  visit(tensor.dtype(), Types<float, double, float16, std::uint8_t>{}, [&]<class T>() {
    for (const T& x : tensor.values<T>()) out.push_back(static_cast<double>(load(x)));
  });
  return out;
}

void Trees::check(std::size_t features) const {
  for (const Child root : roots) check_child(*this, root);
  for (const Branch& branch : branches) {
    check_child(*this, branch.yes);
    check_child(*this, branch.no);
    if (branch.feature < 0 || branch.feature >= static_cast<std::int64_t>(features)) {
      fail(ErrorCode::invalid_model, "a tree reads feature ", branch.feature, " of ", features);
    }
  }
  for (const auto& votes : leaves) {
    for (const Vote& vote : votes) {
      if (vote.target >= targets) {
        fail(ErrorCode::invalid_model, "a leaf votes for ", vote.target, " of ", targets);
      }
    }
  }
  if (!base.empty() && base.size() != targets) {
    fail(ErrorCode::invalid_model, base.size(), " base values for ", targets, " scores");
  }
  check_no_cycles(*this);
}

graph::Kernel bind_trees(graph::BindContext& context, Trees trees, PostTransform transform) {
  trees.check(static_cast<std::size_t>(feature_count(context)));
  RowModel model{.columns = trees.targets, .transform = transform, .score = {}};
  model.score_rows = [forest = Forest(trees)](const RowBlock& rows) {
    forest.evaluate(rows.x, rows.features, rows.scores, rows.scratch);
  };
  return bind_regressor(context, std::move(model));
}

}  // namespace ondine::kernels
