#include "kernels/ml/trees.h"

#include <algorithm>
#include <cmath>

#include "core/stop.h"
#include "kernels/common/element_conversion.h"

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

bool Trees::holds(const Branch& branch, double x) const {
  if (std::isnan(x)) return branch.missing_is_true;
  switch (branch.compare) {
    case Compare::leq:
      return x <= branch.split;
    case Compare::lt:
      return x < branch.split;
    case Compare::gte:
      return x >= branch.split;
    case Compare::gt:
      return x > branch.split;
    case Compare::eq:
      return x == branch.split;
    case Compare::neq:
      return x != branch.split;
    case Compare::member:
      break;
  }
  checkpoint((branch.last_member - branch.first_member) / 2);
  return std::find(members.begin() + branch.first_member, members.begin() + branch.last_member,
                   x) != members.begin() + branch.last_member;
}

void Trees::evaluate(std::span<const double> x, std::span<double> scores,
                     std::span<double> scratch) const {
  const auto voted = scratch.first(targets);
  std::fill(scores.begin(), scores.end(), 0.0);
  std::fill(voted.begin(), voted.end(), 0.0);
  for (Child at : roots) {
    std::int64_t steps = 1;
    for (; !at.leaf; ++steps) {
      const Branch& branch = branches[at.index];
      at = holds(branch, x[static_cast<std::size_t>(branch.feature)]) ? branch.yes : branch.no;
    }
    checkpoint(8 * steps + static_cast<std::int64_t>(leaves[at.index].size()));
    for (const Vote& vote : leaves[at.index]) {
      double& score = scores[vote.target];
      if (aggregate == Aggregate::sum || aggregate == Aggregate::average) {
        score += vote.weight;
      } else if (voted[vote.target] == 0) {
        score = vote.weight;
      } else {
        score = aggregate == Aggregate::min ? std::min(score, vote.weight)
                                            : std::max(score, vote.weight);
      }
      voted[vote.target] = 1;
    }
  }
  for (std::size_t k = 0; k < scores.size(); ++k) {
    if (aggregate == Aggregate::average && !roots.empty()) {
      scores[k] /= static_cast<double>(roots.size());
    }
    if (!base.empty()) scores[k] += base[k];
  }
}

graph::Kernel bind_trees(graph::BindContext& context, Trees trees, PostTransform transform) {
  trees.check(static_cast<std::size_t>(feature_count(context)));
  RowModel model{
      .columns = trees.targets, .scratch = trees.scratch(), .transform = transform, .score = {}};
  model.score = [trees = std::move(trees)](std::span<const double> x, std::span<double> scores,
                                           std::span<double> scratch) {
    trees.evaluate(x, scores, scratch);
    return std::size_t{0};
  };
  return bind_regressor(context, std::move(model));
}

}  // namespace ondine::kernels
