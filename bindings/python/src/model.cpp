#include <memory>

#include "arrays.h"

namespace ondine::python {
namespace {

// A model whose calls Ctrl-C interrupts.
struct Model {
  explicit Model(ondine_model* made) : handle(made) {
    check(ondine_model_set_progress(made, look_for_signals, raised.get()));
  }

  ModelHandle handle;
  std::unique_ptr<Raised> raised = std::make_unique<Raised>();

  template <class Call>
  void call(Call&& call) const {
    try {
      run(std::forward<Call>(call));
    } catch (nb::python_error&) {
      raised->rethrow();
      throw;
    }
  }

  static int look_for_signals(void* user, double) {
    const bool goes_on = static_cast<Raised*>(user)->guard([] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
    return goes_on ? 0 : 1;
  }
};

using Strings = std::vector<std::string>;

Model load(nb::object source, const Pairs& pairs) {
  const Options options(pairs);
  ondine_model* made = nullptr;
  if (nb::isinstance<nb::bytes>(source)) {
    const auto bytes = nb::borrow<nb::bytes>(source);
    run([&] {
      return ondine_model_load_bytes(bytes.data(), bytes.size(), nullptr, nullptr, options.list(),
                                     &made);
    });
  } else {
    const auto file = nb::cast<std::string>(source);
    run([&] { return ondine_model_load(file.c_str(), options.list(), &made); });
  }
  return Model(made);
}

nb::typed<nb::tuple, Model, std::string> prepare(nb::object source, const Pairs& pairs,
                                                 const Pairs& load_pairs) {
  const Options options(pairs);
  const Options load(load_pairs);
  ondine_model* made = nullptr;
  const std::string report = text([&](char** to) {
    const ondine_option* const by = options.list();
    if (nb::isinstance<Model>(source)) {
      const ondine_model* const from = nb::cast<const Model&>(source).handle.get();
      return ondine_prepare_model(from, by, load.list(), &made, to);
    }
    if (PyBytes_Check(source.ptr())) {
      const auto bytes = nb::borrow<nb::bytes>(source);
      return ondine_prepare_bytes(bytes.data(), bytes.size(), by, load.list(), &made, to);
    }
    return ondine_prepare(nb::cast<std::string>(source).c_str(), by, load.list(), &made, to);
  });
  return nb::make_tuple(Model(made), report);
}

Dict train_step(const Model& self, const Dict& feeds, std::size_t algorithm,
                const Strings& fetches) {
  const Values given = to_values(feeds);
  const Names names(fetches);
  ondine_values* made = nullptr;
  self.call([&] {
    return ondine_model_train_step(self.handle.get(), given.get(), algorithm, names.list(), &made);
  });
  return to_dict(Values(made).get());
}

Dict eval_step(const Model& self, const Dict& feeds, std::size_t algorithm,
               const Strings& fetches) {
  const Values given = to_values(feeds);
  const Names names(fetches);
  ondine_values* made = nullptr;
  self.call([&] {
    return ondine_model_eval_step(self.handle.get(), given.get(), algorithm, names.list(), &made);
  });
  return to_dict(Values(made).get());
}

Dict infer(const Model& self, const Dict& feeds, const Strings& fetches) {
  const Values given = to_values(feeds);
  const Names names(fetches);
  ondine_values* made = nullptr;
  self.call(
      [&] { return ondine_model_infer(self.handle.get(), given.get(), names.list(), &made); });
  return to_dict(Values(made).get());
}

Dict gradients(const Model& self, const Dict& feeds, std::size_t algorithm) {
  const Values given = to_values(feeds);
  ondine_values* made = nullptr;
  self.call(
      [&] { return ondine_model_gradients(self.handle.get(), given.get(), algorithm, &made); });
  return to_dict(Values(made).get());
}

nb::object get_state(const Model& self, const std::string& name) {
  ondine_value* made = nullptr;
  check(ondine_model_get_state(self.handle.get(), name.c_str(), &made));
  return to_python(Value(made));
}

void set_state(const Model& self, const Dict& values) {
  const Values given = to_values(values);
  run([&] { return ondine_model_set_state(self.handle.get(), given.get()); });
}

nb::bytes export_bytes(const Model& self, bool training) {
  void* bytes = nullptr;
  size_t size = 0;
  run([&] {
    ondine_model* const from = self.handle.get();
    return training ? ondine_model_export_training_bytes(from, &bytes, &size)
                    : ondine_model_export_inference_bytes(from, &bytes, &size);
  });
  nb::bytes result(bytes, size);
  ondine_free(bytes);
  return result;
}

void export_file(const Model& self, const std::string& file, bool training, const Pairs& pairs) {
  const Options options(pairs);
  run([&] {
    ondine_model* const from = self.handle.get();
    return training ? ondine_model_export_training(from, file.c_str(), options.list())
                    : ondine_model_export_inference(from, file.c_str(), options.list());
  });
}

nb::typed<nb::tuple, nb::any, std::string> import_ort(const std::string& folder,
                                                      const std::string& checkpoint,
                                                      const std::vector<std::string>& labels,
                                                      const Pairs& pairs) {
  const Options load(pairs);
  const Names loss(labels);
  ondine_model* made = nullptr;
  const std::string report = text([&](char** to) {
    return ondine_import_ort(folder.c_str(), checkpoint.empty() ? nullptr : checkpoint.c_str(),
                             loss.list(), load.list(), &made, to);
  });
  return nb::make_tuple(new_model(made), report);
}

void bind_files(nb::class_<Model>& model) {
  model.def("export", export_file);
  model.def("export_bytes", export_bytes);
  model.def("save_checkpoint", [](const Model& self, const std::string& file) {
    run([&] { return ondine_model_save_checkpoint(self.handle.get(), file.c_str()); });
  });
  model.def("restore_checkpoint", [](const Model& self, const std::string& file) {
    return text([&](char** to) {
      return ondine_model_restore_checkpoint(self.handle.get(), file.c_str(), to);
    });
  });
  model.def("save_weights", [](const Model& self, const std::string& file, bool all) {
    run([&] { return ondine_model_save_weights(self.handle.get(), file.c_str(), all ? 1 : 0); });
  });
  model.def("load_weights", [](const Model& self, const std::string& file, bool all) {
    return text([&](char** to) {
      return ondine_model_load_weights(self.handle.get(), file.c_str(), all ? 1 : 0, to);
    });
  });
}

void bind_settings(nb::class_<Model>& model) {
  model.def("set_threads", [](const Model& self, int threads) {
    run([&] { return ondine_model_set_threads(self.handle.get(), threads); });
  });
  model.def("set_deadline", [](const Model& self, std::int64_t milliseconds) {
    run([&] { return ondine_model_set_deadline(self.handle.get(), milliseconds); });
  });
  model.def("get_learning_rate", [](const Model& self, std::size_t algorithm) {
    float rate = 0;
    check(ondine_model_get_learning_rate(self.handle.get(), algorithm, &rate));
    return rate;
  });
  model.def("set_learning_rate", [](const Model& self, std::size_t algorithm, float rate) {
    check(ondine_model_set_learning_rate(self.handle.get(), algorithm, rate));
  });
  model.def("set_profiling", [](const Model& self, bool on) {
    check(ondine_model_set_profiling(self.handle.get(), on ? 1 : 0));
  });
  model.def("profile", [](const Model& self) {
    return text([&](char** to) { return ondine_model_profile(self.handle.get(), to); });
  });
}

}  // namespace

const ondine_model* model_in(nb::handle object) {
  return nb::isinstance<Model>(object) ? nb::cast<const Model&>(object).handle.get() : nullptr;
}

nb::object new_model(ondine_model* made) { return nb::cast(Model(made)); }

void bind_model(nb::module_& module) {
  nb::class_<Model> model(module, "Model");
  module.def("load", load);
  module.def("prepare", prepare);
  module.def("import_ort", import_ort);
  model.def("train_step", train_step);
  model.def("eval_step", eval_step);
  model.def("infer", infer);
  model.def("gradients", gradients);
  model.def("get_state", get_state);
  model.def("set_state", set_state);
  model.def("initialize", [](const Model& self, std::uint64_t seed) {
    self.call([&] { return ondine_model_initialize(self.handle.get(), seed); });
  });
  model.def("take_averages", [](const Model& self) {
    run([&] { return ondine_model_take_averages(self.handle.get()); });
  });
  model.def("clone", [](const Model& self) {
    ondine_model* made = nullptr;
    run([&] { return ondine_model_clone(self.handle.get(), &made); });
    return Model(made);
  });
  model.def("describe", [](const Model& self) {
    return text([&](char** to) { return ondine_model_describe(self.handle.get(), to); });
  });
  model.def("fingerprint", [](const Model& self) {
    return text([&](char** to) { return ondine_model_fingerprint(self.handle.get(), to); });
  });
  model.def("steps", [](const Model& self) {
    std::uint64_t steps = 0;
    check(ondine_model_steps(self.handle.get(), &steps));
    return steps;
  });
  model.def("inspect", [](const Model& self, const std::string& stage, std::size_t algorithm) {
    return text([&](char** to) {
      return ondine_model_inspect(self.handle.get(), stage.c_str(), algorithm, to);
    });
  });
  model.def("plan", [](const Model& self, const Dict& feeds, std::int64_t algorithm) {
    const Values given = to_values(feeds);
    return text([&](char** to) {
      return ondine_model_plan(self.handle.get(), given.get(), algorithm, nullptr, to);
    });
  });
  model.def("close", [](Model& self) { self.handle.close(); });
  model.def_prop_ro("address", [](const Model& self) {
    return reinterpret_cast<std::uintptr_t>(self.handle.get());
  });
  bind_files(model);
  bind_settings(model);
}

}  // namespace ondine::python
