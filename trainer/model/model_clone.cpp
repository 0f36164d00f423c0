#include "core/out_of_memory.h"
#include "trainer/model/model_impl.h"

namespace ondine {

std::unique_ptr<Model::Impl> Model::Impl::clone() const {
  require_unchanged_files();
  const auto scope = use(trainer::Use::read, "clone the model");
  trainer::RoundedWeights::Files files;
  for (const auto& watched : runtime.files) {
    if (auto file = watched.lock()) files.push_back(std::move(file));
  }
  LoadOptions same = options;
  same.threads = runtime.threads;
  same.deadline = deadline;
  same.cancel = cancel;
  std::shared_lock lock(metadata_mutex);
  graph::ModelDef as_loaded = def;
  lock.unlock();
  auto copy = make(std::move(as_loaded), same, files);
  copy->leftovers = leftovers;
  copy->runtime.files = runtime.files;
  if (runtime.warnings) {
    copy->runtime.warnings = std::make_unique<trainer::WarningLog>(runtime.warnings->texts());
  }
  const auto present = state.read();
  {
    const trainer::StateStore::Draft draft(copy->state);
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (!state.is_initial(i)) copy->set_next(i, present[i]);
    }
    copy->state.commit();
  }
  // Learning rates that set_learning_rate made the defaults of inputs.
  for (std::size_t a = 0; a < functions.algorithms.size(); ++a) {
    const auto& from = functions.algorithms[a].step.inputs;
    auto& to = copy->functions.algorithms[a].step.inputs;
    for (std::size_t i = 0; i < from.size(); ++i) to[i].fallback = from[i].fallback;
  }
  copy->seed = seed.load();
  copy->steps = steps.load();
  copy->algorithm_steps = algorithm_steps;
  return copy;
}

Model Model::clone() const {
  return guard_memory("clone the model", [&] { return Model(impl_->clone()); });
}

}  // namespace ondine
