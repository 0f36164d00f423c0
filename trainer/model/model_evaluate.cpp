#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/stop.h"
#include "trainer/exec/output_memory.h"
#include "trainer/model/model_impl.h"

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
    // The memory that earlier results keep may be what the call lacks.
    if (error.code() != ErrorCode::limit || !runtime.outputs->drop()) throw;
  }
  return evaluate_once(function, feeds, names);
}

void Model::Impl::run_once(const trainer::Function& function, Feeds feeds,
                           std::span<const std::string> names, std::uint64_t step,
                           const Inspect& inspect, const Watch& watch) const {
  trainer::Call& selected = function.call(names, runtime);
  graph::CallState call = call_state(step);
  const SecretScope scope(secret.get());
  const auto present = state.read();
  std::vector<Value> inputs;
  function.gather(feeds.values(), present, inputs);
  const auto executor = selected.acquire(inputs);
  const trainer::Executor::Watch watched = [&](std::size_t position) {
    watch(selected, *executor, position);
  };
  run(*executor, call, watch ? &watched : nullptr);
  executor.check_dims();
  inspect(selected, *executor, call);
}

namespace {

// The results of a call in the order in which they are computed.
class ResultOrder {
 public:
  ResultOrder(const trainer::Call& call, const trainer::Executor& executor, std::size_t results) {
    const trainer::Plan& plan = executor.plan();
    std::vector<std::size_t> position(plan.graph.values.size(), 0);
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
      for (const graph::ValueId id : plan.nodes[i].node->outputs) {
        if (id != graph::no_value) position[static_cast<std::size_t>(id)] = i;
      }
    }
    for (std::size_t i = 0; i < results; ++i) {
      left_.emplace_back(position[static_cast<std::size_t>(call.output(i))], i);
    }
    std::sort(left_.begin(), left_.end(), std::greater<>());
  }

  // The next result that is there after the node at `position`.
  std::optional<std::size_t> next(std::size_t position) {
    if (left_.empty() || left_.back().first > position) return std::nullopt;
    const std::size_t result = left_.back().second;
    left_.pop_back();
    return result;
  }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> left_;  // the first one last
};

}  // namespace

void Model::Impl::run_rows(const trainer::Function& rows, Feeds feeds,
                           std::span<const std::string> names, std::span<const std::string> checked,
                           const RowRange& part,
                           const std::function<void(std::size_t result, const Tensor& value)>& take,
                           bool early) {
  nonfinite.clear();
  constexpr int step_bits = 48;
  const RowScope scope(part, steps);
  std::optional<ResultOrder> order;
  const auto take_until = [&](const trainer::Call& selected, const trainer::Executor& executor,
                              std::size_t position) {
    if (!order) order.emplace(selected, executor, names.size());
    while (const auto result = order->next(position)) {
      take(*result, executor.value(selected.output(*result)).tensor());
    }
  };
  run_once(
      rows, feeds, names, steps | part.part << step_bits,
      [&](const trainer::Call& selected, trainer::Executor& executor, graph::CallState& call) {
        if (require_finite) check_finite(rows, selected, checked, executor, call);
        if (early) return take_until(selected, executor, executor.plan().nodes.size());
        for (std::size_t i = 0; i < names.size(); ++i) {
          take(i, executor.value(selected.output(i)).tensor());
        }
      },
      early ? Watch(take_until) : Watch());
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
