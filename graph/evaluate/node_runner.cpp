#include "graph/evaluate/node_runner.h"

#include <algorithm>

#include "graph/contract/op_def.h"
#include "graph/evaluate/subgraph_call.h"
#include "graph/evaluate/tensor_bytes.h"
#include "graph/evaluate/text_bytes.h"

namespace ondine::graph {
namespace {

class RunnerContext final : public KernelContext {
 public:
  RunnerContext(CallState& call, std::span<const Value> inputs, std::span<Value> outputs,
                std::span<const Type> output_types, const Node& node,
                std::span<std::byte> workspace, std::uint32_t salt)
      : call_(&call), arguments_(inputs), results_(outputs), types_(output_types) {
    for (const Value& input : inputs) {
      Slot slot;
      if (input.is_tensor()) slot.data = const_cast<void*>(input.tensor().data());
      slots_.push_back(slot);
    }
    for (const Value& output : outputs) {
      Slot slot;
      if (output.is_tensor()) slot.data = const_cast<void*>(output.tensor().data());
      slots_.push_back(slot);
    }
    inputs_ = std::span<const Slot>(slots_).first(inputs.size());
    outputs_ = std::span<const Slot>(slots_).subspan(inputs.size());
    workspace_ = workspace.data();
    pool_ = call.pool;
    random_ = {call.seed, call.step, salt == 0 ? node.stream : mix_stream(salt, node.stream)};
  }

  Value value(std::size_t i) const override { return arguments_[i]; }
  Value owned_value(std::size_t i) const override {
    const Value& argument = arguments_[i];
    if (!argument.is_tensor() || argument.tensor().owns_memory()) return argument;
    return argument.tensor().clone(call_->budget);
  }
  void* allocate(std::size_t i, const Shape& shape) override {
    require_tensor_fits(Type::tensor(types_[i].dtype, shape), call_->limits);
    if (types_[i].dtype == DType::string) {
      require_text_fits(shape.size(), arguments_, call_->limits);
    }
    results_[i] = Tensor(types_[i].dtype, shape, call_->budget);
    return results_[i].tensor().mutable_data();
  }
  void set_value(std::size_t i, Value value) override {
    value.charge_holders(call_->budget);
    results_[i] = std::move(value);
  }
  void check_cancelled() const override { call_->check(); }
  void count_iteration() override { call_->count_iteration(); }
  const std::shared_ptr<MemoryBudget>& budget() const override { return call_->budget; }
  CallState& call() noexcept { return *call_; }

 private:
  CallState* call_;
  std::span<const Value> arguments_;
  std::span<Value> results_;
  std::span<const Type> types_;
  std::vector<Slot> slots_;
};

}  // namespace

Type type_of(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::none:
      return {};
    case Value::Kind::tensor:
      return Type::tensor(value.tensor().dtype(), value.tensor().shape());
    case Value::Kind::sparse_tensor: {
      Type type = Type::tensor(value.tensor().dtype(), value.dense_shape());
      type.kind = TypeKind::sparse_tensor;
      return type;
    }
    case Value::Kind::sequence:
    case Value::Kind::optional: {
      Type element;
      for (const Value& v : value.elements()) {
        const Type next = type_of(v);
        element = element.kind == TypeKind::unknown ? next : join(element, next).value_or(element);
      }
      return value.kind() == Value::Kind::sequence ? Type::sequence(std::move(element))
                                                   : Type::optional(std::move(element));
    }
    case Value::Kind::map:
      return Type::map(value.keys().dtype(),
                       value.elements().empty() ? Type() : type_of(value.elements()[0]));
  }
  return {};
}

struct NodeRunner::Bound final : BindContext {
  Bound(const Node& node, const Limits& limits) : BindContext(node), limits_(&limits) {}

  const Type& input_type(std::size_t i) const override { return input_types[i]; }
  const Type& output_type(std::size_t i) const override { return output_types[i]; }
  const Tensor* constant(std::size_t i) const override {
    if (i >= input_values.size() || !input_values[i].is_tensor()) return nullptr;
    read[i] = 1;
    return &input_values[i].tensor();
  }
  void request_workspace(std::size_t bytes) override {
    workspace_bytes = std::max(workspace_bytes, bytes);
  }
  SubgraphRunner* subgraph(std::size_t index) override {
    std::size_t first = this->node().inputs.size();
    for (std::size_t i = 0; i < index; ++i) first += this->node().subgraphs[i].captures.size();
    subgraphs.push_back(std::make_unique<SubgraphCall>(this->node().subgraphs[index], first));
    return subgraphs.back().get();
  }
  const Limits& limits() const override { return *limits_; }

