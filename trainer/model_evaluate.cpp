#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/stop.h"
#include "trainer/exec/output_memory.h"
#include "trainer/model_impl.h"

namespace ondine {

const trainer::Function& Model::Impl::evaluation(std::size_t algorithm) const {
  require_algorithm(algorithm);
  const std::lock_guard lock(evaluations_mutex);
  auto& made = evaluations[algorithm];
  if (!made) {
    const StopScope scope(stop());
    const std::shared_lock reading(metadata_mutex);
    made = std::make_unique<trainer::Function>(
        trainer::assemble_evaluation(def, algorithm, functions, variables(), options));
  }
  return *made;
}

const trainer::Gradients& Model::Impl::gradient_function(std::size_t algorithm) const {
  require_algorithm(algorithm);
  const std::lock_guard lock(evaluations_mutex);
  auto& made = gradients[algorithm];
  if (!made) {
    const StopScope scope(stop());
    const std::shared_lock reading(metadata_mutex);
    made = std::make_unique<trainer::Gradients>(
        trainer::assemble_gradients(def, algorithm, functions, variables(), options));
  }
  return *made;
}

const trainer::Inference& Model::Impl::inference() const {
  if (functions.can_infer()) return functions.inference;
  const std::lock_guard lock(inference_mutex);
  if (!made_inference) {
    const StopScope scope(stop());
    const std::shared_lock reading(metadata_mutex);
    made_inference = std::make_unique<trainer::Inference>(
        trainer::assemble_inference(def, functions, variables(), options));
  }
  return *made_inference;
}

std::vector<trainer::Variable> Model::Impl::variables() const {
  std::vector<trainer::Variable> result;
  for (std::size_t i = 0; i < state.size(); ++i) result.push_back(state.variable(i));
  return result;
}

Results Model::Impl::evaluate(const trainer::Function& function, Feeds feeds,
                              std::span<const std::string> names) const {
  try {
    return evaluate_once(function, feeds, names);
  } catch (const Error& error) {
    // What was kept of earlier results may be what the call lacks.
    if (error.code() != ErrorCode::limit || !runtime.outputs->drop()) throw;
  }
  return evaluate_once(function, feeds, names);
}

void Model::Impl::run_once(const trainer::Function& function, Feeds feeds,
                           std::span<const std::string> names, std::uint64_t step,
                           const Inspect& inspect) const {
  trainer::Call& selected = function.call(names, runtime);
  graph::CallState call = call_state(step);
  const auto present = state.read();
  std::vector<Value> inputs;
  function.gather(feeds.values(), present, inputs);
  const auto executor = selected.acquire(inputs);
  run(*executor, call);
  executor.check_dims();
  inspect(selected, *executor, call);
}

void Model::Impl::run_rows(
    const trainer::Function& rows, Feeds feeds, std::span<const std::string> names,
    std::span<const std::string> checked, std::uint64_t shard,
    const std::function<void(std::size_t result, const Tensor& value)>& take) {
  nonfinite.clear();
  constexpr int step_bits = 48;
  run_once(rows, feeds, names, steps | shard << step_bits,
           [&](const trainer::Call& selected, trainer::Executor& executor, graph::CallState& call) {
             if (require_finite) check_finite(rows, selected, checked, executor, call);
             for (std::size_t i = 0; i < names.size(); ++i) {
               take(i, executor.value(selected.output(i)).tensor());
             }
           });
}

Results Model::Impl::evaluate_once(const trainer::Function& function, Feeds feeds,
                                   std::span<const std::string> names) const {
  runtime.outputs->begin_call();
  NamedValues results;
  run_once(function, feeds, names, steps,
           [&](const trainer::Call& selected, trainer::Executor& executor, graph::CallState&) {
             for (std::size_t i = 0; i < names.size(); ++i) {
               const Value value = executor.value(selected.output(i));
               results.emplace_back(names[i], value.is_tensor()
                                                  ? Value(runtime.outputs->copy(value.tensor()))
                                                  : value);
             }
           });
  return Results(std::move(results));
}

Results Model::infer(Feeds feeds, Fetches fetches) const {
  return guard_memory("evaluate the model", [&] {
    const auto scope = impl_->use(trainer::Use::read, "evaluate the model");
    const trainer::Function& infer = impl_->inference().for_feeds(feeds.values());
    return impl_->evaluate(
        infer, feeds, fetches.names().empty() ? std::span(infer.default_outputs) : fetches.names());
  });
}

Results Model::eval_step(Feeds feeds, std::size_t algorithm, Fetches fetches) const {
  return guard_memory("evaluate the training algorithm", [&] {
    const auto scope = impl_->use(trainer::Use::read, "evaluate the training algorithm");
    const trainer::Function& evaluation = impl_->evaluation(algorithm);
    if (!fetches.names().empty()) return impl_->evaluate(evaluation, feeds, fetches.names());
    if (evaluation.default_outputs.empty()) {
      fail(ErrorCode::mismatch, "every output of algorithm ", algorithm,
           " is an update or depends on a Gradient or an optimizer: nothing to evaluate");
    }
    return impl_->evaluate(evaluation, feeds, evaluation.default_outputs);
  });
}

Results Model::gradients(Feeds feeds, std::size_t algorithm) const {
  return guard_memory("compute gradients", [&] {
    const auto scope = impl_->use(trainer::Use::read, "compute gradients");
    const auto& [function, names] = impl_->gradient_function(algorithm);
    NamedValues values = impl_->evaluate(function, feeds, function.default_outputs).values();
    for (std::size_t i = 0; i < values.size(); ++i) values[i].first = names[i];
    return Results(std::move(values));
  });
}

}  // namespace ondine
