#include <ondine/model.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/deferred.h"
#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/stop.h"
#include "core/system/pages.h"
#include "core/to_doubles.h"
#include "graph/evaluate/text_bytes.h"
#include "graph/ir/fingerprint.h"
#include "graph/record/privacy_text.h"
#include "graph/training/combine.h"
#include "trainer/exec/first_nonfinite.h"
#include "trainer/exec/output_memory.h"
#include "trainer/model/load_checked.h"
#include "trainer/model/model_impl.h"

namespace ondine {

std::unique_ptr<Model::Impl> Model::Impl::make(trainer::CheckedModel model,
                                               const LoadOptions& options) {
  auto impl = make(std::move(model.def), options, model.files);
  impl->leftovers = std::move(model.leftovers);
  impl->runtime.files.assign(model.files.begin(), model.files.end());
  model.files.clear();
  std::erase_if(impl->runtime.files, [](const auto& file) { return file.expired(); });
  if (options.strict) return impl;
  std::vector<std::string> warnings = std::move(model.warnings);
  const std::vector<std::string>& found = impl->functions.warnings;
  warnings.insert(warnings.end(), found.begin(), found.end());
  impl->runtime.warnings = std::make_unique<trainer::WarningLog>(std::move(warnings));
  return impl;
}

std::unique_ptr<Model::Impl> Model::Impl::make(graph::ModelDef def, const LoadOptions& options,
                                               const trainer::RoundedWeights::Files& files) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->functions = trainer::assemble(def, options, {}, files);
  impl->runtime.rounded = impl->functions.rounded;
  impl->state = trainer::StateStore(std::move(impl->functions.variables));
  impl->def = std::move(def);
  graph::require_secure_noise(impl->def);
  if (!graph::secure_noise_of(impl->def).empty()) {
    impl->secret = with_context([] { return std::make_unique<SecretKey>(); },
                                [] { return std::string("noise of training with privacy"); });
  }
  impl->seed = options.seed;
  impl->cancel = options.cancel;
  impl->deadline = options.deadline;
  impl->algorithm_steps.assign(impl->functions.algorithms.size(), 0);
  impl->evaluations.resize(impl->functions.algorithms.size());
  impl->gradients.resize(impl->functions.algorithms.size());
  impl->runtime.limits = options.limits;
  impl->runtime.threads = options.threads;
  impl->runtime.precision = options.precision;
  if (!options.strict) {
    impl->runtime.warnings = std::make_unique<trainer::WarningLog>(impl->functions.warnings);
  }
  impl->runtime.updates = options.updates;
  impl->runtime.memory_budget = options.memory_budget;
  for (std::size_t i = 0; i < impl->state.size(); ++i) {
    const Tensor& initial = impl->state.variable(i).initial;
    impl->runtime.state_bytes += initial.bytes() + graph::text_bytes(initial);
  }
  impl->runtime.budget = std::make_shared<MemoryBudget>(options.limits.arena_bytes);
  impl->runtime.outputs = std::make_shared<trainer::OutputMemory>(impl->runtime.budget);
  impl->runtime.pool = std::make_unique<ThreadPool>(options.threads);
  return_freed_memory();
  return impl;
}

void Model::Impl::require_unchanged_files() const {
  for (const auto& watched : runtime.files) {
    if (const auto file = watched.lock()) file->require_unchanged();
  }
}

std::shared_ptr<const MappedFile> Model::Impl::mapped_file_of(const Tensor& tensor) const {
  if (tensor.dtype() == DType::string || deferred_elements(tensor) != nullptr) return nullptr;
  const std::span elements(static_cast<const std::byte*>(tensor.data()), tensor.bytes());
  for (const auto& watched : runtime.files) {
    auto file = watched.lock();
    if (file && file->maps(elements)) return file;
  }
  return nullptr;
}

void Model::Impl::release_pages(const Tensor& tensor) const {
  const auto file = mapped_file_of(tensor);
  if (file) file->release({static_cast<const std::byte*>(tensor.data()), tensor.bytes()});
}

