// Functions of the C interface for a federation node's answers to messages.
#include <nlohmann/json.hpp>

#include <cmath>

#include "bindings/c/call.h"
#include "bindings/c/json.h"
#include "bindings/c/objects.h"

using namespace ondine;     // NOLINT
using namespace ondine::c;  // NOLINT

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* worker_in_messages = "worker";

FederatedValue value_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return {};
}

// Error(mismatch) for a text that is no JSON object.
FederatedRecord settings_in(const char* text) {
  FederatedRecord settings;
  if (text == nullptr) return settings;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw Error(ErrorCode::mismatch, "the settings are no JSON object");
  for (const auto& [name, value] : json.items()) settings.emplace_back(name, value_of(value));
  return settings;
}

FederatedOptions options_of(const Model& model, const ondine_option* training,
                            const ondine_option* federation) {
  FederatedOptions result = federated_options(options_in(federation));
  result.trainer = trainer_options_in(model, training);
  return result;
}

// Nothing for any time.
std::optional<std::chrono::milliseconds> time_of(double seconds) {
  constexpr double longest = 1e12;
  if (std::isnan(seconds)) throw Error(ErrorCode::mismatch, "the seconds are no number");
  if (seconds < 0 || seconds > longest) return {};
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

}  // namespace

ondine_error* ondine_federated_worker_new(const ondine_model* model, const ondine_dataset* dataset,
                                          const ondine_option* options,
                                          const ondine_option* federation,
                                          ondine_federated_worker** worker) {
  return guard([&] {
    require(worker, "worker");
    const auto object = get(model);
    New<ondine_federated_worker> made(FederatedWorker(
        object->model, *get(dataset), options_of(object->model, options, federation)));
    *worker = made.release();
  });
}

ondine_error* ondine_federated_worker_on_wait(ondine_federated_worker* worker,
                                              ondine_wait_callback callback, void* user) {
  return guard([&] {
    const auto object = get(worker);
    const auto scope = object->calls.begin(worker_in_messages);
    std::function<bool()> goes_on;
    if (callback != nullptr) goes_on = [callback, user] { return callback(user) == 0; };
    object->worker.on_wait(std::move(goes_on));
  });
}

ondine_error* ondine_federated_worker_answer(ondine_federated_worker* worker, const char* type,
                                             const ondine_values* arrays, const char* settings,
                                             double seconds, ondine_values** trained,
                                             char** answer) {
  return guard([&] {
    require(answer, "answer");
    const auto object = get(worker);
    const auto scope = object->calls.begin(worker_in_messages);
    FederatedRequest request{text_in(type, "type"), {}, settings_in(settings), time_of(seconds)};
    if (arrays != nullptr) request.arrays = get(arrays)->copy();
    NewValues values;
    FederatedAnswer made = object->worker.answer(request);
    const std::string json = federated_json(made);
    values.set(std::move(made.arrays));
    *answer = copy_text(json);
    values.give(trained);
  });
}

void ondine_federated_worker_free(ondine_federated_worker* worker) { close(worker); }
