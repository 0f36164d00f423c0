#include <memory>

#include "arrays.h"

namespace ondine::python {
namespace {

// The `user` argument of a callback of the library.
struct Callback {
  Raised* raised;
  nb::object call;
};

struct Trainer {
  TrainerHandle handle;
  std::unique_ptr<Raised> raised = std::make_unique<Raised>();
  std::vector<std::unique_ptr<Callback>> callbacks;

  Callback* keep(nb::object call) {
    callbacks.push_back(std::make_unique<Callback>(Callback{raised.get(), std::move(call)}));
    return callbacks.back().get();
  }
  template <class Call>
  std::string call(Call&& call) const {
    return text(*raised, std::forward<Call>(call));
  }
};

int tell_one(void* user, const char* report) {
  const auto& callback = *static_cast<Callback*>(user);
  return tell(*callback.raised, callback.call, report);
}

// A metric is an object with begin(), add(outputs, batch) and value().
void begin(void* user) {
  const auto& callback = *static_cast<Callback*>(user);
  callback.raised->guard([&] { callback.call.attr("begin")(); });
}
int add(void* user, const ondine_values* outputs, const ondine_values* batch) {
  const auto& callback = *static_cast<Callback*>(user);
  const bool good =
      callback.raised->guard([&] { callback.call.attr("add")(to_dict(outputs), to_dict(batch)); });
  return good ? 0 : 1;
}
int value(void* user, double* number) {
  const auto& callback = *static_cast<Callback*>(user);
  const bool good = callback.raised->guard(
      [&] { *number = nb::cast<double>(nb::float_(callback.call.attr("value")())); });
  return good ? 0 : 1;
}

Trainer make_trainer(std::uintptr_t model, const Pairs& pairs) {
  const Options options(pairs);
  ondine_trainer* made = nullptr;
  run([&] {
    return ondine_trainer_new(reinterpret_cast<ondine_model*>(model), options.list(), &made);
  });
  Trainer result;
  result.handle = TrainerHandle(made);
  return result;
}

void add_metric(Trainer& self, const std::string& name, nb::object metric,
                const std::vector<std::string>& outputs) {
  const Names names(outputs);
  const ondine_metric given{name.c_str(), begin, add, value, names.list()};
  check(ondine_trainer_add_metric(self.handle.get(), &given, self.keep(std::move(metric))));
}

// Callbacks may hold what holds the trainer: the collector of cycles sees them.
int visit(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  for (const auto& callback : nb::inst_ptr<Trainer>(self)->callbacks) {
    Py_VISIT(callback->call.ptr());
  }
  return 0;
}
int clear(PyObject* self) {
  auto* const trainer = nb::inst_ptr<Trainer>(self);
  trainer->handle.close();
  trainer->callbacks.clear();
  return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {0, nullptr}};

}  // namespace

void bind_trainer(nb::module_& module) {
  nb::class_<Trainer> trainer(module, "Trainer", nb::type_slots(slots));
  module.def("make_trainer", make_trainer);
  trainer.def("on_step", [](Trainer& self, nb::object callback) {
    check(ondine_trainer_on_step(self.handle.get(), tell_one, self.keep(std::move(callback))));
  });
  trainer.def("on_epoch", [](Trainer& self, nb::object callback) {
    check(ondine_trainer_on_epoch(self.handle.get(), tell_one, self.keep(std::move(callback))));
  });
  trainer.def("add_metric", add_metric);
  trainer.def("resume", [](const Trainer& self) {
    return self.call([&](char** to) { return ondine_trainer_resume(self.handle.get(), to); });
  });
  trainer.def(
      "fit",
      [](const Trainer& self, const DatasetHandle& training, const DatasetHandle* validation) {
        const ondine_dataset* const others = validation == nullptr ? nullptr : validation->get();
        return self.call([&](char** to) {
          return ondine_trainer_fit(self.handle.get(), training.get(), others, to);
        });
      },
      nb::arg(), nb::arg().none());
  trainer.def("evaluate", [](const Trainer& self, const DatasetHandle& data) {
    return self.call(
        [&](char** to) { return ondine_trainer_evaluate(self.handle.get(), data.get(), to); });
  });
  trainer.def("request_stop",
              [](const Trainer& self) { check(ondine_trainer_request_stop(self.handle.get())); });
  trainer.def("close", [](Trainer& self) { self.handle.close(); });
}

}  // namespace ondine::python
