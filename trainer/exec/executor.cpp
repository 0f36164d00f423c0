#include "trainer/exec/executor.h"

#include <chrono>
#include <cstring>

#include "core/message.h"
#include "graph/contract/op_def.h"
#include "trainer/plan/static_bind.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

// The context of a node whose pointers are set before the run.
class Executor::StaticContext final : public KernelContext {
 public:
  StaticContext(const Node& node, const Graph& graph)
      : node_(&node), graph_(&graph), slots_(node.inputs.size() + node.outputs.size()) {
    inputs_ = std::span<const Slot>(slots_).first(node.inputs.size());
    outputs_ = std::span<const Slot>(slots_).subspan(node.inputs.size());
  }

  Slot& slot(std::size_t i) noexcept { return slots_[i]; }
  void set_workspace(void* memory) noexcept { workspace_ = memory; }
  void start(CallState& call) noexcept {
    call_ = &call;
    pool_ = call.pool;
    random_ = {call.seed, call.step, node_->stream};
  }

  Value value(std::size_t i) const override {
    if (node_->inputs[i] == no_value) return {};
    const Type& type = (*graph_)[node_->inputs[i]].type;
    return Tensor::wrap(type.dtype, *type.shape(), slots_[i].data);
  }
  Value owned_value(std::size_t i) const override { return value(i).tensor().clone(budget()); }
  void* allocate(std::size_t, const Shape&) override {
    fail(ErrorCode::internal, "operator ", node_->op->name, " allocates an output of known shape");
  }
  void set_value(std::size_t, Value) override {
    fail(ErrorCode::internal, "operator ", node_->op->name, " sets an output of known shape");
  }
  void check_cancelled() const override { call_->check(); }
  void count_iteration() override { call_->count_iteration(); }
  const std::shared_ptr<MemoryBudget>& budget() const override { return call_->budget; }

 private:
  const Node* node_;
  const Graph* graph_;
  std::vector<Slot> slots_;
  CallState* call_ = nullptr;
};

struct Executor::StaticNode {
  StaticNode(const Node& node, const Graph& graph) : context(node, graph) {}
  StaticContext context;
  Kernel kernel;
};

Executor::Executor(std::shared_ptr<const Plan> plan, const Limits& limits, int threads)
    : plan_(std::move(plan)),
      memory_(plan_->buffers.size(), nullptr),
      values_(plan_->graph.values.size()),
      slots_of_(plan_->buffers.size()) {
  for (std::size_t i = 0; i < plan_->graph.values.size(); ++i) {
    const Tensor& constant = plan_->graph.values[i].constant;
    const std::size_t buffer = plan_->buffer_of[i];
    if (constant.defined() && plan_->buffers[buffer].kind == BufferKind::constant) {
      memory_[buffer] = const_cast<void*>(constant.data());
      values_[i] = constant;
    }
  }
  bind_nodes(limits, threads);
}

Executor::~Executor() = default;

void Executor::bind_nodes(const Limits& limits, int threads) {
  static_.resize(plan_->nodes.size());
  dynamic_.resize(plan_->nodes.size());
  for (std::size_t i = 0; i < plan_->nodes.size(); ++i) {
    const PlannedNode& planned = plan_->nodes[i];
    const Node& node = planned.node;
    if (planned.dynamic) {
      dynamic_[i] = std::make_unique<NodeRunner>(node, plan_->graph);
      continue;
    }
    auto bound = bind_static(node, plan_->graph, {limits, threads, plan_->precision});
    static_[i] = std::make_unique<StaticNode>(node, plan_->graph);
    StaticNode& run = *static_[i];
    run.kernel = std::move(bound->kernel);
    std::size_t slot = 0;
    for (const auto* ids : {&node.inputs, &node.outputs}) {
      for (const ValueId id : *ids) {
        KernelContext::Slot& target = run.context.slot(slot++);
        if (id == no_value) continue;
        const std::size_t buffer = plan_->buffer_of[static_cast<std::size_t>(id)];
        target.data = memory_[buffer];
        if (plan_->buffers[buffer].kind != BufferKind::constant) {
          slots_of_[buffer].push_back(&target);
        }
      }
    }
  }
}

void Executor::set_arena(std::byte* memory) noexcept {
  if (arena_ == memory) return;
  arena_ = memory;
  for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
    const Buffer& buffer = plan_->buffers[i];
    if (buffer.kind == BufferKind::arena) patch(i, memory + buffer.offset);
  }
  for (std::size_t i = 0; i < plan_->nodes.size(); ++i) {
    const std::size_t workspace = plan_->nodes[i].workspace;
    if (static_[i] && workspace != no_buffer) {
      static_[i]->context.set_workspace(memory_[workspace]);
    }
  }
}

