// State, checkpoints, weights and exports of models.
#include <algorithm>
#include <span>

#include <ondine/weights.h>

#include "bindings/c/call.h"
#include "bindings/c/json.h"
#include "bindings/c/objects.h"

using namespace ondine;     // NOLINT
using namespace ondine::c;  // NOLINT

namespace {

WeightSet set_of(int all) { return all != 0 ? WeightSet::all : WeightSet::weights; }

std::filesystem::path path(const char* file) { return text_in(file, "file"); }

// float32 weights.
std::size_t parameter_count(const Model& model) {
  std::size_t count = 0;
  for (const StateInfo& info : model.state()) {
    const bool counts = info.role == StateRole::weight && info.dtype == DType::float32;
    if (counts) count += static_cast<std::size_t>(info.shape.size());
  }
  return count;
}

void give_bytes(const std::vector<std::byte>& made, void** bytes, size_t* size) {
  *bytes = copy_bytes(made.data(), made.size());
  *size = made.size();
}

}  // namespace

ondine_error* ondine_model_get_learning_rate(const ondine_model* model, size_t algorithm,
                                             float* rate) {
  return guard([&] {
    require(rate, "rate");
    *rate = get(model)->model.learning_rate(algorithm);
  });
}

ondine_error* ondine_model_set_learning_rate(ondine_model* model, size_t algorithm, float rate) {
  return guard([&] { get(model)->model.set_learning_rate(rate, algorithm); });
}

ondine_error* ondine_model_get_state(const ondine_model* model, const char* name,
                                     ondine_value** value) {
  return guard([&] {
    require(value, "value");
    New<ondine_value> made(get(model)->model.get_state(text_in(name, "name")));
    *value = made.release();
  });
}

ondine_error* ondine_model_set_state(ondine_model* model, const ondine_values* values) {
  return guard([&] {
    const auto object = get(model);
    object->changeable().set_state(get(values)->copy());
  });
}

ondine_error* ondine_model_parameter_count(const ondine_model* model, size_t* count) {
  return guard([&] {
    require(count, "count");
    *count = parameter_count(get(model)->model);
  });
}

ondine_error* ondine_model_get_parameters(const ondine_model* model, float* numbers, size_t count) {
  return guard([&] {
    const std::vector<float> all = get(model)->model.parameters();
    if (all.size() != count) {
      throw Error(ErrorCode::mismatch, "the model has " + std::to_string(all.size()) +
                                           " parameters, there is room for " +
                                           std::to_string(count));
    }
    if (count > 0) require(numbers, "numbers");
    std::copy(all.begin(), all.end(), numbers);
  });
}

ondine_error* ondine_model_set_parameters(ondine_model* model, const float* numbers, size_t count) {
  return guard([&] {
    if (count > 0) require(numbers, "numbers");
    get(model)->changeable().set_parameters({numbers, count});
  });
}

ondine_error* ondine_model_take_averages(ondine_model* model) {
  return guard([&] { take_averages(get(model)->changeable()); });
}

ondine_error* ondine_model_save_checkpoint(const ondine_model* model, const char* file) {
  return guard([&] { get(model)->model.save_checkpoint(path(file)); });
}

ondine_error* ondine_model_restore_checkpoint(ondine_model* model, const char* file,
                                              char** report) {
  return guard([&] {
    const RestoreReport made = get(model)->changeable().restore_checkpoint(path(file));
    if (report != nullptr) *report = copy_text(restore_json(made));
  });
}

ondine_error* ondine_has_checkpoint(const char* file, int* found) {
  return guard([&] {
    require(found, "found");
    *found = has_checkpoint(path(file)) ? 1 : 0;
  });
}

ondine_error* ondine_model_export_inference(const ondine_model* model, const char* file,
                                            const ondine_option* given) {
  return guard(
      [&] { get(model)->model.export_inference(path(file), export_options(options_in(given))); });
}

ondine_error* ondine_model_export_training(const ondine_model* model, const char* file,
                                           const ondine_option* given) {
  return guard(
      [&] { get(model)->model.export_training(path(file), export_options(options_in(given))); });
}

ondine_error* ondine_model_export_inference_bytes(const ondine_model* model, void** bytes,
                                                  size_t* size) {
  return guard([&] {
    require(bytes, "bytes");
    require(size, "size");
    give_bytes(get(model)->model.export_inference(), bytes, size);
  });
}

ondine_error* ondine_model_export_training_bytes(const ondine_model* model, void** bytes,
                                                 size_t* size) {
  return guard([&] {
    require(bytes, "bytes");
    require(size, "size");
    give_bytes(get(model)->model.export_training(), bytes, size);
  });
}

ondine_error* ondine_model_save_weights(const ondine_model* model, const char* file, int all) {
  return guard([&] { save_weights(get(model)->model, path(file), set_of(all)); });
}

ondine_error* ondine_model_load_weights(ondine_model* model, const char* file, int all,
                                        char** report) {
  return guard([&] {
    const WeightReport made = load_weights(get(model)->changeable(), path(file), set_of(all));
    if (report != nullptr) *report = copy_text(weights_json(made));
  });
}
