#include "trainer/plan/plan.h"

#include <algorithm>

#include "core/message.h"
#include "graph/contract/aliasing.h"
#include "graph/evaluate/tensor_bytes.h"
#include "trainer/plan/compact.h"
#include "trainer/plan/pack.h"
#include "trainer/plan/recompute.h"
#include "trainer/plan/specialize.h"
#include "trainer/plan/static_bind.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

class Planner {
 public:
  Planner(Graph graph, const PlanOptions& options) : options_(&options) {
    plan_.graph = std::move(graph);
    plan_.precision = options.precision;
    plan_.buffer_of.assign(plan_.graph.values.size(), no_buffer);
    targets_.assign(plan_.graph.values.size(), false);
    for (const ValueId id : options.targets) targets_[index(id)] = true;
  }

  // Once.
  Plan run() {
    Ordering ordering =
        order_nodes(plan_.graph, targets_, options_->in_place, options_->commit_last);
    former_ = std::move(ordering.former);
    end_ = static_cast<std::int32_t>(plan_.graph.nodes.size());
    plan_.in_place = std::move(ordering.in_place);
    plan_.committed = std::move(ordering.committed);
    plan_.commit_begin = ordering.commit_begin;
    place_inputs();
    count_readers();
    plan_nodes();
    check_commit();
    for (const ValueId id : plan_.graph.outputs) extend(id, end_);
    pack();
    if (plan_.arena_bytes > options_->limits->arena_bytes) {
      fail(ErrorCode::limit, "the call needs ", plan_.arena_bytes, " bytes for its values, ",
           options_->limits->arena_bytes, " are allowed; the largest is ", quoted(largest_value()));
    }
    count_bytes();
    return std::move(plan_);
  }

  // By node of the plan: its position in the graph that was planned.
  std::vector<std::size_t> take_former() { return std::move(former_); }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

  std::size_t add_buffer(ValueId id, BufferKind kind, std::int32_t position) {
    plan_.buffers.push_back({kind, 0, bytes_of(plan_.graph[id].type), position, position});
    members_.push_back({id});
    return plan_.buffer_of[index(id)] = plan_.buffers.size() - 1;
  }

  void join_buffer(ValueId id, std::size_t buffer, std::int32_t position) {
    plan_.buffer_of[index(id)] = buffer;
    members_[buffer].push_back(id);
    extend(id, position);
  }

  void place_inputs() {
    for (const ValueId id : plan_.graph.inputs) add_buffer(id, BufferKind::external, -1);
    for (std::size_t i = 0; i < plan_.graph.values.size(); ++i) {
      if (plan_.graph.values[i].constant->defined()) {
        add_buffer(static_cast<ValueId>(i), BufferKind::constant, -1);
      }
    }
  }

  // Readers of each value that are still to come; outputs are read at the end.
  void count_readers() {
    readers_.assign(plan_.graph.values.size(), 0);
    for (const Node& node : plan_.graph.nodes) {
      for (const ValueId id : node.all_inputs()) {
        if (id != no_value) ++readers_[index(id)];
      }
    }
    for (const ValueId id : plan_.graph.outputs) ++readers_[index(id)];
  }

  void extend(ValueId id, std::int32_t position) {
    const std::size_t buffer = plan_.buffer_of[index(id)];
    if (buffer != no_buffer) {
      plan_.buffers[buffer].last = std::max(plan_.buffers[buffer].last, position);
    }
  }

  void plan_nodes() {
    plan_.nodes.reserve(plan_.graph.nodes.size());
    for (Node& unplanned : plan_.graph.nodes) {
      const auto position = static_cast<std::int32_t>(plan_.nodes.size());
      const bool dynamic = !is_static(unplanned, plan_.graph);
      PlannedNode planned{std::move(unplanned), dynamic, no_buffer, {}};
      const Node& node = planned.node;
      std::optional<BoundNode> bound;
      check_sizes(node);
      if (!planned.dynamic) {
        bound = bind_static(node, plan_.graph,
                            {*options_->limits, options_->threads, options_->precision});
        planned.dynamic = !bound.has_value();
        if (bound) planned.implementation = bound->implementation;
      }
      for (const ValueId id : node.all_inputs()) {
        if (id != no_value) extend(id, position);
      }
      place_outputs(planned, position);
      for (const ValueId id : node.all_inputs()) {
        if (id != no_value) --readers_[index(id)];
      }
      if (bound && bound->workspace_bytes > 0) {
        planned.workspace = plan_.buffers.size();
        plan_.buffers.push_back({BufferKind::arena, 0, bound->workspace_bytes, position, position});
        members_.emplace_back();
      }
      plan_.nodes.push_back(std::move(planned));
    }
    plan_.graph.nodes = std::vector<Node>();
  }