const Sha256Digest& Model::Impl::fingerprint() const {
  require_unchanged_files();
  std::call_once(digest_made, [&] {
    std::function<void(const Tensor&)> release;
    if (runtime.memory_budget) release = [&](const Tensor& read) { release_pages(read); };
    digest = graph::fingerprint(def, graph::state_variables(def), release);
  });
  return digest;
}

Stop Model::Impl::stop() const {
  Stop stop{cancel.get(), {}};
  if (deadline) stop.deadline = std::chrono::steady_clock::now() + *deadline;
  return stop;
}

graph::CallState Model::Impl::call_state(std::uint64_t step) const {
  require_unchanged_files();
  graph::CallState call;
  call.pool = runtime.pool.get();
  call.budget = runtime.budget;
  call.limits = options.limits;
  call.seed = seed;
  call.step = step;
  call.cancel = cancel;
  if (progress) call.progress = &progress;
  if (deadline) call.deadline = std::chrono::steady_clock::now() + *deadline;
  return call;
}

void Model::Impl::run(trainer::Executor& executor, graph::CallState& call,
                      const trainer::Executor::Watch* watch) const {
  const StopScope scope({call.cancel.get(), call.deadline});
  if (!profiling) return executor.run(call, nullptr, watch);
  const std::lock_guard lock(profile_mutex);
  executor.run(call, &profile, watch);
}

void Model::Impl::finish(trainer::Executor& executor, graph::CallState& call) const noexcept {
  // Disables the stop flag and deadline of an outer call on this thread: a commit section must not
  // be interrupted.
  const StopScope scope({});
  if (!profiling) return executor.commit(call);
  const std::lock_guard lock(profile_mutex);
  executor.commit(call, &profile);
}

void Model::Impl::forget_plans() {
  functions.inference.forget_calls();
  if (made_inference) made_inference->forget_calls();
  for (trainer::Algorithm& algorithm : functions.algorithms) algorithm.step.forget_calls();
  for (trainer::Function& start : functions.initializations) start.forget_calls();
  for (const auto& evaluation : evaluations) {
    if (evaluation) evaluation->forget_calls();
  }
  for (const auto& made : gradients) {
    if (made) made->function.forget_calls();
  }
}

const trainer::Algorithm& Model::Impl::require_algorithm(std::size_t index) const {
  if (index >= functions.algorithms.size()) {
    fail(ErrorCode::not_found, "there is no algorithm ", index, ": the model has ",
         functions.algorithms.size());
  }
  return functions.algorithms[index];
}

void Model::Impl::assign(const trainer::Function& function, const trainer::Update& update,
                         const Value& value) {
  const trainer::Variable& variable = state.variable(update.variable);
  const Tensor& tensor = value.tensor();
  if (tensor.dtype() != variable.initial.dtype() || !(tensor.shape() == variable.initial.shape())) {
    fail(ErrorCode::mismatch, "state variable ", quoted(variable.name), " of shape ",
         variable.initial.shape(), " is bound to ", quoted((*function.graph)[update.value].name),
         ", whose shape is ", tensor.shape());
  }
  set_next(update.variable, tensor);
}

void Model::Impl::check_shape(const trainer::Update& update, const graph::Graph& typed) const {
  const trainer::Variable& variable = state.variable(update.variable);
  const auto shape = typed[update.value].type.shape();
  if (!shape || *shape == variable.initial.shape()) return;
  fail(ErrorCode::mismatch, "state variable ", quoted(variable.name), " of shape ",
       variable.initial.shape(), " is bound to ", quoted(typed[update.value].name),
       ", whose shape is ", *shape);
}

