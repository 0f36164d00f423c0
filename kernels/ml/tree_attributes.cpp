#include "kernels/ml/tree_attributes.h"

#include <array>
#include <map>

#include "kernels/ml/row_model.h"

namespace ondine::kernels {
namespace {

using Int64s = std::vector<std::int64_t>;

// Attribute `name`, or from version 3 on the tensor `name`_as_tensor.
std::vector<double> reals(const graph::NodeView& node, const std::string& name) {
  const Tensor tensor = node.attr_tensor(name + "_as_tensor");
  const std::vector<float> list = node.attr_floats(name);
  if (!tensor.defined()) return {list.begin(), list.end()};
  if (!list.empty()) {
    fail(ErrorCode::invalid_model, "both ", quoted(name), " and ", quoted(name + "_as_tensor"),
         " are given");
  }
  return numbers_of(tensor);
}

struct Mode {
  bool leaf = false;
  Compare compare = Compare::leq;
};

Mode mode_of(const std::string& name) {
  constexpr std::array<std::string_view, 6> names{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                  "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  if (name == "LEAF") return {true, {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return {false, static_cast<Compare>(i)};
  }
  fail(ErrorCode::invalid_model, "attribute 'nodes_modes' has ", quoted(name));
}

}  // namespace

Trees trees_of_arrays(const graph::NodeView& node, const std::string& votes, const std::string& ids,
                      std::size_t targets) {
  Trees trees;
  trees.targets = targets;
  trees.base = reals(node, "base_values");
  const std::vector<std::string> modes = node.attr_strings("nodes_modes");
  const std::size_t n = modes.size();
  const auto ints = [&](const std::string& name, bool required = true) {
    Int64s list = node.attr_ints(name);
    if (required || !list.empty()) require_count(name, list.size(), n);
    list.resize(n);
    return list;
  };
  const Int64s tree_ids = ints("nodes_treeids");
  const Int64s node_ids = ints("nodes_nodeids");
  const Int64s features = ints("nodes_featureids");
  const Int64s yes = ints("nodes_truenodeids");
  const Int64s no = ints("nodes_falsenodeids");
  const Int64s missing = ints("nodes_missing_value_tracks_true", false);
  const std::vector<double> splits = reals(node, "nodes_values");
  require_count("nodes_values", splits.size(), n);

  // The branch or leaf of each (tree, node); the first node of a tree is its root.
  using Name = std::pair<std::int64_t, std::int64_t>;
  std::map<Name, Trees::Child> children;
  std::map<std::int64_t, std::size_t> seen;
  for (std::size_t i = 0; i < n; ++i) {
    const bool leaf = mode_of(modes[i]).leaf;
    const std::size_t index = leaf ? trees.leaves.size() : trees.branches.size();
    const Trees::Child child{static_cast<std::uint32_t>(index), leaf};
    if (!children.emplace(Name{tree_ids[i], node_ids[i]}, child).second) {
      fail(ErrorCode::invalid_model, "tree ", tree_ids[i], " has two nodes ", node_ids[i]);
    }
    if (leaf) {
      trees.leaves.emplace_back();
    } else {
      trees.branches.emplace_back();
    }
    if (seen.emplace(tree_ids[i], i).second) trees.roots.push_back(child);
  }
  const auto find = [&](std::int64_t tree, std::int64_t id) {
    const auto found = children.find({tree, id});
    if (found == children.end()) {
      fail(ErrorCode::invalid_model, "tree ", tree, " has no node ", id);
    }
    return found->second;
  };
  std::size_t at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Mode mode = mode_of(modes[i]);
    if (mode.leaf) continue;
    trees.branches[at++] = {splits[i],
                            features[i],
                            mode.compare,
                            missing[i] != 0,
                            find(tree_ids[i], yes[i]),
                            find(tree_ids[i], no[i]),
                            0,
                            0};
  }

  const Int64s voted = node.attr_ints(ids);
  const Int64s vote_trees = node.attr_ints(votes + "_treeids");
  const Int64s vote_nodes = node.attr_ints(votes + "_nodeids");
  const std::vector<double> weights = reals(node, votes + "_weights");
  require_count(votes + "_treeids", vote_trees.size(), voted.size());
  require_count(votes + "_nodeids", vote_nodes.size(), voted.size());
  require_count(votes + "_weights", weights.size(), voted.size());
  for (std::size_t i = 0; i < voted.size(); ++i) {
    if (voted[i] < 0 || voted[i] >= static_cast<std::int64_t>(targets)) {
      fail(ErrorCode::invalid_model, "attribute ", quoted(ids), " has ", voted[i],
           ", needed: 0 to ", static_cast<std::int64_t>(targets) - 1);
    }
    const Trees::Child leaf = find(vote_trees[i], vote_nodes[i]);
    if (leaf.leaf) {
      trees.leaves[leaf.index].push_back({static_cast<std::uint32_t>(voted[i]), weights[i]});
    }
  }
  return trees;
}

}  // namespace ondine::kernels
