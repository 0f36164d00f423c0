#include <algorithm>

#include "core/message.h"
#include "trainer/plan/plan.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// Replays the plan on tags: each arena byte range remembers which buffer wrote it last.
class Replay {
 public:
  Replay(const Plan& plan, std::span<const InPlace> in_place)
      : plan_(&plan), in_place_(in_place), live_(plan.buffers.size(), false) {}

  void run() {
    for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
      live_[i] =
          plan_->buffers[i].place == Place::external || plan_->buffers[i].place == Place::constant;
    }
    for (const PlannedNode& planned : plan_->nodes) {
      for (const ValueId id : planned.node.all_inputs()) {
        if (id != no_value) require_live(id);
      }
      if (planned.workspace != no_buffer) write(planned.workspace);
      for (const ValueId id : planned.node.outputs) {
        if (id == no_value) continue;
        write(buffer_of(id));
        overwrite_input(id);
      }
      if (planned.workspace != no_buffer) live_[planned.workspace] = false;
    }
    for (const ValueId id : plan_->graph.outputs) require_live(id);
  }

 private:
  std::size_t buffer_of(ValueId id) const {
    const std::size_t buffer = plan_->buffer_of[static_cast<std::size_t>(id)];
    if (buffer == no_buffer) fail(ErrorCode::internal, "plan: a value has no buffer");
    return buffer;
  }

  void require_live(ValueId id) {
    if (!live_[buffer_of(id)]) {
      fail(ErrorCode::internal, "plan: value ", quoted(plan_->graph[id].name),
           " is read after its memory was given away");
    }
  }

  // The old value of a variable whose new one is written in its place.
  void overwrite_input(ValueId id) {
    for (std::size_t i = 0; i < in_place_.size() && i < plan_->in_place.size(); ++i) {
      if (plan_->in_place[i] && in_place_[i].value == id)
        live_[buffer_of(in_place_[i].input)] = false;
    }
  }

  // Everything that overlaps what is written now is lost.
  void write(std::size_t buffer) {
    const Buffer& b = plan_->buffers[buffer];
    if (b.place == Place::arena) {
      if (b.offset + b.bytes > plan_->arena_bytes)
        fail(ErrorCode::internal, "plan: arena too small");
      for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
        const Buffer& o = plan_->buffers[i];
        const bool overlap = i != buffer && o.place == Place::arena &&
                             b.offset < o.offset + o.bytes && o.offset < b.offset + b.bytes;
        if (overlap) live_[i] = false;
      }
    }
    live_[buffer] = true;
  }

  const Plan* plan_;
  std::span<const InPlace> in_place_;
  std::vector<bool> live_;
};

}  // namespace

void verify_plan(const Plan& plan, std::span<const InPlace> in_place) {
  Replay(plan, in_place).run();
  for (std::size_t i = plan.commit_begin; i < plan.nodes.size(); ++i) {
    const PlannedNode& planned = plan.nodes[i];
    for (const ValueId id : planned.node.outputs) {
      const std::size_t buffer =
          id == no_value ? no_buffer : plan.buffer_of[static_cast<std::size_t>(id)];
      const bool fits = buffer == no_buffer || plan.buffers[buffer].place == Place::target;
      if (planned.dynamic || !fits) {
        fail(ErrorCode::internal, "plan: ", describe(planned.node, plan.graph),
             " does not belong into the commit section");
      }
    }
  }
}

}  // namespace ondine::trainer
