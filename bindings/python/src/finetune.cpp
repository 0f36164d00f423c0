#include "calls.h"

namespace ondine::python {
namespace {

// The `user` argument of the library's callbacks.
struct Callbacks {
  nb::object on_assumed;
  nb::object on_step;
  nb::object on_epoch;
  Raised raised = {};

  static Callbacks& of(void* user) { return *static_cast<Callbacks*>(user); }
};

void tell_assumed(void* user, const char* line) {
  Callbacks& all = Callbacks::of(user);
  tell(all.raised, all.on_assumed, line);
}
int tell_step(void* user, const char* report) {
  Callbacks& all = Callbacks::of(user);
  return tell(all.raised, all.on_step, report);
}
int tell_epoch(void* user, const char* report) {
  Callbacks& all = Callbacks::of(user);
  return tell(all.raised, all.on_epoch, report);
}

// A list of files and folders, a data set or None.
class Rows {
 public:
  explicit Rows(const nb::object& data) : places_(places_of(data)), names_(places_) {
    if (nb::isinstance<DatasetHandle>(data)) set_ = nb::cast<const DatasetHandle&>(data).get();
  }
  const char* const* places() const noexcept { return names_.list(); }
  const ondine_dataset* set() const noexcept { return set_; }

 private:
  static std::vector<std::string> places_of(const nb::object& data) {
    if (data.is_none() || nb::isinstance<DatasetHandle>(data)) return {};
    return nb::cast<std::vector<std::string>>(data);
  }

  std::vector<std::string> places_;
  Names names_;
  const ondine_dataset* set_ = nullptr;
};

// A Model, bytes, a file or None.
struct Source {
  explicit Source(const nb::object& source, ondine_finetune_run& run) {
    run.model = model_in(source);
    if (run.model != nullptr || source.is_none()) return;
    if (nb::isinstance<nb::bytes>(source)) {
      const auto bytes = nb::borrow<nb::bytes>(source);
      run.bytes = bytes.data();
      run.size = bytes.size();
    } else {
      file = nb::cast<std::string>(source);
      run.file = file.c_str();
    }
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  std::string file;
};

nb::typed<nb::tuple, nb::any, std::string> finetune(nb::object model, nb::object data,
                                                    nb::object validation,
                                                    const std::string& output, const Pairs& pairs,
                                                    const Pairs& reading_pairs,
                                                    const Pairs& load_pairs, nb::object on_assumed,
                                                    nb::object on_step, nb::object on_epoch) {
  const Options options(pairs);
  const Options reading(reading_pairs);
  const Options load(load_pairs);
  const Rows rows(data);
  const Rows others(validation);
  Callbacks callbacks{std::move(on_assumed), std::move(on_step), std::move(on_epoch)};
  ondine_finetune_run run{};
  const Source source(model, run);
  run.places = rows.places();
  run.dataset = rows.set();
  run.validation_places = others.places();
  run.validation = others.set();
  if (!output.empty()) run.output = output.c_str();
  run.options = options.list();
  run.data_options = reading.list();
  run.load = load.list();
  run.on_assumed = tell_assumed;
  run.on_step = tell_step;
  run.on_epoch = tell_epoch;
  run.user = &callbacks;
  ondine_model* made = nullptr;
  ModelHandle kept;
  const std::string report = text(callbacks.raised, [&](char** to) {
    ondine_error* const error = ondine_finetune(&run, &made, to);
    kept = ModelHandle(made);
    return error;
  });
  return nb::make_tuple(new_model(kept.release()), report);
}

nb::bytes new_network(const std::string& kind, const DatasetHandle& data, const Pairs& pairs) {
  const Options options(pairs);
  void* made = nullptr;
  std::size_t size = 0;
  run([&] {
    return ondine_new_network(kind.empty() ? nullptr : kind.c_str(), data.get(), options.list(),
                              &made, &size, nullptr);
  });
  nb::bytes result(made, size);
  ondine_free(made);
  return result;
}

}  // namespace

void bind_finetune(nb::module_& module) {
  module.def("finetune", finetune, nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg(),
             nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none());
  module.def("new_network", new_network);
}

}  // namespace ondine::python
