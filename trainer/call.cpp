#include "trainer/call.h"

#include <algorithm>
#include <exception>

#include "core/message.h"
#include "graph/evaluate/node_runner.h"
#include "trainer/dim_sizes.h"
#include "trainer/feeds.h"
#include "trainer/function.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

namespace {

constexpr std::size_t kept_plans = 16;

// Compares without constructing the value's type, so that a warm call does not allocate.
bool has_type(const Value& value, const Type& type) {
  if (!value.is_tensor() || !type.is_tensor()) return type_of(value) == type;
  const Tensor& tensor = value.tensor();
  if (tensor.dtype() != type.dtype || tensor.shape().rank() != type.dims->size()) return false;
  for (std::size_t axis = 0; axis < type.dims->size(); ++axis) {
    if ((*type.dims)[axis].size() != tensor.shape()[axis]) return false;
  }
  return true;
}

const NamedOutput& find_output(const Function& function, const std::string& name) {
  for (const NamedOutput& output : function.outputs) {
    if (output.name == name) return output;
  }
  std::string known;
  for (const NamedOutput& output : function.outputs) known += " " + quoted(output.name);
  fail(ErrorCode::mismatch, "there is no output ", quoted(name), "; outputs are", known);
}

// An update that only one variable takes is computed directly into that variable's memory.
std::vector<bool> direct_updates(const Function& function, const std::vector<ValueId>& fetched) {
  const Graph& graph = *function.graph;
  std::vector<int> claims(graph.values.size(), 0);
  for (const Update& update : function.updates) ++claims[static_cast<std::size_t>(update.value)];
  std::vector<bool> produced(graph.values.size());
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != no_value) produced[static_cast<std::size_t>(id)] = true;
    }
  }
  std::vector<bool> direct;
  for (const Update& update : function.updates) {
    const auto index = static_cast<std::size_t>(update.value);
    const bool fetched_too =
        std::find(fetched.begin(), fetched.end(), update.value) != fetched.end();
    const Type& type = graph[update.value].type;
    direct.push_back(claims[index] == 1 && produced[index] && !fetched_too && type.is_tensor() &&
                     type.dtype != DType::string);
  }
  return direct;
}

bool is_sized(const Type& type, const Type& declared) {
  if (declared.element) return type.element && is_sized(*type.element, *declared.element);
  if (!declared.dims) return true;
  if (!type.dims || type.dims->size() != declared.dims->size()) return false;
  for (std::size_t axis = 0; axis < declared.dims->size(); ++axis) {
    if ((*declared.dims)[axis].is_symbolic() && !(*type.dims)[axis].known()) return false;
  }
  return true;
}

void check_subgraphs(const Node& node, DimSizes& sizes);

void check_subgraph(const Graph& graph, DimSizes& sizes) {
  for (const GraphValue& value : graph.values) {
    sizes.check("value", value.name, value.type, value.declared);
  }
  for (const Node& inner : graph.nodes) check_subgraphs(inner, sizes);
}

// Branches count each for itself, as only one of them runs: an error is what holds in all of them.
void check_subgraphs(const Node& node, DimSizes& sizes) {
  std::exception_ptr first;
  std::size_t failed = 0;
  for (const Subgraph& subgraph : node.subgraphs) {
    if (subgraph.attribute != "then_branch" && subgraph.attribute != "else_branch") {
      check_subgraph(*subgraph.graph, sizes);
      continue;
    }
    try {
      DimSizes inside = sizes;
      check_subgraph(*subgraph.graph, inside);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::mismatch) throw;
      if (!first) first = std::current_exception();
      ++failed;
    }
  }
  if (first && failed == node.subgraphs.size()) std::rethrow_exception(first);
}

}  // namespace

struct Call::Variant {
  // A value of which only a run tells the sizes of its dimension variables.
  struct Unsized {
    ValueId value;
    std::string name;
    Type declared;
  };

  std::vector<Type> inputs;
  std::shared_ptr<const Plan> plan;
  std::optional<DimSizes> sizes;  // of the inputs and of all values of known shape
  std::vector<Unsized> unsized;
  std::vector<std::unique_ptr<Executor>> idle;  // has capacity for all `made`
  std::size_t made = 0;
};

Call::Call(const Function& function, std::span<const std::string> names, const Runtime& runtime)
    : runtime_(&runtime),
      names_(names.begin(), names.end()),
      dims_(function.dims),
      graph_(function.graph) {
  for (const std::string& name : names_) {
    const NamedOutput& output = find_output(function, name);
    outputs_.push_back(output.value);
    declared_.push_back(output.declared);
  }
  direct_ = direct_updates(function, outputs_);
  choose_targets(function);
  results_ = outputs_;
  for (const Update& update : function.updates) results_.push_back(update.value);
}

Call::~Call() = default;

void Call::choose_targets(const Function& function) {
  const std::unordered_map<std::size_t, ValueId> inputs = function.inputs_of_variables();
  for (std::size_t i = 0; i < function.updates.size(); ++i) {
    const Update& update = function.updates[i];
    if (direct_[i]) {
      targets_.push_back(update.value);
    } else {
      next_bytes_ += bytes_of((*function.graph)[update.value].type);
    }
    const auto input = direct_[i] ? inputs.find(update.variable) : inputs.end();
    in_place_.push_back({update.value, input == inputs.end() ? no_value : input->second});
  }
}

