#include "trainer/exec/executor.h"

#include <chrono>
#include <cstring>
#include <numeric>
#include <unordered_set>

#include "core/message.h"
#include "graph/contract/op_def.h"
#include "trainer/plan/place/static_bind.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

// Estimated: a bound kernel with its shapes and tables.
constexpr std::size_t kernel_bytes = 640;

// Asks the caches for what a static node that runs soon reads first: a graph of many small nodes
// takes little more time than its memory takes to arrive.
class Ahead {
 public:
  Ahead(const Plan& plan, std::span<const std::uint32_t> first_slot,
        std::span<const KernelContext::Slot> slots) noexcept
      : nodes_(plan.nodes), first_slot_(first_slot), slots_(slots) {}

  void fetch_after(std::size_t position) const noexcept {
    const std::size_t far = position + 2 * distance;
    if (far < nodes_.size()) {
      const auto* node = reinterpret_cast<const std::byte*>(nodes_[far].node.get());
      for (std::size_t at = 0; at < sizeof(Node); at += line) __builtin_prefetch(node + at);
    }
    const std::size_t near = position + distance;
    if (near + 1 >= nodes_.size()) return;
    for (std::size_t slot = first_slot_[near]; slot < first_slot_[near + 1]; ++slot) {
      __builtin_prefetch(slots_[slot].data);
    }
  }

 private:
  static constexpr std::size_t distance = 4;  // in nodes
  static constexpr std::size_t line = 64;

  std::span<const PlannedNode> nodes_;
  std::span<const std::uint32_t> first_slot_;
  std::span<const KernelContext::Slot> slots_;
};

// Whether nodes before the commit section write over variables. Such a step is not undone, so
// nothing stops it once they have run.
bool updates_early(const Plan& plan) noexcept {
  for (std::size_t i = 0; i < plan.in_place.size(); ++i) {
    if (plan.in_place[i] && !plan.committed[i]) return true;
  }
  return false;
}

// The context of the static node that runs.
class Executor::StaticContext final : public KernelContext {
 public:
  explicit StaticContext(const Graph& graph) : graph_(&graph) {}

  // `slots` begin with those of the node.
  void enter(const Node& node, std::span<const Slot> slots, void* workspace,
             CallState& call) noexcept {
    node_ = &node;
    inputs_ = slots.first(node.inputs.size());
    outputs_ = slots.subspan(node.inputs.size(), node.outputs.size());
    workspace_ = workspace;
    call_ = &call;
    pool_ = call.pool;
    random_ = {call.seed, call.step, node.stream};
  }

  Value value(std::size_t i) const override {
    if (node_->inputs[i] == no_value) return {};
    const Type& type = (*graph_)[node_->inputs[i]].type;
    return Tensor::wrap(type.dtype, *type.shape(), inputs_[i].data);
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
  const Graph* graph_;
  const Node* node_ = nullptr;
  CallState* call_ = nullptr;
};

Executor::Executor(std::shared_ptr<const Plan> plan, const Limits& limits, int threads)
    : plan_(std::move(plan)),
      updates_early_(updates_early(*plan_)),
      memory_(plan_->buffers.size(), nullptr),
      context_(std::make_unique<StaticContext>(plan_->graph)) {
  hold_values();
  bind_nodes(limits, threads);
  place_slots();
  connect_slots();
  if (plan_->streaming) streamer_.emplace(*plan_->streaming);
}

Executor::~Executor() = default;

void Executor::hold_values() {
  const Graph& graph = plan_->graph;
  std::unordered_set<const DeferredElements*> streamed;
  if (plan_->streaming) {
    for (const StreamedConstant& constant : plan_->streaming->constants) {
      streamed.insert(constant.copy);
    }
  }
  const auto memory_of = [&](const Tensor& constant) {
    const DeferredElements* const elements = deferred_elements(constant);
    const bool waits = elements != nullptr && streamed.contains(elements);
    return waits ? elements->memory() : const_cast<void*>(constant.data());
  };
  place_of_.assign(graph.values.size(), 0);
  held_.reserve(1 + graph.inputs.size());
  held_.emplace_back();
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const std::size_t buffer = plan_->buffer_of[i];
    if (buffer == no_buffer) continue;
    const BufferKind kind = plan_->buffers[buffer].kind;
    const Tensor& constant = graph.values[i].constant;
    const bool is_constant = kind == BufferKind::constant && constant.defined();
    if (is_constant) memory_[buffer] = memory_of(constant);
    if (!is_constant && kind != BufferKind::dynamic) continue;
    place_of_[i] = static_cast<std::uint32_t>(held_.size());
    held_.push_back(is_constant ? Value(constant) : Value());
  }
  for (const ValueId id : graph.inputs) {
    std::uint32_t& place = place_of_[static_cast<std::size_t>(id)];
    if (place != 0) continue;
    place = static_cast<std::uint32_t>(held_.size());
    held_.emplace_back();
  }
}

