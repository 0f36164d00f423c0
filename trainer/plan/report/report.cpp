#include "trainer/plan/report/report.h"

#include <algorithm>

#include "core/message.h"
#include "graph/contract/aliasing.h"
#include "graph/contract/op_def.h"
#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

class Reporter {
 public:
  Reporter(const Plan& plan, std::span<const Storage> inputs, std::span<const InPlace> in_place)
      : plan_(&plan),
        first_(plan.graph.values.size(), 0),
        last_(plan.graph.values.size(), 0),
        replaced_(plan.graph.values.size(), no_value),
        given_(plan.buffers.size(), Storage::caller) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      given_[buffer_of(plan.graph.inputs[i])] = inputs[i];
    }
    for (std::size_t i = 0; i < in_place.size(); ++i) {
      if (plan.in_place[i]) replaced_[index(in_place[i].value)] = in_place[i].input;
    }
    find_lifetimes();
  }

  PlanReport run() {
    for (std::size_t i = 0; i < plan_->nodes.size(); ++i) add_node(i);
    report_.arena_bytes = plan_->arena_bytes;
    report_.constant_bytes = plan_->constant_bytes;
    add_peak();
    return std::move(report_);
  }

 private:
  std::size_t buffer_of(ValueId id) const { return plan_->buffer_of[index(id)]; }

  void find_lifetimes() {
    for (const ValueId id : plan_->graph.outputs) last_[index(id)] = plan_->nodes.size();
    for (std::size_t i = plan_->nodes.size(); i-- > 0;) {
      const Node& node = *plan_->nodes[i].node;
      for (const ValueId id : node.outputs) {
        if (id == no_value) continue;
        first_[index(id)] = i;
        last_[index(id)] = std::max(last_[index(id)], i);
      }
      for (const ValueId id : node.all_inputs()) {
        if (id != no_value) last_[index(id)] = std::max(last_[index(id)], i);
      }
      const ValueId viewed = viewed_input(node);
      if (viewed == no_value || node.outputs[0] == no_value) continue;
      if (buffer_of(viewed) != buffer_of(node.outputs[0])) continue;
      last_[index(viewed)] = std::max(last_[index(viewed)], last_[index(node.outputs[0])]);
    }
  }

  Storage storage_of(std::size_t buffer) const {
    switch (plan_->buffers[buffer].kind) {
      case BufferKind::external:
        return given_[buffer];
      case BufferKind::constant:
        return Storage::constant;
      case BufferKind::target:
        return Storage::state;
      case BufferKind::dynamic:
        return Storage::dynamic;
      case BufferKind::arena:
      case BufferKind::none:
        break;
    }
    return Storage::arena;
  }

  PlannedValue describe_value(ValueId id) const {
    const Buffer& buffer = plan_->buffers[buffer_of(id)];
    PlannedValue value;
    value.name = plan_->graph[id].name;
    value.type = graph::to_string(plan_->graph[id].type);
    value.storage = storage_of(buffer_of(id));
    value.offset = value.storage == Storage::arena ? buffer.offset : 0;
    value.bytes = value.storage == Storage::dynamic ? 0 : bytes_of(plan_->graph[id].type);
    value.first = first_[index(id)];
    value.last = last_[index(id)];
    return value;
  }

  bool lies_in_input(const Node& node, ValueId output) const {
    if (replaced_[index(output)] != no_value) return true;
    return std::ranges::any_of(node.inputs, [&](ValueId id) {
      return id != no_value && buffer_of(id) == buffer_of(output);
    });
  }

  void add_node(std::size_t position) {
    const PlannedNode& planned = plan_->nodes[position];
    PlannedOperator one;
    one.op = planned.node->op->name;
    one.name = planned.node->name;
    if (!planned.dynamic) {
      const Implementation& implementation = plan_->kernels[planned.kernel].implementation;
      one.implementation = implementation.name;
      one.isa = implementation.isa;
    }
    one.commit = position >= plan_->commit_begin;
    if (planned.workspace != no_buffer) {
      one.workspace_bytes = plan_->buffers[planned.workspace].bytes;
    }
    report_.workspace_bytes = std::max(report_.workspace_bytes, one.workspace_bytes);
    for (const ValueId id : planned.node->outputs) {
      if (id == no_value) continue;
      one.outputs.push_back(describe_value(id));
      one.outputs.back().in_place = lies_in_input(*planned.node, id);
    }
    report_.nodes.push_back(std::move(one));
  }

  bool in_use(const Buffer& buffer, std::size_t position) const {
    const auto at = static_cast<std::int32_t>(position);
    return buffer.kind == BufferKind::arena && buffer.bytes > 0 && buffer.first <= at &&
           at <= buffer.last;
  }

  void add_peak() {
    for (std::size_t i = 0; i < plan_->nodes.size(); ++i) {
      std::uint64_t bytes = 0;
      for (const Buffer& buffer : plan_->buffers) {
        if (in_use(buffer, i)) bytes += buffer.bytes;
      }
      if (bytes <= report_.peak_bytes) continue;
      report_.peak_bytes = bytes;
      report_.peak_node = i;
    }
    for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
      if (in_use(plan_->buffers[i], report_.peak_node)) {
        report_.peak_values.push_back(value_at_peak(i));
      }
    }
    std::ranges::stable_sort(report_.peak_values, std::ranges::greater(), &PlannedValue::bytes);
  }

  // Content of the buffer when the node of the peak runs: the newest value in it, or its workspace.
  PlannedValue value_at_peak(std::size_t buffer) const {
    const PlannedNode& peak = plan_->nodes[report_.peak_node];
    ValueId newest = no_value;
    for (std::size_t i = 0; i < plan_->graph.values.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (plan_->buffer_of[i] != buffer || first_[i] > report_.peak_node) continue;
      if (newest == no_value || first_[i] >= first_[index(newest)]) newest = id;
    }
    if (newest != no_value) return describe_value(newest);
    PlannedValue workspace;
    workspace.name = cat("workspace of ", peak.node->op->name);
    workspace.offset = plan_->buffers[buffer].offset;
    workspace.bytes = plan_->buffers[buffer].bytes;
    workspace.first = workspace.last = report_.peak_node;
    return workspace;
  }

  const Plan* plan_;
  std::vector<std::size_t> first_;  // by value: the node that computes it
  std::vector<std::size_t> last_;   // by value: the last node that reads it or a view of it
  std::vector<ValueId> replaced_;   // by value: the input whose memory it takes
  std::vector<Storage> given_;      // by buffer: where inputs come from
  PlanReport report_;
};

}  // namespace

PlanReport report_plan(const Plan& plan, std::span<const Storage> inputs,
                       std::span<const InPlace> in_place) {
  return Reporter(plan, inputs, in_place).run();
}

}  // namespace ondine::trainer