void Model::Impl::store_result(Value& result, const Value& value) {
  if (!value.is_tensor()) {
    result = value;
    return;
  }
  const Tensor& from = value.tensor();
  const bool fits = result.is_tensor() && result.tensor().dtype() == from.dtype() &&
                    result.tensor().shape() == from.shape() && from.dtype() != DType::string;
  if (!fits) {
    result = from.clone();
  } else if (from.bytes() > 0) {
    std::memcpy(result.tensor().mutable_data(), from.data(), from.bytes());
  }
}

namespace {

// Whether the result, which a step overwrites, lies where the step reads an input.
bool is_fed(const Value& result, std::span<const NamedValue> feeds) {
  if (!result.is_tensor() || result.tensor().dtype() == DType::string) return false;
  const void* const data = result.tensor().data();
  return std::ranges::any_of(feeds, [&](const NamedValue& feed) {
    return feed.second.is_tensor() && feed.second.tensor().dtype() != DType::string &&
           feed.second.tensor().data() == data;
  });
}

// Gives the commit section the memory of the variables that it updates: that of the current version
// where a node may write over it and there are no readers.
void set_committed(const trainer::Function& step, trainer::StateStore& state, bool no_readers,
                   trainer::Executor& executor) {
  const trainer::Plan& plan = executor.plan();
  for (std::size_t i = 0; i < step.updates.size(); ++i) {
    if (!plan.committed[i]) continue;
    const std::size_t variable = step.updates[i].variable;
    Tensor& next =
        no_readers && plan.in_place[i] ? state.overwrite(variable) : state.next(variable);
    executor.set_target(step.updates[i].value, next.mutable_data());
  }
}

}  // namespace

void Model::Impl::run_step(const trainer::Function& step, std::span<const NamedValue> feeds,
                           std::size_t algorithm, std::span<NamedValue> results) {
  runtime.outputs->drop();
  nonfinite.clear();
  fetch_names.resize(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) fetch_names[i] = results[i].first;
  trainer::Call& selected = step.call(fetch_names, runtime);
  graph::CallState call = call_state(steps);
  const SecretScope scope(secret.get());
  own_mapped(step);
  const auto present = state.read();
  const trainer::StateStore::Draft draft(state);
  step.gather(feeds, present, scratch);
  const auto executor = selected.acquire(scratch);
  const trainer::Plan& plan = executor->plan();
  for (std::size_t i = 0; i < step.updates.size(); ++i) {
    if (!selected.is_direct(i)) continue;
    const trainer::Update& update = step.updates[i];
    check_shape(update, plan.graph);
    if (plan.committed[i]) continue;
    Tensor& next =
        plan.in_place[i] ? state.overwrite(update.variable) : state.next(update.variable);
    executor->set_target(update.value, next.mutable_data());
  }
  run(*executor, call);
  executor.check_dims();
  for (std::size_t i = 0; i < step.updates.size(); ++i) {
    if (plan.committed[i]) continue;
    const Value value = executor->value(step.updates[i].value);
    const bool written = value.is_tensor() && selected.is_direct(i) &&
                         value.tensor().data() == state.next(step.updates[i].variable).data();
    if (!written) assign(step, step.updates[i], value);
  }
  const auto store_results = [&](bool fed) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      Value& result = results[i].second;
      if (is_fed(result, feeds) == fed) store_result(result, executor->value(selected.output(i)));
    }
  };
  store_results(false);
  if (require_finite) check_finite(step, selected, fetch_names, *executor, call);
  auto hold = state.hold_readers();
  set_committed(step, state, hold.owns_lock(), *executor);
  // No failure is possible from here on.
  finish(*executor, call);
  store_results(true);  // over what the commit section reads
  state.commit(std::move(hold));
  ++steps;
  ++algorithm_steps[algorithm];
}

