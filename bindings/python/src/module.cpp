// The extension ondine_train._ondine: what ondine_train calls, with options and reports as texts.
#include "calls.h"

NB_MODULE(_ondine, module) {
  using namespace ondine::python;  // NOLINT
  // Callbacks may hold what holds them.
  nb::set_leak_warnings(false);
  module.def("version", ondine_version);
  module.def("live_handles", ondine_live_handles);
  module.def("options_json", [] { return text(ondine_options_json); });
  module.def("check_model", [](const std::string& file, const Pairs& pairs) {
    const Options options(pairs);
    return text([&](char** to) { return ondine_check(file.c_str(), options.list(), to); });
  });
  module.def("has_checkpoint", [](const std::string& file) {
    int found = 0;
    check(ondine_has_checkpoint(file.c_str(), &found));
    return found != 0;
  });
  bind_arrow(module);
  bind_model(module);
  bind_data(module);
  bind_trainer(module);
  bind_finetune(module);
  bind_federated(module);
  bind_language(module);
}
