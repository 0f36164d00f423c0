// Adapters beside the weights of a model, and privacy.
#include <ondine/adapters.h>
#include <ondine/privacy.h>

#include <span>
#include <vector>

#include "bindings/c/call.h"
#include "bindings/c/json.h"
#include "bindings/c/objects.h"

using namespace ondine;     // NOLINT
using namespace ondine::c;  // NOLINT

namespace {

std::vector<AdapterFolder> folders_of(const ondine_adapter_folder* folders, size_t count) {
  if (count > 0) require(folders, "folders");
  std::vector<AdapterFolder> all;
  for (const ondine_adapter_folder& one : std::span(folders, count)) {
    all.push_back({text_in(one.folder, "folder"), one.weight, one.name == nullptr ? "" : one.name});
  }
  return all;
}

}  // namespace

ondine_error* ondine_model_adapters(const ondine_model* model, char** json) {
  return guard([&] {
    require(json, "json");
    *json = copy_text(adapters_json(adapters(get(model)->model)));
  });
}

ondine_error* ondine_model_save_adapters(const ondine_model* model, const char* folder) {
  return guard([&] { save_adapters(get(model)->model, text_in(folder, "folder")); });
}

ondine_error* ondine_model_load_adapters(ondine_model* model, const char* folder) {
  return guard([&] { load_adapters(get(model)->changeable(), text_in(folder, "folder")); });
}

ondine_error* ondine_model_with_adapters(const ondine_model* base,
                                         const ondine_adapter_folder* folders, size_t count,
                                         const ondine_option* load, ondine_model** model) {
  return guard([&] {
    require(model, "model");
    New<ondine_model> made(with_adapters(get(base)->model, folders_of(folders, count),
                                         load_options(options_in(load))));
    *model = made.release();
  });
}

ondine_error* ondine_model_privacy(const ondine_model* model, int* is_private, double* clip,
                                   double* noise, uint64_t* batch_size) {
  return guard([&] {
    const std::optional<Privacy> settings = privacy_of(get(model)->model);
    if (is_private != nullptr) *is_private = settings ? 1 : 0;
    if (!settings) return;
    if (clip != nullptr) *clip = static_cast<double>(settings->clip);
    if (noise != nullptr) *noise = static_cast<double>(settings->noise);
    if (batch_size != nullptr) *batch_size = settings->batch_size;
  });
}

ondine_error* ondine_privacy_epsilon(const ondine_private_steps* spent, size_t count, double delta,
                                     double* epsilon) {
  return guard([&] {
    require(epsilon, "epsilon");
    if (count > 0) require(spent, "spent");
    PrivacyAccountant accountant;
    for (const ondine_private_steps& one : std::span(spent, count)) {
      accountant.add(one.noise, one.rate, one.steps);
    }
    *epsilon = accountant.epsilon(delta);
  });
}

ondine_error* ondine_privacy_noise(double epsilon, double delta, double rate, uint64_t steps,
                                   double* noise) {
  return guard([&] {
    require(noise, "noise");
    *noise = noise_for(epsilon, delta, rate, steps);
  });
}
