#include "trainer/plan/schedule/order.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/contract/aliasing.h"
#include "graph/passes/rewrite.h"
#include "trainer/plan/inputs.h"
#include "trainer/plan/schedule/commit.h"
#include "trainer/plan/schedule/commit_scope.h"
#include "trainer/plan/schedule/node_lists.h"
#include "trainer/plan/schedule/postpone.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// Puts the node at order[i] at position i.
void permute(std::vector<Node>& nodes, std::vector<std::size_t> order) {
  for (std::size_t start = 0; start < order.size(); ++start) {
    if (order[start] == start) continue;
    Node first = std::move(nodes[start]);
    std::size_t at = start;
    while (order[at] != start) {
      nodes[at] = std::move(nodes[order[at]]);
      at = std::exchange(order[at], at);
    }
    nodes[at] = std::move(first);
    order[at] = at;
  }
}

bool writes_outside(const Node& node, const std::vector<bool>& outside) {
  return std::ranges::any_of(node.outputs, [&](ValueId id) {
    return id != no_value && outside[static_cast<std::size_t>(id)];
  });
}

class Order {
 public:
  Order(Graph& graph, const std::vector<bool>& outside)
      : graph_(graph),
        outside_(outside),
        producer_(graph.values.size(), none),
        readers_(graph),
        is_output_(output_flags(graph)),
        after_(graph.nodes.size()),
        before_(graph.nodes.size()),
        pending_readers_(graph.values.size()),
        waiting_(graph.nodes.size()),
        seen_(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ValueId id : graph.nodes[i].outputs) {
        if (id != no_value) producer_[index(id)] = i;
      }
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for_each_input(graph.nodes[i], [&](ValueId id) {
        ++pending_readers_[index(id)];
        if (producer_[index(id)] != none) ++waiting_[i];
      });
    }
    for (const ValueId id : graph.outputs) ++pending_readers_[index(id)];
  }

  // Makes all other readers of pair.input go before the node that computes pair.value.
  bool hold_back(const InPlace& pair) {
    if (pair.value == no_value || pair.input == no_value) return false;
    const std::size_t node = producer_[index(pair.value)];
    if (node == none || !may_overwrite(graph_, graph_.nodes[node], pair)) return false;
    std::vector<std::size_t> others;
    if (!collect_readers(pair.input, node, others)) return false;
    if (std::any_of(others.begin(), others.end(),
                    [&](std::size_t other) { return reaches(node, other); })) {
      return false;
    }
    for (const std::size_t other : others) {
      after_.add(other, node);
      before_.add(node, other);
      ++waiting_[node];
    }
    return true;
  }

  // Former position of each node, once run() has ordered them.
  std::vector<std::size_t> take_order() { return std::move(order_); }

  // Node that computes the value, or none.
  std::size_t producer(ValueId id) const { return id == no_value ? none : producer_[index(id)]; }

  // Nodes of `late` that do come after all others: updates, and nodes that come after the last of
  // the others anyway. The other ones keep their places, as nodes that shrink a value in the
  // forward pass.
  std::vector<bool> last_of(std::vector<bool> late) const {
    std::size_t end = 0;  // after the last node that comes before
    for (std::size_t i = 0; i < late.size(); ++i) {
      if (!late[i] && !is_small(graph_.nodes[i])) end = i + 1;
    }
    for (std::size_t i = 0; i < end; ++i) {
      late[i] = late[i] && writes_outside(graph_.nodes[i], outside_);
    }
    return late;
  }

  // Nodes that are `last` (a flag for each) come after all others. With `as_ready` they do in the
  // order in which they could have run: a step's first weight is then updated just before the next
  // step reads it. Returns how many are not last.
  std::size_t run(const std::vector<bool>& last, bool as_ready) {
    done_.assign(graph_.nodes.size(), false);
    order_.reserve(graph_.nodes.size());
    last_ = last;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!last_[i] && waiting_[i] == 0 && is_small(graph_.nodes[i])) schedule(i);
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!last_[i] && !(is_held_back(i) && is_small(graph_.nodes[i]))) schedule(i);
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!last_[i]) schedule(i);
    }
    const std::size_t others = order_.size();
    last_.assign(graph_.nodes.size(), false);
    for (const std::size_t i : ready_) {
      if (as_ready && !is_base(i)) schedule(i);
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) schedule(i);
    permute(graph_.nodes, order_);
    return others;
  }

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

  // Nodes but `except` that read the value or a view of it. False when it leaves the graph.
  bool collect_readers(ValueId id, std::size_t except, std::vector<std::size_t>& found) const {
    if (id == no_value) return true;
    if (is_output_[index(id)]) return false;
    for (const std::size_t reader : readers_.of(id)) {
      if (reader == except) continue;
      found.push_back(reader);
      const Node& node = graph_.nodes[reader];
      const bool view = viewed_input(node) == id;
      if (view && !collect_readers(node.outputs[0], except, found)) return false;
    }
    return true;
  }

  bool reaches(std::size_t from, std::size_t to) {
    ++search_;
    std::vector<std::size_t> stack{from};
    while (!stack.empty()) {
      const std::size_t node = stack.back();
      stack.pop_back();
      if (node == to) return true;
      if (seen_[node] == search_) continue;
      seen_[node] = search_;
      for (const ValueId id : graph_.nodes[node].outputs) {
        if (id == no_value) continue;
        const auto readers = readers_.of(id);
        stack.insert(stack.end(), readers.begin(), readers.end());
      }
      after_.for_each(node, [&](std::size_t next) { stack.push_back(next); });
    }
    return false;
  }

  bool in_arena(ValueId id) const {
    return id != no_value && producer_[index(id)] != none && !outside_[index(id)];
  }

  // Whether views of the value still have readers, which keep its memory.
  bool is_viewed(ValueId id) const {
    return std::ranges::any_of(readers_.of(id), [&](std::size_t reader) {
      const Node& node = graph_.nodes[reader];
      if (!done_[reader] || viewed_input(node) != id) return false;
      return pending_readers_[index(node.outputs[0])] > 0 || is_viewed(node.outputs[0]);
    });
  }

  bool frees_memory(std::size_t i) const {
    std::size_t taken = 0;
    std::size_t freed = 0;
    for (const ValueId id : graph_.nodes[i].outputs) {
      if (in_arena(id)) taken += bytes_of(graph_[id].type);
    }
    for (const ValueId id : graph_.nodes[i].inputs) {
      if (in_arena(id) && pending_readers_[index(id)] == 1 && !is_viewed(id)) {
        freed += bytes_of(graph_[id].type);
      }
    }
    return freed > 0 && freed >= taken;
  }

  // Whether it may run as soon as it can. Updates that count steps or follow a schedule would
  // otherwise wait for that, and their gradients with them.
  bool is_small(const Node& node) const {
    constexpr std::size_t most = 64;
    std::size_t taken = 0;
    for (const ValueId id : node.outputs) {
      if (id == no_value) continue;
      if (!has_fixed_size(graph_[id].type)) return false;
      taken += bytes_of(graph_[id].type);
    }
    return taken <= most;
  }

  // Whether it waits for others than those whose results it reads. A small one, as the next count
  // of steps in place of the present one, must not pull all of them forward.
  bool is_held_back(std::size_t i) const {
    bool held = false;
    before_.for_each(i, [&](std::size_t) { held = true; });
    return held;
  }

  // Whether a node adds to its result that is no update itself: the sum may have become possible
  // long after it, when less is held.
  bool is_base(std::size_t i) const {
    const auto is_update = [&](std::size_t node) {
      return writes_outside(graph_.nodes[node], outside_);
    };
    return std::ranges::any_of(graph_.nodes[i].outputs, [&](ValueId id) {
      return id != no_value && !std::ranges::all_of(readers_.of(id), is_update);
    });
  }

  // The node, after what it waits for, and then whatever can follow it that frees memory.
  void schedule(std::size_t first) {
    std::vector<std::size_t> stack{first};
    while (!stack.empty()) {
      const std::size_t i = stack.back();
      if (done_[i]) {
        stack.pop_back();
      } else if (waiting_[i] > 0) {
        push_missing(i, stack);
      } else {
        stack.pop_back();
        finish(i, stack);
      }
    }
  }

  void push_missing(std::size_t i, std::vector<std::size_t>& stack) const {
    for_each_input(graph_.nodes[i], [&](ValueId id) {
      const std::size_t producer = producer_[index(id)];
      if (producer != none && !done_[producer]) stack.push_back(producer);
    });
    std::vector<std::size_t> others;
    before_.for_each(i, [&](std::size_t other) { others.push_back(other); });
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    std::copy_if(others.begin(), others.end(), std::back_inserter(stack),
                 [&](std::size_t other) { return !done_[other]; });
  }

  void finish(std::size_t i, std::vector<std::size_t>& stack) {
    done_[i] = true;
    order_.push_back(i);
    const Node& node = graph_.nodes[i];
    std::vector<std::size_t> candidates;
    for (const ValueId id : node.outputs) {
      if (id == no_value) continue;
      const auto readers = readers_.of(id);
      for (const std::size_t reader : readers) --waiting_[reader];
      candidates.insert(candidates.end(), readers.begin(), readers.end());
    }
    after_.for_each(i, [&](std::size_t next) {
      --waiting_[next];
      candidates.push_back(next);
    });
    for_each_input(node, [&](ValueId id) { --pending_readers_[index(id)]; });
    for (const ValueId id : node.inputs) {
      if (id == no_value || pending_readers_[index(id)] != 1) continue;
      const auto readers = readers_.of(id);
      candidates.insert(candidates.end(), readers.begin(), readers.end());
    }
    for (const std::size_t next : candidates) {
      if (done_[next] || waiting_[next] > 0) continue;
      if (last_[next]) {
        ready_.push_back(next);
      } else if (frees_memory(next)) {
        stack.push_back(next);
      }
    }
  }

  Graph& graph_;
  const std::vector<bool>& outside_;
  std::vector<std::size_t> producer_;  // by value
  Readers readers_;
  std::vector<bool> is_output_;       // by value: of the graph
  Edges after_;                       // to nodes that must come later, though they are no readers
  Edges before_;                      // the same the other way round
  std::vector<int> pending_readers_;  // by value
  std::vector<int> waiting_;          // by node: inputs and others still to come
  std::vector<std::uint32_t> seen_;   // by node: the last search that met it
  std::uint32_t search_ = 0;
  std::vector<bool> done_;
  std::vector<bool> last_;
  std::vector<std::size_t> ready_;  // nodes to come last, in the order in which they could run
  std::vector<std::size_t> order_;
};