void Executor::bind_nodes(const Limits& limits, int threads) {
  kernels_.resize(plan_->kernels.size());
  for (std::size_t i = 0; i < plan_->nodes.size(); ++i) {
    const PlannedNode& planned = plan_->nodes[i];
    if (planned.dynamic) {
      dynamic_.resize(i + 1);
      dynamic_[i] = std::make_unique<NodeRunner>(*planned.node, plan_->graph);
      continue;
    }
    Kernel& kernel = kernels_[planned.kernel];
    if (kernel) continue;
    const Node& node = *plan_->kernels[planned.kernel].node;
    kernel = bind_static(node, plan_->graph, {limits, threads, plan_->precision})->kernel;
  }
}

void Executor::place_slots() {
  std::uint32_t count = 0;
  first_slot_.reserve(plan_->nodes.size());
  for (const PlannedNode& planned : plan_->nodes) {
    const Node& node = *planned.node;
    first_slot_.push_back(count);
    if (!planned.dynamic) {
      count += static_cast<std::uint32_t>(node.inputs.size() + node.outputs.size());
    }
  }
  slots_.resize(count);
}

// Counts the slots of each buffer, then puts each at the next place of its buffer.
void Executor::connect_slots() {
  const auto for_each_slot = [&](const auto& visit) {
    for (std::size_t i = 0; i < plan_->nodes.size(); ++i) {
      if (plan_->nodes[i].dynamic) continue;
      std::size_t slot = first_slot_[i];
      const Node& node = *plan_->nodes[i].node;
      for (const auto* ids : {&node.inputs, &node.outputs}) {
        for (const ValueId id : *ids) {
          if (id != no_value) visit(slot, plan_->buffer_of[static_cast<std::size_t>(id)]);
          ++slot;
        }
      }
    }
  };
  const auto is_constant = [&](std::size_t buffer) {
    return plan_->buffers[buffer].kind == BufferKind::constant;
  };
  first_slot_of_.assign(plan_->buffers.size() + 1, 0);
  for_each_slot([&](std::size_t slot, std::size_t buffer) {
    slots_[slot].data = memory_[buffer];
    if (!is_constant(buffer)) ++first_slot_of_[buffer + 1];
  });
  std::partial_sum(first_slot_of_.begin(), first_slot_of_.end(), first_slot_of_.begin());
  slot_order_.resize(first_slot_of_.back());
  std::vector<std::uint32_t> next = first_slot_of_;
  for_each_slot([&](std::size_t slot, std::size_t buffer) {
    if (!is_constant(buffer)) slot_order_[next[buffer]++] = static_cast<std::uint32_t>(slot);
  });
}

std::size_t Executor::bytes() const noexcept {
  std::size_t bytes = sizeof(Executor) + memory_.capacity() * sizeof(void*) +
                      slots_.capacity() * sizeof(KernelContext::Slot) +
                      held_.capacity() * sizeof(Value) + dynamic_.capacity() * sizeof(void*) +
                      kernels_.size() * (sizeof(Kernel) + kernel_bytes);
  for (const auto* table : {&first_slot_, &slot_order_, &first_slot_of_, &place_of_}) {
    bytes += table->capacity() * sizeof(std::uint32_t);
  }
  return bytes;
}

void Executor::set_arena(std::byte* memory) noexcept {
  if (arena_ == memory) return;
  arena_ = memory;
  for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
    const Buffer& buffer = plan_->buffers[i];
    if (buffer.kind == BufferKind::arena) patch(i, memory + buffer.offset);
  }
}

