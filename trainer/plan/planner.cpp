#include "trainer/plan/planner.h"

#include <algorithm>
#include <limits>

#include "core/message.h"
#include "core/system/pages.h"
#include "graph/contract/aliasing.h"
#include "graph/evaluate/tensor_bytes.h"
#include "trainer/plan/inputs.h"
#include "trainer/plan/place/pack.h"
#include "trainer/plan/place/static_bind.h"
#include "trainer/plan/rewrite/specialize.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

// Ordering so many nodes leaves much memory free.
constexpr std::size_t many_nodes = std::size_t{1} << 16;

namespace {

// Buffers of the arena, by their positions in Plan::buffers, and when they are alive.
struct ArenaBuffers {
  std::vector<std::size_t> buffers;
  std::vector<Interval> intervals;
};

ArenaBuffers arena_of(const Plan& plan) {
  ArenaBuffers arena;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.kind != BufferKind::arena || buffer.bytes == 0) continue;
    arena.buffers.push_back(i);
    arena.intervals.push_back({buffer.bytes, buffer.first, buffer.last});
  }
  return arena;
}

}  // namespace

void place(Plan& plan) {
  const auto [buffers, intervals] = arena_of(plan);
  const Packing packing = pack_intervals(intervals);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    plan.buffers[buffers[i]].offset = packing.offsets[i];
  }
  plan.total_bytes += packing.bytes - plan.arena_bytes;
  plan.arena_bytes = packing.bytes;
}

Planner::Planner(Graph graph, const OriginalNodes& originals, const PlanOptions& options,
                 CommitScope scope, SharedKernels known)
    : originals_(&originals), options_(&options), scope_(scope), kernels_(std::move(known)) {
  plan_.graph = std::move(graph);
  plan_.precision = options.precision;
  plan_.buffer_of.assign(plan_.graph.values.size(), no_buffer);
  targets_.assign(plan_.graph.values.size(), false);
  for (const ValueId id : options.targets) targets_[index(id)] = true;
}

Plan Planner::run() {
  for (const Node& node : plan_.graph.nodes) check_sizes(node);
  Ordering ordering = order_nodes(plan_.graph, targets_, options_->in_place, scope_);
  former_ = std::move(ordering.former);
  end_ = static_cast<std::int32_t>(plan_.graph.nodes.size());
  plan_.in_place = std::move(ordering.in_place);
  plan_.committed = std::move(ordering.committed);
  plan_.commit_begin = ordering.commit_begin;
  if (plan_.graph.nodes.size() >= many_nodes) return_freed_memory();
  plan_.buffers.reserve(plan_.graph.values.size() + plan_.graph.nodes.size());
  count_readers();
  place_inputs();
  plan_nodes();
  check_commit();
  for (const ValueId id : plan_.graph.outputs) extend(id, end_);
  plan_.arena_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(
      alive_bytes(arena_of(plan_).intervals), std::numeric_limits<std::size_t>::max()));
  count_bytes();
  return std::move(plan_);
}

std::size_t Planner::add_buffer(ValueId id, BufferKind kind, std::int32_t position) {
  plan_.buffers.push_back({kind, 0, bytes_of(plan_.graph[id].type), position, position});
  owners_.push_back(id);
  pending_readers_.push_back(readers_[index(id)]);
  return plan_.buffer_of[index(id)] = plan_.buffers.size() - 1;
}

void Planner::join_buffer(ValueId id, std::size_t buffer, std::int32_t position) {
  plan_.buffer_of[index(id)] = buffer;
  pending_readers_[buffer] += readers_[index(id)];
  extend(id, position);
}

void Planner::extend(ValueId id, std::int32_t position) {
  const std::size_t buffer = plan_.buffer_of[index(id)];
  if (buffer != no_buffer) {
    plan_.buffers[buffer].last = std::max(plan_.buffers[buffer].last, position);
  }
}

void Planner::place_inputs() {
  for (const ValueId id : plan_.graph.inputs) add_buffer(id, BufferKind::external, -1);
  for (std::size_t i = 0; i < plan_.graph.values.size(); ++i) {
    if (plan_.graph.values[i].constant->defined()) {
      add_buffer(static_cast<ValueId>(i), BufferKind::constant, -1);
    }
  }
}

// Outputs are read at the end.
void Planner::count_readers() {
  readers_.assign(plan_.graph.values.size(), 0);
  for (const Node& node : plan_.graph.nodes) {
    for_each_input(node, [&](ValueId id) { ++readers_[index(id)]; });
  }
  for (const ValueId id : plan_.graph.outputs) ++readers_[index(id)];
}

PlannedNode Planner::bind(std::shared_ptr<const Node> node) {
  PlannedNode planned{std::move(node), true};
  if (!is_static(*planned.node, plan_.graph)) return planned;
  const auto kernel = kernels_.kernel_of(
      planned.node, plan_.graph, {*options_->limits, options_->threads, options_->precision});
  if (!kernel) return planned;
  planned.dynamic = false;
  planned.kernel = *kernel;
  return planned;
}