void Call::check_dims(Variant& variant) const {
  DimSizes& sizes = variant.sizes.emplace(*graph_->symbols, dims_);
  const Graph& typed = variant.plan->graph;
  for (std::size_t i = 0; i < graph_->inputs.size(); ++i) {
    const GraphValue& input = (*graph_)[graph_->inputs[i]];
    sizes.check("input", input.name, variant.inputs[i], input.declared);
  }
  const auto check = [&](ValueId id, const std::string& name, const Type& declared) {
    const Type& type = typed[id].type;
    sizes.check("value", name, type, declared);
    const std::size_t buffer = variant.plan->buffer_of[static_cast<std::size_t>(id)];
    const bool runs =
        buffer != no_buffer && variant.plan->buffers[buffer].kind == BufferKind::dynamic;
    if (runs && !is_sized(type, declared)) variant.unsized.push_back({id, name, declared});
  };
  for (std::size_t i = 0; i < graph_->values.size(); ++i) {
    const GraphValue& value = graph_->values[i];
    check(static_cast<ValueId>(i), value.name, value.declared);
  }
  if (runtime_->warnings != nullptr) {
    warn_of_outputs(variant);
  } else {
    for (std::size_t i = 0; i < names_.size(); ++i) check(outputs_[i], names_[i], declared_[i]);
  }
  for (const PlannedNode& planned : variant.plan->nodes) check_subgraphs(planned.node, sizes);
}

void Call::warn_of_outputs(const Variant& variant) const {
  DimSizes sizes = *variant.sizes;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const Type& type = variant.plan->graph[outputs_[i]].type;
    if (declared_[i].kind == TypeKind::unknown) continue;
    if (!compatible(type, declared_[i])) {
      runtime_->warnings->add(cat("output ", quoted(names_[i]), " is declared as ",
                                  describe_type(declared_[i], *graph_), " but a call gave ",
                                  describe_type(type, *graph_)));
      continue;
    }
    try {
      sizes.check("output", names_[i], type, declared_[i]);
    } catch (const Error& error) {
      runtime_->warnings->add(error.message());
    }
  }
}

Call::Variant& Call::variant(std::span<const Value> inputs) {
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    if (!std::equal(inputs.begin(), inputs.end(), variants_[i]->inputs.begin(), has_type)) continue;
    std::rotate(variants_.begin(), variants_.begin() + static_cast<std::ptrdiff_t>(i),
                variants_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return *variants_[0];
  }
  auto fresh = std::make_shared<Variant>();
  for (const Value& value : inputs) fresh->inputs.push_back(type_of(value));
  fresh->plan = std::make_shared<Plan>(plan(fresh->inputs));
  check_dims(*fresh);
  variants_.insert(variants_.begin(), std::move(fresh));
  if (variants_.size() > kept_plans) variants_.pop_back();
  return *variants_[0];
}

Plan Call::plan(std::span<const Type> inputs) const {
  PlanOptions options;
  options.outputs = results_;
  options.targets = targets_;
  options.in_place = in_place_;
  options.commit_last = runtime_->updates == UpdatePolicy::atomic;
  options.memory_budget = runtime_->memory_budget;
  options.state_bytes = runtime_->state_bytes + next_bytes_;
  options.limits = &runtime_->limits;
  options.threads = runtime_->threads;
  options.precision = runtime_->precision;
  Plan plan = make_plan(*graph_, inputs, options);
  if (verifies_plans()) verify_plan(plan, in_place_);
  return plan;
}

std::shared_ptr<const Plan> Call::plan(std::span<const Value> inputs) {
  const std::lock_guard lock(mutex_);
  return variant(inputs).plan;
}

ExecutorLease Call::acquire(std::span<const Value> inputs) {
  std::shared_ptr<Variant> chosen;
  {
    const std::lock_guard lock(mutex_);
    variant(inputs);
    chosen = variants_[0];
  }
  Arena arena = runtime_->arenas->acquire(chosen->plan->arena_bytes, runtime_->budget);
  std::unique_ptr<Executor> executor;
  {
    const std::lock_guard lock(mutex_);
    if (!chosen->idle.empty()) {
      executor = std::move(chosen->idle.back());
      chosen->idle.pop_back();
    }
  }
  if (!executor) {
    executor = std::make_unique<Executor>(chosen->plan, runtime_->limits, runtime_->threads);
    const std::lock_guard lock(mutex_);
    chosen->idle.reserve(chosen->made + 1);
    ++chosen->made;
  }
  executor->set_arena(arena.data());
  ExecutorLease lease(std::move(chosen), std::move(executor), std::move(arena), *this);
  for (std::size_t i = 0; i < inputs.size(); ++i) lease->set_input(i, inputs[i]);
  return lease;
}

ExecutorLease::ExecutorLease(std::shared_ptr<Call::Variant> variant,
                             std::unique_ptr<Executor> executor, Arena arena, Call& call)
    : variant_(std::move(variant)),
      executor_(std::move(executor)),
      arena_(std::move(arena)),
      call_(&call) {}

ExecutorLease::ExecutorLease(ExecutorLease&&) noexcept = default;

void ExecutorLease::check_dims() const {
  if (variant_->unsized.empty()) return;
  DimSizes sizes = *variant_->sizes;
  for (const auto& [id, name, declared] : variant_->unsized) {
    const Value value = executor_->value(id);
    sizes.check("value", name, value, declared);
    sizes.check_elements("value", name, value, declared);
  }
}

ExecutorLease::~ExecutorLease() {
  if (!executor_) return;
  executor_->clear();
  const std::lock_guard lock(call_->mutex_);
  variant_->idle.push_back(std::move(executor_));
}

}  // namespace ondine::trainer