  // What cannot be bound now cannot be known not to fail.
  void check_commit() {
    const auto section = std::span(plan_.nodes).subspan(plan_.commit_begin);
    if (std::none_of(section.begin(), section.end(), [](const auto& node) { return node.dynamic; }))
      return;
    plan_.commit_begin = plan_.nodes.size();
    plan_.committed.assign(plan_.committed.size(), false);
    plan_.in_place.assign(plan_.in_place.size(), false);
  }

  // Before the node is bound, which may prepare tables as large as its outputs.
  void check_sizes(const Node& node) const {
    for (const ValueId id : node.outputs) {
      if (id == no_value) continue;
      with_context([&] { require_tensor_fits(plan_.graph[id].type, *options_->limits); },
                   [&] { return describe(node, plan_.graph); });
    }
  }

  void place_outputs(const PlannedNode& planned, std::int32_t position) {
    const Node& node = planned.node;
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId id = node.outputs[k];
      if (id == no_value) continue;
      const Type& type = plan_.graph[id].type;
      const bool fixed = type.is_tensor() && type.shape() && type.dtype != DType::string;
      if (!fixed) {
        add_buffer(id, BufferKind::dynamic, position);
      } else if (planned.dynamic || !share_input(node, k, position)) {
        add_buffer(id, targets_[index(id)] ? BufferKind::target : BufferKind::arena, position);
      }
    }
  }

  // Output k takes the buffer of an input: a view of it, or written over it.
  bool share_input(const Node& node, std::size_t k, std::int32_t position) {
    const ValueId output = node.outputs[k];
    if (targets_[index(output)]) return false;
    if (const ValueId viewed = viewed_input(node, k); viewed != no_value) {
      const std::size_t buffer = plan_.buffer_of[index(viewed)];
      const BufferKind kind = plan_.buffers[buffer].kind;
      if (kind == BufferKind::arena || kind == BufferKind::external ||
          kind == BufferKind::constant) {
        join_buffer(output, buffer, position);
        return true;
      }
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == no_value || !may_alias(node, i, k)) continue;
      if (can_overwrite(node, i, k)) {
        join_buffer(output, plan_.buffer_of[index(node.inputs[i])], position);
        return true;
      }
    }
    return false;
  }

  // Nothing else reads what lies in the input's buffer, now or later, and no output before output k
  // took it.
  bool can_overwrite(const Node& node, std::size_t i, std::size_t k) const {
    const std::size_t buffer = plan_.buffer_of[index(node.inputs[i])];
    if (plan_.buffers[buffer].kind != BufferKind::arena) return false;
    const auto& in = plan_.graph[node.inputs[i]].type;
    const auto& out = plan_.graph[node.outputs[k]].type;
    if (size_of(in.dtype) != size_of(out.dtype) || !(in.shape() == out.shape())) return false;
    for (std::size_t earlier = 0; earlier < k; ++earlier) {
      const ValueId id = node.outputs[earlier];
      if (id != no_value && plan_.buffer_of[index(id)] == buffer) return false;
    }
    int reads = 0;
    for (const ValueId id : node.inputs) {
      reads += id != no_value && plan_.buffer_of[index(id)] == buffer ? 1 : 0;
    }
    return reads == 1 && pending_readers(buffer) == 1;
  }

  int pending_readers(std::size_t buffer) const {
    int count = 0;
    for (const ValueId id : members_[buffer]) count += readers_[index(id)];
    return count;
  }

  void count_bytes() {
    plan_.total_bytes = plan_.arena_bytes + options_->state_bytes;
    for (const GraphValue& value : plan_.graph.values) {
      if (value.constant->defined()) plan_.total_bytes += value.constant->bytes();
    }
    std::vector<bool> in_place(plan_.graph.values.size());
    for (std::size_t i = 0; i < plan_.in_place.size(); ++i) {
      if (plan_.in_place[i]) in_place[index(options_->in_place[i].value)] = true;
    }
    for (const ValueId id : options_->targets) {
      if (!in_place[index(id)]) plan_.total_bytes += bytes_of(plan_.graph[id].type);
    }
  }

  std::string_view largest_value() const {
    std::size_t largest = 0;
    std::string_view name;
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      if (buffer.kind != BufferKind::arena || buffer.bytes <= largest || members_[i].empty())
        continue;
      largest = buffer.bytes;
      name = plan_.graph[members_[i][0]].name;
    }
    return name;
  }

  void pack() {
    std::vector<Interval> intervals;
    std::vector<std::size_t> owners;
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      if (buffer.kind != BufferKind::arena || buffer.bytes == 0) continue;
      intervals.push_back({buffer.bytes, buffer.first, buffer.last});
      owners.push_back(i);
    }
    const Packing packing = pack_intervals(intervals);
    for (std::size_t i = 0; i < owners.size(); ++i) {
      plan_.buffers[owners[i]].offset = packing.offsets[i];
    }
    plan_.arena_bytes = packing.bytes;
  }

  const PlanOptions* options_;
  Plan plan_;
  std::int32_t end_ = 0;  // the position after the last node
  std::vector<std::size_t> former_;
  std::vector<bool> targets_;
  std::vector<int> readers_;
  std::vector<std::vector<ValueId>> members_;  // values of each buffer
};

