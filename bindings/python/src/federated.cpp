// Python class for a federation node's answers to messages.
#include <memory>

#include "arrays.h"

namespace ondine::python {
namespace {

struct FederatedWorker {
  FederatedHandle handle;
  std::unique_ptr<Raised> raised = std::make_unique<Raised>();
};

int look_for_signals(void* user) {
  const bool goes_on = static_cast<Raised*>(user)->guard([] {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  });
  return goes_on ? 0 : 1;
}

FederatedWorker make_worker(std::uintptr_t model, const DatasetHandle& data, const Pairs& training,
                            const Pairs& federation) {
  const Options by(training);
  const Options round(federation);
  ondine_federated_worker* made = nullptr;
  run([&] {
    return ondine_federated_worker_new(reinterpret_cast<ondine_model*>(model), data.get(),
                                       by.list(), round.list(), &made);
  });
  FederatedWorker result;
  result.handle = FederatedHandle(made);
  check(ondine_federated_worker_on_wait(made, look_for_signals, result.raised.get()));
  return result;
}

nb::typed<nb::tuple, Dict, std::string> answer(const FederatedWorker& self, const std::string& type,
                                               const Dict& arrays, const std::string& settings,
                                               double seconds) {
  const Values given = to_values(arrays);
  ondine_values* trained = nullptr;
  try {
    const std::string report = text([&](char** to) {
      return ondine_federated_worker_answer(self.handle.get(), type.c_str(), given.get(),
                                            settings.c_str(), seconds, &trained, to);
    });
    return nb::make_tuple(to_dict(Values(trained).get()), report);
  } catch (nb::python_error&) {
    self.raised->rethrow();
    throw;
  }
}

}  // namespace

void bind_federated(nb::module_& module) {
  nb::class_<FederatedWorker> worker(module, "FederatedWorker");
  module.def("make_federated_worker", make_worker);
  worker.def("answer", answer);
}

}  // namespace ondine::python
