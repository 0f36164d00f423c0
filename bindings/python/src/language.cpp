// Folders of Hugging Face, texts that a model writes, adapters and privacy.
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <tuple>

#include "arrays.h"

namespace ondine::python {
namespace {

using GeneratorHandle = Owned<ondine_generator, ondine_generator_free>;
using Messages = std::vector<std::pair<std::string, std::string>>;
using Folders = std::vector<std::tuple<std::string, double, std::string>>;
using Steps = std::vector<std::tuple<double, double, std::uint64_t>>;

// Receiver of each part of a text from the library.
struct Listener {
  explicit Listener(nb::object call) : on_text(std::move(call)) {}
  nb::object on_text;
  Raised raised = {};

  static int hear(void* user, const char* piece, std::size_t length) {
    auto& self = *static_cast<Listener*>(user);
    return tell(self.raised, self.on_text, {piece, length});
  }
};

const ondine_model* required(nb::handle object) {
  const ondine_model* const model = model_in(object);
  if (model == nullptr) throw nb::type_error("a Model is needed");
  return model;
}

GeneratorHandle make_generator(const nb::object& model, const Pairs& pairs, const Pairs& texts) {
  const Options options(pairs);
  const Options text(texts);
  const ondine_model* const read = required(model);
  ondine_generator* made = nullptr;
  run([&] { return ondine_generator_new(read, options.list(), text.list(), &made); });
  return GeneratorHandle(made);
}

std::string generate(const GeneratorHandle& self, const std::string& prompt, nb::object on_text) {
  Listener to(std::move(on_text));
  return text(to.raised, [&](char** report) {
    return ondine_generator_generate(self.get(), prompt.data(), prompt.size(), Listener::hear, &to,
                                     report);
  });
}

std::string generate_after(const GeneratorHandle& self, const std::vector<std::int64_t>& tokens,
                           nb::object on_text) {
  Listener to(std::move(on_text));
  return text(to.raised, [&](char** report) {
    return ondine_generator_generate_after(self.get(), tokens.data(), tokens.size(), Listener::hear,
                                           &to, report);
  });
}

std::string answer(const GeneratorHandle& self, const Messages& messages, nb::object on_text) {
  Listener to(std::move(on_text));
  std::vector<ondine_message> all;
  for (const auto& [role, content] : messages) all.push_back({role.c_str(), content.c_str()});
  return text(to.raised, [&](char** report) {
    return ondine_generator_answer(self.get(), all.data(), all.size(), Listener::hear, &to, report);
  });
}

nb::object encode(const GeneratorHandle& self, const std::string& text) {
  ondine_value* tokens = nullptr;
  check(ondine_generator_encode(self.get(), text.data(), text.size(), &tokens));
  return to_python(Value(tokens));
}

nb::str decode(const GeneratorHandle& self, const std::vector<std::int64_t>& tokens) {
  char* made = nullptr;
  std::size_t length = 0;
  check(ondine_generator_decode(self.get(), tokens.data(), tokens.size(), &made, &length));
  const nb::str text = text_of({made, length});
  ondine_free(made);
  return text;
}

nb::object with_adapters(const nb::object& base, const Folders& folders, const Pairs& pairs) {
  const Options load(pairs);
  const ondine_model* const read = required(base);
  std::vector<ondine_adapter_folder> all;
  for (const auto& [folder, weight, name] : folders) {
    all.push_back({folder.c_str(), weight, name.empty() ? nullptr : name.c_str()});
  }
  ondine_model* made = nullptr;
  run([&] { return ondine_model_with_adapters(read, all.data(), all.size(), load.list(), &made); });
  return new_model(made);
}

// None for a model without privacy.
nb::object privacy(const nb::object& model) {
  int is_private = 0;
  double clip = 0;
  double noise = 0;
  std::uint64_t size = 0;
  check(ondine_model_privacy(required(model), &is_private, &clip, &noise, &size));
  if (is_private == 0) return nb::none();
  return nb::make_tuple(clip, noise, size);
}

double epsilon(const Steps& spent, double delta) {
  std::vector<ondine_private_steps> all;
  for (const auto& [noise, rate, steps] : spent) all.push_back({noise, rate, steps});
  double result = 0;
  check(ondine_privacy_epsilon(all.data(), all.size(), delta, &result));
  return result;
}

double noise_for(double epsilon, double delta, double rate, std::uint64_t steps) {
  double result = 0;
  check(ondine_privacy_noise(epsilon, delta, rate, steps, &result));
  return result;
}

}  // namespace

void bind_language(nb::module_& module) {
  nb::class_<GeneratorHandle> generator(module, "Generator");
  module.def("make_generator", make_generator);
  generator.def("generate", generate, nb::arg(), nb::arg().none());
  generator.def("generate_after", generate_after, nb::arg(), nb::arg().none());
  generator.def("answer", answer, nb::arg(), nb::arg().none());
  generator.def("encode", encode);
  generator.def("decode", decode);
  module.def("import_hugging_face", [](const std::string& folder, const std::string& output,
                                       const Pairs& pairs) {
    const Options options(pairs);
    return text([&](char** to) {
      return ondine_import_hugging_face(folder.c_str(), output.c_str(), options.list(), to);
    });
  });
  module.def("adapters", [](const nb::object& model) {
    return text([&](char** to) { return ondine_model_adapters(required(model), to); });
  });
  module.def("save_adapters", [](const nb::object& model, const std::string& folder) {
    const ondine_model* const from = required(model);
    run([&] { return ondine_model_save_adapters(from, folder.c_str()); });
  });
  module.def("load_adapters", [](const nb::object& model, const std::string& folder) {
    auto* const to = const_cast<ondine_model*>(required(model));
    run([&] { return ondine_model_load_adapters(to, folder.c_str()); });
  });
  module.def("with_adapters", with_adapters);
  module.def("privacy", privacy);
  module.def("epsilon", epsilon);
  module.def("noise_for", noise_for);
}

}  // namespace ondine::python