// A plan, and what the graph was before.
class Draft {
 public:
  Draft(Graph graph, const PlanOptions& options) {
    Planner planner(std::move(graph), options);
    plan = planner.run();
    former_ = planner.take_former();
  }

  Graph graph() const {
    Graph graph = plan.graph;
    graph.nodes.resize(plan.nodes.size());
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
      graph.nodes[former_[i]] = plan.nodes[i].node;
    }
    return graph;
  }

  Plan plan;

 private:
  std::vector<std::size_t> former_;  // by node of the plan: its position in the graph
};

// Less and less is kept until the plan fits.
Plan fit_budget(const Draft& draft, const PlanOptions& options) {
  const Plan& plain = draft.plan;
  const std::uint64_t excess = plain.total_bytes - *options.memory_budget;
  std::uint64_t goal = plain.arena_bytes - std::min<std::uint64_t>(excess, plain.arena_bytes);
  std::uint64_t least = plain.total_bytes;
  for (int attempt = 0; attempt < 6; ++attempt) {
    Graph lean = draft.graph();
    recompute_values(lean, options.targets, {.goal = goal, .costly = true});
    Plan plan = Planner(std::move(lean), options).run();
    if (plan.total_bytes <= *options.memory_budget) return plan;
    least = std::min(least, plan.total_bytes);
    goal = attempt < 4 ? goal * 7 / 8 : 0;
  }
  fail(ErrorCode::limit, "the memory budget of ", *options.memory_budget,
       " bytes does not suffice: with recomputation the call needs ", least, ", without ",
       plain.total_bytes);
}

// Smaller arenas are not worth a second plan.
constexpr std::size_t small_arena = std::size_t{16} << 20;
// The share of a call's memory traffic that computing values again may add.
constexpr std::uint64_t max_share_of_traffic = 20;

std::uint64_t cheap_traffic(const Graph& graph) {
  std::uint64_t traffic = 0;
  for (const Node& node : graph.nodes) traffic += traffic_of(node, graph);
  return traffic / max_share_of_traffic;
}

// Under a lower precision values that wait for the backward pass are kept in it. Which ones does
// not depend on a budget.
void store_in_lower_precision(Draft& draft, const PlanOptions& options) {
  if (options.precision != Precision::bfloat16 || draft.plan.arena_bytes < small_arena) return;
  Graph lean = draft.graph();
  recompute_values(lean, options.targets, {.max_traffic = cheap_traffic(lean)});
  if (!compact_values(lean, options.targets)) return;
  Draft compacted(std::move(lean), options);
  if (compacted.plan.total_bytes < draft.plan.total_bytes) draft = std::move(compacted);
}

// Without a budget what costs little to compute again is not kept either.
Plan without_cheap_values(Draft draft, const PlanOptions& options) {
  Plan& plain = draft.plan;
  if (plain.arena_bytes < small_arena) return std::move(plain);
  Graph lean = draft.graph();
  const Recomputation cheap{.max_traffic = cheap_traffic(lean)};
  if (!recompute_values(lean, options.targets, cheap)) return std::move(plain);
  Plan plan = Planner(std::move(lean), options).run();
  return plan.total_bytes < plain.total_bytes ? std::move(plan) : std::move(plain);
}

}  // namespace

Plan make_plan(const Graph& graph, std::span<const Type> inputs, const PlanOptions& options) {
  const std::span<const ValueId> outputs = options.outputs.value_or(graph.outputs);
  Draft draft(specialize(graph, inputs, outputs, *options.limits), options);
  store_in_lower_precision(draft, options);
  if (!options.memory_budget) return without_cheap_values(std::move(draft), options);
  if (draft.plan.total_bytes <= *options.memory_budget) return std::move(draft.plan);
  return fit_budget(draft, options);
}

}  // namespace ondine::trainer