void Model::Impl::check_finite(const trainer::Function& function, const trainer::Call& selected,
                               std::span<const std::string> names, trainer::Executor& executor,
                               graph::CallState& call) {
  for (std::size_t i = 0; i < selected.names().size(); ++i) {
    const std::string& name = selected.names()[i];
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    const Value value = executor.value(selected.output(i));
    if (!value.is_tensor() || value.tensor().size() != 1) continue;
    const auto number = to_doubles(value.tensor());
    if (!number || std::isfinite(number->front())) continue;
    const std::string first = trainer::first_nonfinite(executor, call, function, state);
    nonfinite = cat(name, " is ", number->front());
    if (!first.empty()) nonfinite += "; the first tensor that is not finite is " + first;
    fail(ErrorCode::not_finite, nonfinite);
  }
}

void Model::Impl::initialize(std::uint64_t new_seed) {
  graph::CallState call = call_state(0);
  call.seed = new_seed;
  const trainer::StateStore::Draft draft(state);
  state.reset();
  for (const trainer::Function& start : functions.initializations) {
    if (!start.graph || start.updates.empty()) continue;
    trainer::Call& selected = start.call({}, runtime);
    // Initializers read copies of variables, since their updates may go right into the variables'
    // memory.
    std::vector<Value> inputs;
    for (const trainer::InputSource& input : start.inputs) {
      inputs.emplace_back(state.drafted(input.variable).clone(runtime.budget));
    }
    const auto executor = selected.acquire(inputs);
    // Later bindings take precedence: the results of each graph are assigned before the next runs.
    for (std::size_t i = 0; i < start.updates.size(); ++i) {
      if (!selected.is_direct(i)) continue;
      check_shape(start.updates[i], executor->plan().graph);
      executor->set_target(start.updates[i].value,
                           state.next(start.updates[i].variable).mutable_data());
    }
    run(*executor, call);
    executor.check_dims();
    finish(*executor, call);
    for (const trainer::Update& update : start.updates) {
      const Value value = executor->value(update.value);
      if (value.tensor().data() != state.next(update.variable).data()) {
        assign(start, update, value);
      }
    }
  }
  state.commit();
  seed = new_seed;
  steps = 0;
  algorithm_steps.assign(algorithm_steps.size(), 0);
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Stop stop_of(const LoadOptions& options) {
  Stop stop{options.cancel.get(), {}};
  if (options.deadline) stop.deadline = std::chrono::steady_clock::now() + *options.deadline;
  return stop;
}

Model Model::load(const std::filesystem::path& file, const LoadOptions& options) {
  return guard_memory("load the model", [&] {
    const StopScope scope(stop_of(options));
    return with_context(
        [&] { return Model(Impl::make(trainer::load_checked(file, options), options)); },
        [&] { return "model " + quoted(file.filename().string()); });
  });
}

Model Model::load(std::span<const std::byte> bytes, const LoadOptions& options) {
  return guard_memory("load the model", [&] {
    const StopScope scope(stop_of(options));
    return Model(Impl::make(trainer::load_checked(bytes, options), options));
  });
}

namespace {

constexpr const char* training = "take a training step";

}  // namespace

void Model::initialize(std::uint64_t seed) {
  guard_memory("initialize the state", [&] {
    const auto scope = impl_->use(trainer::Use::write, "initialize the model");
    impl_->initialize(seed);
  });
}

void Model::train_step_into(Feeds feeds, std::size_t algorithm, std::span<NamedValue> results) {
  guard_memory(training, [&] {
    const auto scope = impl_->use(trainer::Use::write, training);
    impl_->run_step(impl_->require_algorithm(algorithm).step, feeds.values(), algorithm, results);
  });
}

Results Model::train_step(Feeds feeds, std::size_t algorithm, Fetches fetches) {
  return guard_memory(training, [&] {
    const auto scope = impl_->use(trainer::Use::write, training);
    const auto& defaults = impl_->require_algorithm(algorithm).outputs;
    NamedValues results;
    for (const std::string& name :
         fetches.names().empty() ? std::span(defaults) : fetches.names()) {
      results.emplace_back(name, Value());
    }
    impl_->run_step(impl_->require_algorithm(algorithm).step, feeds.values(), algorithm, results);
    return Results(std::move(results));
  });
}

}  // namespace ondine