  std::vector<Type> input_types;
  std::vector<Value>
      input_values;                // during binding; afterwards only those whose elements were read
  mutable std::vector<char> read;  // inputs whose elements were read
  std::vector<Type> output_types;
  std::vector<std::unique_ptr<SubgraphCall>> subgraphs;
  std::size_t workspace_bytes = 0;
  Tensor workspace;
  Kernel kernel;

 private:
  const Limits* limits_;
};

NodeRunner::NodeRunner(const Node& node, const Graph& graph) : node_(&node), graph_(&graph) {}
NodeRunner::~NodeRunner() = default;
NodeRunner::NodeRunner(NodeRunner&&) noexcept = default;

bool NodeRunner::still_fits(std::span<const Value> inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!(type_of(inputs[i]) == bound_->input_types[i])) return false;
    const Value& used = bound_->input_values[i];
    if (used.is_tensor() && !used.tensor().identical(inputs[i].tensor())) return false;
  }
  return true;
}

void NodeRunner::bind(CallState& call, std::span<const Value> inputs) {
  auto bound = std::make_unique<Bound>(*node_, call.limits);
  std::vector<InferContext::Input> infer_inputs;
  bound->input_types.reserve(inputs.size());
  for (const Value& input : inputs) {
    bound->input_types.push_back(type_of(input));
    bound->input_values.push_back(input);
  }
  bound->read.assign(inputs.size(), 0);
  const std::unique_ptr<bool[]> inferred_from(new bool[inputs.size()]());
  for (std::size_t i = 0; i < node_->inputs.size(); ++i) {
    InferContext::Input input;
    if (inputs[i].kind() != Value::Kind::none) {
      input.type = &bound->input_types[i];
      input.constant = inputs[i].is_tensor() ? &bound->input_values[i].tensor() : nullptr;
      input.read = &inferred_from[i];
    }
    infer_inputs.push_back(input);
  }
  if (node_->subgraphs.empty()) {
    InferContext context(*node_, infer_inputs);
    node_->op->infer(context);
    for (const auto& output : context.outputs()) bound->output_types.push_back(output.type);
    for (std::size_t i = 0; i < inputs.size(); ++i) bound->read[i] = inferred_from[i] ? 1 : 0;
  } else {
    // Subgraphs may return any shape; only the rest of the inferred type holds for every run.
    for (const ValueId id : node_->outputs) {
      bound->output_types.push_back(id == no_value ? Type() : (*graph_)[id].type);
      bound->output_types.back().dims.reset();
    }
  }
  if (node_->op->bind == nullptr) {
    fail(ErrorCode::unsupported, "operator ", node_->op->name, " has no kernel");
  }
  for (const Type& type : bound->output_types) require_tensor_fits(type, call.limits);
  bound->kernel = node_->op->bind(*bound);
  if (bound->workspace_bytes > 0) {
    bound->workspace =
        Tensor(DType::uint8, {static_cast<std::int64_t>(bound->workspace_bytes)}, call.budget);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Value& value = bound->input_values[i];
    value = bound->read[i] != 0 && value.is_tensor() ? Value(value.tensor().clone(call.budget))
                                                     : Value();
  }
  bound_ = std::move(bound);
}

void NodeRunner::run(CallState& call, std::span<const Value> inputs, std::span<Value> outputs,
                     std::uint32_t salt) {
  with_context(
      [&] {
        if (!bound_ || !still_fits(inputs)) bind(call, inputs);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          const Type& type = bound_->output_types[i];
          const auto shape = type.shape();
          if (node_->outputs[i] != no_value && shape) {
            if (type.dtype == DType::string) require_text_fits(shape->size(), inputs, call.limits);
            outputs[i] = Tensor(type.dtype, *shape, call.budget);
          }
        }
        const std::span<std::byte> workspace(
            static_cast<std::byte*>(bound_->workspace.mutable_data()), bound_->workspace_bytes);
        RunnerContext context(call, inputs, outputs, bound_->output_types, *node_, workspace, salt);
        for (auto& subgraph : bound_->subgraphs)
          subgraph->set_call(call, mix_stream(salt, node_->stream));
        bound_->kernel(context);
        if (node_->subgraphs.empty()) charge_new_text(inputs, outputs, call.budget);
      },
      [&] { return describe(*node_, *graph_); });
}

}  // namespace ondine::graph