void Executor::clear() noexcept {
  if (streamer_) streamer_->drop_all();
  for (std::size_t i = 0; i < place_of_.size(); ++i) {
    if (place_of_[i] == 0) continue;
    const std::size_t buffer = plan_->buffer_of[i];
    const bool constant =
        buffer != no_buffer && plan_->buffers[buffer].kind == BufferKind::constant;
    if (!constant) held(i) = Value();
  }
}

void Executor::patch(std::size_t buffer, void* data) noexcept {
  if (memory_[buffer] == data) return;
  memory_[buffer] = data;
  for (std::uint32_t i = first_slot_of_[buffer]; i < first_slot_of_[buffer + 1]; ++i) {
    slots_[slot_order_[i]].data = data;
  }
}

void Executor::set_input(std::size_t i, const Value& value) {
  const auto id = static_cast<std::size_t>(plan_->graph.inputs[i]);
  held(id) = value;
  if (value.is_tensor()) {
    patch(plan_->buffer_of[id], const_cast<void*>(value.tensor().data()));
  }
}

void Executor::set_target(ValueId id, void* data) {
  const std::size_t buffer = plan_->buffer_of[static_cast<std::size_t>(id)];
  if (buffer != no_buffer && plan_->buffers[buffer].kind == BufferKind::target) patch(buffer, data);
}

void Executor::run(CallState& call, Profile* profile, const Watch* watch) {
  const Ahead ahead(*plan_, first_slot_, slots_);
  for (std::size_t i = 0; i < plan_->commit_begin; ++i) {
    call.check(i, plan_->nodes.size());
    ahead.fetch_after(i);
    run_timed(call, i, profile);
    if (watch != nullptr) (*watch)(i);
  }
  if (!updates_early_) call.check(plan_->commit_begin, plan_->nodes.size());
  for (std::size_t i = plan_->commit_begin; i < plan_->nodes.size() && profile != nullptr; ++i) {
    const std::string_view op = plan_->nodes[i].node->op->name;
    (*profile)[op].op = op;
  }
}

void Executor::commit(CallState& call, Profile* profile) noexcept {
  const Ahead ahead(*plan_, first_slot_, slots_);
  for (std::size_t i = plan_->commit_begin; i < plan_->nodes.size(); ++i) {
    ahead.fetch_after(i);
    run_timed(call, i, profile);
  }
  if (streamer_) streamer_->enter(plan_->nodes.size());
}

void Executor::run_timed(CallState& call, std::size_t position, Profile* profile) {
  using Clock = std::chrono::steady_clock;
  if (profile == nullptr) return run_node(call, position);
  const auto start = Clock::now();
  run_node(call, position);
  const std::string_view op = plan_->nodes[position].node->op->name;
  ProfileEntry& entry = (*profile)[op];
  entry.op = op;
  ++entry.calls;
  entry.seconds += std::chrono::duration<double>(Clock::now() - start).count();
}

void Executor::run_node(CallState& call, std::size_t position) {
  const PlannedNode& planned = plan_->nodes[position];
  if (streamer_) streamer_->enter(position);
  if (planned.dynamic) return run_dynamic(call, position);
  void* const workspace = planned.workspace == no_buffer ? nullptr : memory_[planned.workspace];
  try {
    context_->enter(*planned.node, std::span(slots_).subspan(first_slot_[position]), workspace,
                    call);
    kernels_[planned.kernel](*context_);
  } catch (Error& error) {
    error.add_context(describe(*planned.node, plan_->graph));
    throw;
  }
}

void Executor::run_dynamic(CallState& call, std::size_t position) {
  const Node& node = *plan_->nodes[position].node;
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
      held(static_cast<std::size_t>(id)) = std::move(results[k]);
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
  if (kind == BufferKind::dynamic) return held(index);
  const bool is_set = held(index).kind() != Value::Kind::none;
  if (is_set && (kind == BufferKind::external || kind == BufferKind::constant)) return held(index);
  const Type& type = plan_->graph[id].type;
  return Tensor::wrap(type.dtype, *type.shape(), memory_[buffer]);
}

Value Executor::output(std::size_t i) const { return value(plan_->graph.outputs[i]); }

}  // namespace ondine::trainer
