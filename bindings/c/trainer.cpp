// The training loop and evaluation.
#include <ondine/trainer.h>

#include "bindings/c/call.h"
#include "bindings/c/json.h"
#include "bindings/c/objects.h"

using namespace ondine;     // NOLINT
using namespace ondine::c;  // NOLINT

namespace {

constexpr const char* name_in_messages = "trainer";

// Values that a callback sees until it returns.
class Lent {
 public:
  explicit Lent(NamedValues values) { made_->values = std::move(values); }
  ~Lent() { close(handle_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  const ondine_values* handle() noexcept { return handle_; }

 private:
  New<ondine_values> made_;
  ondine_values* handle_ = made_.release();
};

void require_success(int failed, const std::string& metric) {
  if (failed == 0) return;
  throw Error(ErrorCode::cancelled, "the metric '" + metric + "' failed: its callback returned " +
                                        std::to_string(failed));
}

OwnMetric metric_of(const ondine_metric& given, void* user) {
  OwnMetric metric;
  metric.name = text_in(given.name, "the name of the metric");
  metric.outputs = names_in(given.outputs);
  if (given.begin == nullptr || given.add == nullptr || given.value == nullptr) {
    throw Error(ErrorCode::mismatch, "a metric needs a name and its three functions");
  }
  metric.begin = [begin = given.begin, user] { begin(user); };
  metric.add = [add = given.add, user, name = metric.name](const Results& outputs,
                                                           std::span<const NamedValue> batch) {
    Lent results(outputs.values());
    Lent feeds(NamedValues(batch.begin(), batch.end()));
    require_success(add(user, results.handle(), feeds.handle()), name);
  };
  metric.value = [value = given.value, user, name = metric.name] {
    double result = 0;
    require_success(value(user, &result), name);
    return result;
  };
  return metric;
}

}  // namespace

TrainerOptions ondine::c::trainer_options_in(const Model& model, const ondine_option* given) {
  const std::vector<PortInfo> inputs =
      model.algorithm_count() == 0 ? std::vector<PortInfo>() : model.algorithm(0).inputs;
  TrainerOptions result = trainer_options(options_in(given), inputs);
  result.seed = model.seed();
  return result;
}

ondine_error* ondine_trainer_new(ondine_model* model, const ondine_option* given,
                                 ondine_trainer** trainer) {
  return guard([&] {
    require(trainer, "trainer");
    const auto object = get(model);
    New<ondine_trainer> made(object, trainer_options_in(object->model, given));
    *trainer = made.release();
  });
}

ondine_error* ondine_trainer_on_step(ondine_trainer* trainer, ondine_report_callback callback,
                                     void* user) {
  return guard([&] {
    const auto object = get(trainer);
    const auto scope = object->calls.begin(name_in_messages);
    if (callback == nullptr) throw Error(ErrorCode::mismatch, "the callback is NULL");
    object->trainer.on_step([callback, user](const StepReport& report) {
      return callback(user, step_json(report).c_str()) == 0;
    });
  });
}

ondine_error* ondine_trainer_on_epoch(ondine_trainer* trainer, ondine_report_callback callback,
                                      void* user) {
  return guard([&] {
    const auto object = get(trainer);
    const auto scope = object->calls.begin(name_in_messages);
    if (callback == nullptr) throw Error(ErrorCode::mismatch, "the callback is NULL");
    Trainer* const loop = &object->trainer;
    loop->on_epoch([callback, user, loop](const EpochReport& report) {
      if (callback(user, epoch_json(report).c_str()) != 0) loop->request_stop();
    });
  });
}

ondine_error* ondine_trainer_add_metric(ondine_trainer* trainer, const ondine_metric* metric,
                                        void* user) {
  return guard([&] {
    const auto object = get(trainer);
    const auto scope = object->calls.begin(name_in_messages);
    require(metric, "metric");
    object->trainer.add_metric(metric_of(*metric, user));
  });
}

ondine_error* ondine_trainer_resume(ondine_trainer* trainer, char** report) {
  return guard([&] {
    const auto object = get(trainer);
    const auto scope = object->calls.begin(name_in_messages);
    const RestoreReport made = object->trainer.resume();
    if (report != nullptr) *report = copy_text(restore_json(made));
  });
}

ondine_error* ondine_trainer_fit(ondine_trainer* trainer, const ondine_dataset* training,
                                 const ondine_dataset* validation, char** report) {
  return guard([&] {
    const auto object = get(trainer);
    const auto scope = object->calls.begin(name_in_messages);
    const Dataset rows = *get(training);
    const auto alone = object->model->training.begin("model to train it");
    const FitReport made = validation == nullptr ? object->trainer.fit(rows)
                                                 : object->trainer.fit(rows, *get(validation));
    if (report != nullptr) *report = copy_text(fit_json(made));
  });
}

ondine_error* ondine_trainer_evaluate(ondine_trainer* trainer, const ondine_dataset* dataset,
                                      char** json) {
  return guard([&] {
    require(json, "json");
    const auto object = get(trainer);
    const auto scope = object->calls.begin(name_in_messages);
    *json = copy_text(evaluation_json(object->trainer.evaluate(*get(dataset))));
  });
}

ondine_error* ondine_trainer_request_stop(ondine_trainer* trainer) {
  return guard([&] { get(trainer)->trainer.request_stop(); });
}

void ondine_trainer_free(ondine_trainer* trainer) { close(trainer); }

ondine_error* ondine_evaluate(const ondine_model* model, const ondine_dataset* dataset,
                              const ondine_option* given, char** json) {
  return guard([&] {
    require(json, "json");
    const auto object = get(model);
    const EvaluateOptions by = evaluate_options(options_in(given), object->model.inputs());
    *json = copy_text(evaluation_json(evaluate(object->model, *get(dataset), by)));
  });
}