void Planner::plan_nodes() {
  plan_.nodes.reserve(plan_.graph.nodes.size());
  for (Node& node : plan_.graph.nodes) {
    plan_.nodes.push_back({originals_->hold(std::move(node))});
  }
  // Its memory goes before that of the buffers comes.
  plan_.graph.nodes = std::vector<Node>();
  for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
    const auto position = static_cast<std::int32_t>(i);
    PlannedNode planned = bind(std::move(plan_.nodes[i].node));
    const Node& node = *planned.node;
    for_each_input(node, [&](ValueId id) { extend(id, position); });
    place_outputs(planned, position);
    for_each_input(node, [&](ValueId id) { --pending_readers_[plan_.buffer_of[index(id)]]; });
    const std::size_t workspace =
        planned.dynamic ? 0 : kernels_.kernels()[planned.kernel].workspace_bytes;
    if (workspace > 0) {
      planned.workspace = plan_.buffers.size();
      plan_.buffers.push_back({BufferKind::arena, 0, workspace, position, position});
      owners_.push_back(no_value);
      pending_readers_.push_back(0);
    }
    plan_.nodes[i] = std::move(planned);
  }
  plan_.buffers.shrink_to_fit();
  plan_.kernels = kernels_.kernels();
}

// Empties the commit section if it has nodes that cannot be bound now: they may fail.
void Planner::check_commit() {
  const auto section = std::span(plan_.nodes).subspan(plan_.commit_begin);
  if (std::none_of(section.begin(), section.end(), [](const auto& node) { return node.dynamic; }))
    return;
  plan_.commit_begin = plan_.nodes.size();
  plan_.committed.assign(plan_.committed.size(), false);
  plan_.in_place.assign(plan_.in_place.size(), false);
}

// Before nodes are ordered by sizes and bound, which may prepare tables as large as outputs.
void Planner::check_sizes(const Node& node) const {
  for (const ValueId id : node.outputs) {
    if (id == no_value) continue;
    const Type& type = plan_.graph[id].type;
    with_context(
        [&] {
          // Dims whose product no tensor may have are found here, too.
          if (has_fixed_size(type) && bytes_of(type) <= options_->limits->tensor_bytes) return;
          require_tensor_fits(type, *options_->limits);
        },
        [&] { return describe(node, plan_.graph); });
  }
}

void Planner::place_outputs(const PlannedNode& planned, std::int32_t position) {
  const Node& node = *planned.node;
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    const ValueId id = node.outputs[k];
    if (id == no_value) continue;
    if (!has_fixed_size(plan_.graph[id].type)) {
      add_buffer(id, BufferKind::dynamic, position);
    } else if (planned.dynamic || !share_input(node, k, position)) {
      add_buffer(id, targets_[index(id)] ? BufferKind::target : BufferKind::arena, position);
    }
  }
}

// Output k takes the buffer of an input: a view of it, or written over it.
bool Planner::share_input(const Node& node, std::size_t k, std::int32_t position) {
  const ValueId output = node.outputs[k];
  if (targets_[index(output)]) return false;
  if (const ValueId viewed = viewed_input(node, k); viewed != no_value) {
    const std::size_t buffer = plan_.buffer_of[index(viewed)];
    const BufferKind kind = plan_.buffers[buffer].kind;
    if (kind == BufferKind::arena || kind == BufferKind::external || kind == BufferKind::constant) {
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
bool Planner::can_overwrite(const Node& node, std::size_t i, std::size_t k) const {
  const std::size_t buffer = plan_.buffer_of[index(node.inputs[i])];
  if (plan_.buffers[buffer].kind != BufferKind::arena) return false;
  const auto& in = plan_.graph[node.inputs[i]].type;
  const auto& out = plan_.graph[node.outputs[k]].type;
  if (size_of(in.dtype) != size_of(out.dtype) || in.dims != out.dims) return false;
  for (std::size_t earlier = 0; earlier < k; ++earlier) {
    const ValueId id = node.outputs[earlier];
    if (id != no_value && plan_.buffer_of[index(id)] == buffer) return false;
  }
  int reads = 0;
  for (const ValueId id : node.inputs) {
    reads += id != no_value && plan_.buffer_of[index(id)] == buffer ? 1 : 0;
  }
  return reads == 1 && pending_readers_[buffer] == 1;
}

void Planner::count_bytes() {
  for (const GraphValue& value : plan_.graph.values) {
    if (value.constant->defined()) plan_.constant_bytes += value.constant->bytes();
  }
  plan_.total_bytes = plan_.arena_bytes + plan_.constant_bytes + options_->state_bytes;
  std::vector<bool> in_place(plan_.graph.values.size());
  for (std::size_t i = 0; i < plan_.in_place.size(); ++i) {
    if (plan_.in_place[i]) in_place[index(options_->in_place[i].value)] = true;
  }
  for (const ValueId id : options_->targets) {
    if (!in_place[index(id)]) plan_.total_bytes += bytes_of(plan_.graph[id].type);
  }
}

}  // namespace ondine::trainer
