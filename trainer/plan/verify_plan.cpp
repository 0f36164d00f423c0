#include <algorithm>

#include "core/message.h"
#include "trainer/plan/plan.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// Replays the plan on tags: each arena byte range remembers which buffer wrote it last.
class Replay {
 public:
  explicit Replay(const Plan& plan) : plan_(&plan), live_(plan.buffers.size(), false) {}

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
        if (id != no_value) write(buffer_of(id));
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
  std::vector<bool> live_;
};

}  // namespace

void verify_plan(const Plan& plan) { Replay(plan).run(); }

}  // namespace ondine::trainer
