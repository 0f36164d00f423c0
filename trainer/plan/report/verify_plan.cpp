#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>

#include "core/message.h"
#include "graph/contract/aliasing.h"
#include "graph/contract/op_def.h"
#include "graph/passes/rewrite.h"
#include "trainer/plan/plan.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// Replays the plan: which buffers are intact, and whether what lies in one is still the value that
// a node reads.
class Replay {
 public:
  Replay(const Plan& plan, std::span<const InPlace> in_place)
      : plan_(&plan),
        intact_(plan.buffers.size(), false),
        content_(plan.buffers.size(), 0),
        content_of_(plan.graph.values.size(), 0),
        replaced_(plan.graph.values.size(), no_value) {
    for (std::size_t i = 0; i < in_place.size() && i < plan.in_place.size(); ++i) {
      if (plan.in_place[i]) replaced_[index(in_place[i].value)] = in_place[i].input;
    }
  }

  void run() {
    for (std::size_t i = 0; i < intact_.size(); ++i) intact_[i] = is_given(plan_->buffers[i]);
    for (const PlannedNode& planned : plan_->nodes) run(planned);
    for (const ValueId id : plan_->graph.outputs) require(id, "is wanted");
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  static bool is_given(const Buffer& b) {
    return b.kind == BufferKind::external || b.kind == BufferKind::constant;
  }

  template <class... Parts>
  [[noreturn]] void refuse(ValueId id, const Parts&... parts) const {
    fail(ErrorCode::internal, "plan: value ", quoted(plan_->graph[id].name), " ", parts...);
  }

  std::size_t buffer_of(ValueId id) const {
    const std::size_t buffer = plan_->buffer_of[index(id)];
    if (buffer == no_buffer) refuse(id, "has no buffer");
    return buffer;
  }

  void require(ValueId id, std::string_view what) const {
    const std::size_t buffer = buffer_of(id);
    if (!intact_[buffer])
      refuse(id, what, " after its memory was given away, or before it is written");
    if (content_of_[index(id)] != content_[buffer]) refuse(id, what, " after it was overwritten");
  }

  void run(const PlannedNode& planned) {
    const Node& node = *planned.node;
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value) require(id, "is read");
    }
    std::vector<std::size_t> used;
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value) used.push_back(buffer_of(id));
    }
    if (planned.workspace != no_buffer) take(planned.workspace, used);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] != no_value) write(planned, k, used);
    }
    for (const std::size_t buffer : used) {
      if (!intact_[buffer]) {
        fail(ErrorCode::internal, "plan: node ", quoted(node.name), " (", node.op->name,
             ") uses one piece of memory for two things");
      }
    }
    if (planned.workspace != no_buffer) intact_[planned.workspace] = false;
    for (const ValueId id : node.outputs) {
      if (id == no_value || replaced_[index(id)] == no_value) continue;
      const std::size_t buffer = buffer_of(replaced_[index(id)]);
      if (readers(node, buffer) != 1) refuse(id, "takes memory that its node reads twice or not");
      ++content_[buffer];  // it now holds the output
    }
  }

  void write(const PlannedNode& planned, std::size_t k, std::vector<std::size_t>& used) {
    const Node& node = *planned.node;
    const ValueId id = node.outputs[k];
    const std::size_t buffer = buffer_of(id);
    if (std::find(used.begin(), used.end(), buffer) == used.end()) {
      if (is_given(plan_->buffers[buffer])) refuse(id, "is written where a value was given");
      take(buffer, used);
      ++content_[buffer];
    } else if (!is_view(node, k, buffer)) {
      if (!may_overwrite(planned, k, buffer)) refuse(id, "lies where its node still reads");
      ++content_[buffer];
    }
    content_of_[index(id)] = content_[buffer];
  }

  bool is_view(const Node& node, std::size_t k, std::size_t buffer) const {
    const ValueId viewed = viewed_input(node, k);
    return viewed != no_value && buffer_of(viewed) == buffer;
  }

  std::ptrdiff_t readers(const Node& node, std::size_t buffer) const {
    return std::ranges::count_if(
        node.inputs, [&](ValueId id) { return id != no_value && buffer_of(id) == buffer; });
  }

  bool may_overwrite(const PlannedNode& planned, std::size_t k, std::size_t buffer) const {
    const Node& node = *planned.node;
    bool allowed = false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == no_value || buffer_of(node.inputs[i]) != buffer) continue;
      allowed = may_alias(node, i, k);
    }
    return readers(node, buffer) == 1 && allowed && !planned.dynamic &&
           plan_->buffers[buffer].kind == BufferKind::arena;
  }

  // Everything that overlaps what is written now is lost.
  void take(std::size_t buffer, std::vector<std::size_t>& used) {
    const Buffer& b = plan_->buffers[buffer];
    if (b.kind == BufferKind::arena) {
      if (b.offset + b.bytes > plan_->arena_bytes)
        fail(ErrorCode::internal, "plan: arena too small");
      if (b.bytes > 0) occupy(buffer, b.offset, b.offset + b.bytes);
    }
    intact_[buffer] = true;
    used.push_back(buffer);
  }

  void occupy(std::size_t buffer, std::size_t begin, std::size_t end) {
    auto at = occupied_.lower_bound(begin);
    if (at != occupied_.begin()) {
      const Buffer& previous = plan_->buffers[std::prev(at)->second];
      if (previous.offset + previous.bytes > begin) --at;
    }
    while (at != occupied_.end() && at->first < end) {
      intact_[at->second] = false;
      at = occupied_.erase(at);
    }
    occupied_.emplace(begin, buffer);
  }

  const Plan* plan_;
  std::map<std::size_t, std::size_t> occupied_;  // arena: buffers by offset, none over another
  std::vector<bool> intact_;
  std::vector<std::uint32_t> content_;     // of each buffer: how often it was written
  std::vector<std::uint32_t> content_of_;  // of each value: which of those it is
  std::vector<ValueId> replaced_;          // of each value: the input whose memory it gets
};

// Checks the nodes of the commit section, which run after everything that can fail and after
// results were given to the caller: they cannot fail, and they write targets or values that stay in
// the arena.
void check_commit(const Plan& plan) {
  const std::vector<bool> is_output = output_flags(plan.graph);
  const auto fits = [&](ValueId id) {
    if (id == no_value) return true;
    const std::size_t buffer = plan.buffer_of[static_cast<std::size_t>(id)];
    if (buffer == no_buffer || plan.buffers[buffer].kind == BufferKind::target) return true;
    return plan.buffers[buffer].kind != BufferKind::dynamic &&
           !is_output[static_cast<std::size_t>(id)];
  };
  for (std::size_t i = plan.commit_begin; i < plan.nodes.size(); ++i) {
    const PlannedNode& planned = plan.nodes[i];
    const Node& node = *planned.node;
    const OpTraits& traits = node.op->traits;
    const bool is_sure = traits.cannot_fail || traits.view;
    if (!planned.dynamic && is_sure && all_outputs(node, fits)) continue;
    fail(ErrorCode::internal, "plan: ", describe(node, plan.graph),
         " does not belong into the commit section");
  }
}

}  // namespace

void verify_plan(const Plan& plan, std::span<const InPlace> in_place) {
  Replay(plan, in_place).run();
  check_commit(plan);
}

bool verifies_plans() noexcept {
#ifndef NDEBUG
  return true;
#else
  static const bool wanted = std::getenv("ONDINE_VERIFY_PLANS") != nullptr;
  return wanted;
#endif
}

}  // namespace ondine::trainer
