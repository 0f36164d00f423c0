#include "trainer/model/call.h"

#include <algorithm>
#include <exception>

#include "core/message.h"
#include "graph/evaluate/node_runner.h"
#include "trainer/model/dim_sizes.h"
#include "trainer/model/feeds.h"
#include "trainer/model/function.h"
#include "trainer/plan/report/plan_bytes.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

namespace {

const NamedOutput& find_output(const Function& function, const std::string& name) {
  for (const NamedOutput& output : function.outputs) {
    if (output.name == name) return output;
  }
  std::string known;
  for (const NamedOutput& output : function.outputs) known += " " + quoted(output.name);
  fail(ErrorCode::not_found, "there is no output ", quoted(name), "; outputs are", known);
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
    const Dim wanted = (*declared.dims)[axis];
    if ((wanted.is_symbolic() || wanted.known()) && !(*type.dims)[axis].known()) return false;
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

Call::Call(const Function& function, std::span<const std::string> names, const Runtime& runtime)
    : runtime_(&runtime),
      names_(names.begin(), names.end()),
      dims_(function.dims),
      graph_(function.graph),
      plans_(runtime.plans) {
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

Call::~Call() { plans_->forget(this); }

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

void Call::check_dims(KeptPlan& kept) const {
  DimSizes& sizes = kept.sizes.emplace(*graph_->symbols, dims_);
  const Graph& typed = kept.plan->graph;
  for (std::size_t i = 0; i < graph_->inputs.size(); ++i) {
    const GraphValue& input = (*graph_)[graph_->inputs[i]];
    sizes.check("input", input.name, kept.inputs[i], input.declared);
  }
  const auto check = [&](ValueId id, const std::string& name, const Type& declared) {
    const Type& type = typed[id].type;
    sizes.check("value", name, type, declared);
    const std::size_t buffer = kept.plan->buffer_of[static_cast<std::size_t>(id)];
    const bool runs = buffer != no_buffer && kept.plan->buffers[buffer].kind == BufferKind::dynamic;
    if (runs && !is_sized(type, declared)) kept.unsized.push_back({id, name, declared});
  };
  for (std::size_t i = 0; i < graph_->values.size(); ++i) {
    const GraphValue& value = graph_->values[i];
    check(static_cast<ValueId>(i), value.name, value.declared);
  }
  if (runtime_->warnings != nullptr) {
    warn_of_outputs(kept);
  } else {
    for (std::size_t i = 0; i < names_.size(); ++i) check(outputs_[i], names_[i], declared_[i]);
    // The sizes that outputs give hold for what is fed, too.
    for (const ValueId id : graph_->inputs) {
      const GraphValue& input = (*graph_)[id];
      const bool is_read = kept.plan->buffer_of[static_cast<std::size_t>(id)] != no_buffer;
      if (is_read && input.declared->element)
        kept.unsized.push_back({id, input.name, *input.declared});
    }
  }
  for (const PlannedNode& planned : kept.plan->nodes) check_subgraphs(*planned.node, sizes);
}

void Call::warn_of_outputs(const KeptPlan& kept) const {
  DimSizes sizes = *kept.sizes;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const Type& type = kept.plan->graph[outputs_[i]].type;
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

PlanBounds Call::bounds() const { return {runtime_->limits.arena_bytes, runtime_->memory_budget}; }

std::shared_ptr<KeptPlan> Call::keep_plan(std::span<const Value> inputs) {
  if (auto kept = plans_->find(this, inputs)) return kept;
  const std::lock_guard lock(mutex_);
  if (auto kept = plans_->find(this, inputs)) return kept;
  auto fresh = std::make_shared<KeptPlan>(runtime_->budget);
  fresh->owner = this;
  fresh->inputs.reserve(inputs.size());
  for (const Value& value : inputs) fresh->inputs.push_back(type_of(value));
  plans_->make_room(this, bounds());
  fresh->plan = std::make_shared<Plan>(plan(fresh->inputs));
  check_dims(*fresh);
  plans_->add(fresh, bytes_of(*fresh->plan, *graph_), bounds(), runtime_->budget.get());
  return fresh;
}

Plan Call::plan(std::span<const Type> inputs) const {
  PlanOptions options;
  options.outputs = results_;
  options.targets = targets_;
  options.in_place = in_place_;
  options.commit_last = runtime_->updates == UpdatePolicy::atomic;
  options.memory_budget = runtime_->memory_budget;
  std::vector<std::shared_ptr<const MappedFile>> files;
  if (runtime_->memory_budget) {
    for (const auto& named : runtime_->files) {
      if (auto file = named.lock()) files.push_back(std::move(file));
    }
  }
  options.files = files;
  options.state_bytes = runtime_->state_bytes + next_bytes_;
  options.limits = &runtime_->limits;
  options.threads = runtime_->threads;
  options.precision = runtime_->precision;
  options.rounded = runtime_->rounded.get();
  Plan plan = make_plan(graph_, inputs, options);
  if (verifies_plans()) verify_plan(plan, in_place_);
  return plan;
}

std::shared_ptr<const Plan> Call::plan(std::span<const Value> inputs) {
  return keep_plan(inputs)->plan;
}

Arena Call::acquire_arena(const KeptPlan& kept) const {
  const std::size_t bytes = kept.plan->arena_bytes;
  try {
    return runtime_->arenas->acquire(bytes, runtime_->budget);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::limit || !plans_->drop_others(kept)) throw;
  }
  return runtime_->arenas->acquire(bytes, runtime_->budget);
}

std::unique_ptr<Executor> Call::acquire_executor(KeptPlan& kept) const {
  if (auto idle = plans_->take_idle(kept)) return idle;
  auto executor = std::make_unique<Executor>(kept.plan, runtime_->limits, runtime_->threads);
  plans_->add_executor(kept, executor->bytes(), bounds(), runtime_->budget.get());
  return executor;
}

ExecutorLease Call::acquire(std::span<const Value> inputs) {
  std::shared_ptr<KeptPlan> kept = keep_plan(inputs);
  Arena arena = acquire_arena(*kept);
  std::unique_ptr<Executor> executor = acquire_executor(*kept);
  executor->set_arena(arena.data());
  ExecutorLease lease(std::move(kept), std::move(executor), std::move(arena), plans_);
  for (std::size_t i = 0; i < inputs.size(); ++i) lease->set_input(i, inputs[i]);
  return lease;
}

ExecutorLease::ExecutorLease(std::shared_ptr<KeptPlan> kept, std::unique_ptr<Executor> executor,
                             Arena arena, std::shared_ptr<KeptPlans> plans)
    : kept_(std::move(kept)),
      executor_(std::move(executor)),
      arena_(std::move(arena)),
      plans_(std::move(plans)) {}

ExecutorLease::ExecutorLease(ExecutorLease&&) noexcept = default;

void ExecutorLease::check_dims() const {
  if (kept_->unsized.empty()) return;
  // All tensors give their sizes before elements of sequences are compared with them.
  DimSizes sizes = *kept_->sizes;
  for (const auto& [id, name, declared] : kept_->unsized) {
    sizes.check("value", name, executor_->value(id), declared);
  }
  for (const auto& [id, name, declared] : kept_->unsized) {
    sizes.check_elements("value", name, executor_->value(id), declared);
  }
}

ExecutorLease::~ExecutorLease() {
  if (!executor_) return;
  executor_->clear();
  plans_->give_back(*kept_, std::move(executor_));
}

}  // namespace ondine::trainer