std::size_t position(const std::vector<ValueId>& ids, ValueId id) {
  return static_cast<std::size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
}

}  // namespace

bool may_overwrite(const Graph& graph, const Node& node, const InPlace& pair) {
  const Type& from = graph[pair.input].type;
  const Type& to = graph[pair.value].type;
  if (from.dtype != to.dtype || !(from.shape() == to.shape()) || !node.subgraphs.empty())
    return false;
  if (std::count(node.inputs.begin(), node.inputs.end(), pair.input) != 1) return false;
  return may_alias(node, position(node.inputs, pair.input), position(node.outputs, pair.value));
}

Ordering order_nodes(Graph& graph, const std::vector<bool>& outside,
                     std::span<const InPlace> in_place, CommitScope scope) {
  Order order(graph, outside);
  const std::vector<bool> commits = choose_commits(graph, outside, in_place, scope);
  const bool any_node = scope == CommitScope::none;
  Ordering result;
  for (const InPlace& pair : in_place) {
    const std::size_t node = order.producer(pair.value);
    const bool committed = node != Order::none && commits[node];
    result.committed.push_back(committed);
    result.in_place.push_back((committed || any_node) && order.hold_back(pair));
  }
  const bool all = scope == CommitScope::all;
  result.commit_begin = order.run(all ? order.last_of(commits) : commits, !all);
  result.former = order.take_order();
  postpone_nodes(graph, outside, result.commit_begin, result.former, all);
  while (result.commit_begin < graph.nodes.size() &&
         !writes_outside(graph.nodes[result.commit_begin], outside)) {
    ++result.commit_begin;
  }
  return result;
}

Ordering order_nodes(Graph& graph, const std::vector<bool>& outside,
                     std::span<const InPlace> in_place, bool commit_last) {
  return order_nodes(graph, outside, in_place,
                     commit_last ? CommitScope::updates : CommitScope::none);
}

}  // namespace ondine::trainer