void Executor::clear() noexcept {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::size_t buffer = plan_->buffer_of[i];
    const bool constant =
        buffer != no_buffer && plan_->buffers[buffer].kind == BufferKind::constant;
    if (!constant) values_[i] = Value();
  }
}

void Executor::patch(std::size_t buffer, void* data) noexcept {
  if (memory_[buffer] == data) return;
  memory_[buffer] = data;
  for (KernelContext::Slot* slot : slots_of_[buffer]) slot->data = data;
}

void Executor::set_input(std::size_t i, const Value& value) {
  const auto id = static_cast<std::size_t>(plan_->graph.inputs[i]);
  values_[id] = value;
  if (value.is_tensor()) {
    patch(plan_->buffer_of[id], const_cast<void*>(value.tensor().data()));
  }
}

void Executor::set_target(ValueId id, void* data) {
  const std::size_t buffer = plan_->buffer_of[static_cast<std::size_t>(id)];
  if (buffer != no_buffer && plan_->buffers[buffer].kind == BufferKind::target) patch(buffer, data);
}

void Executor::run(CallState& call, Profile* profile) {
  for (std::size_t i = 0; i < plan_->commit_begin; ++i) {
    call.check(i, plan_->nodes.size());
    run_timed(call, i, profile);
  }
  for (std::size_t i = plan_->commit_begin; i < plan_->nodes.size() && profile != nullptr; ++i) {
    const std::string_view op = plan_->nodes[i].node.op->name;
    (*profile)[op].op = op;
  }
}

void Executor::commit(CallState& call, Profile* profile) noexcept {
  for (std::size_t i = plan_->commit_begin; i < plan_->nodes.size(); ++i) {
    run_timed(call, i, profile);
  }
}

void Executor::run_timed(CallState& call, std::size_t position, Profile* profile) {
  using Clock = std::chrono::steady_clock;
  if (profile == nullptr) return run_node(call, position);
  const auto start = Clock::now();
  run_node(call, position);
  const std::string_view op = plan_->nodes[position].node.op->name;
  ProfileEntry& entry = (*profile)[op];
  entry.op = op;
  ++entry.calls;
  entry.seconds += std::chrono::duration<double>(Clock::now() - start).count();
}

void Executor::run_node(CallState& call, std::size_t position) {
  if (!static_[position]) return run_dynamic(call, position);
  StaticNode& node = *static_[position];
  try {
    node.context.start(call);
    node.kernel(node.context);
  } catch (Error& error) {
    error.add_context(describe(plan_->nodes[position].node, plan_->graph));
    throw;
  }
}

void Executor::run_dynamic(CallState& call, std::size_t position) {
  const Node& node = plan_->nodes[position].node;
  std::vector<Value> arguments;
  for (const ValueId id : node.all_inputs()) {
    arguments.push_back(id == no_value ? Value() : value(id));
  }
  std::vector<Value> results(node.outputs.size());
  dynamic_[position]->run(call, arguments, results, 0);
  for (std::size_t k = 0; k < results.size(); ++k) {
    const ValueId id = node.outputs[k];
    if (id == no_value) continue;
    const std::size_t buffer = plan_->buffer_of[static_cast<std::size_t>(id)];
    if (plan_->buffers[buffer].kind == BufferKind::dynamic) {
      values_[static_cast<std::size_t>(id)] = std::move(results[k]);
      continue;
    }
    const Tensor& result = results[k].tensor();
    if (result.bytes() != plan_->buffers[buffer].bytes) {
      fail(ErrorCode::internal, describe(node, plan_->graph), " gave shape ", result.shape(),
           ", planned was ", graph::to_string(plan_->graph[id].type));
    }
    if (result.bytes() > 0) std::memcpy(memory_[buffer], result.data(), result.bytes());
  }
}

Value Executor::value(ValueId id) const {
  const auto index = static_cast<std::size_t>(id);
  const std::size_t buffer = plan_->buffer_of[index];
  const BufferKind kind = plan_->buffers[buffer].kind;
  if (kind == BufferKind::dynamic) return values_[index];
  const bool held = values_[index].kind() != Value::Kind::none;
  if (held && (kind == BufferKind::external || kind == BufferKind::constant)) return values_[index];
  const Type& type = plan_->graph[id].type;
  return Tensor::wrap(type.dtype, *type.shape(), memory_[buffer]);
}

Value Executor::output(std::size_t i) const { return value(plan_->graph.outputs[i]); }

}  // namespace ondine::trainer
