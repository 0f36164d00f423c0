// Objects behind the handles of the C interface.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <ondine/c.h>
#include <ondine/data.h>
#include <ondine/error.h>
#include <ondine/federated_worker.h>
#include <ondine/generate.h>
#include <ondine/model.h>
#include <ondine/trainer.h>

#include "bindings/c/handles.h"

namespace ondine::c {

struct ValuesObject {
  std::mutex mutex;
  NamedValues values;

  NamedValues copy() {
    const std::lock_guard lock(mutex);
    return values;
  }
};

// An object for one call at a time.
class OneCall {
 public:
  class Scope {
   public:
    explicit Scope(std::atomic<bool>& busy) noexcept : busy_(&busy) {}
    ~Scope() { busy_->store(false); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::atomic<bool>* busy_;
  };
  // Error(mismatch) while another call uses it.
  Scope begin(const char* name) {
    if (busy_.exchange(true)) {
      throw Error(ErrorCode::mismatch, std::string("another call uses the ") + name);
    }
    return Scope(busy_);
  }
  bool is_busy() const noexcept { return busy_; }

 private:
  std::atomic<bool> busy_{false};
};

struct ModelObject {
  explicit ModelObject(Model made) : model(std::move(made)) {}
  // For calls that change the state. Error(mismatch) while a trainer runs, whose numbers would be
  // others.
  Model& changeable() {
    if (training.is_busy()) {
      throw Error(ErrorCode::mismatch,
                  "a trainer runs on the model: nothing else may change its state meanwhile");
    }
    return model;
  }

  Model model;
  OneCall training;  // of a trainer
};

struct BatchesObject {
  OneCall calls;
  std::optional<Batches> batches;
  std::optional<Batches::iterator> next;
};

struct TrainerObject {
  TrainerObject(std::shared_ptr<ModelObject> trained, TrainerOptions options)
      : model(std::move(trained)), trainer(model->model, std::move(options)) {}
  std::shared_ptr<ModelObject> model;
  Trainer trainer;
  OneCall calls;
};

struct FederatedWorkerObject {
  explicit FederatedWorkerObject(FederatedWorker made) : worker(std::move(made)) {}
  FederatedWorker worker;
  OneCall calls;
};

struct GeneratorObject {
  GeneratorObject(std::shared_ptr<ModelObject> read, GenerateOptions options)
      : model(std::move(read)), generator(model->model, std::move(options)) {}
  std::shared_ptr<ModelObject> model;
  Generator generator;
};

struct CancelObject {
  std::shared_ptr<CancelFlag> flag = std::make_shared<CancelFlag>(false);
};

}  // namespace ondine::c

ONDINE_HANDLE(ondine_value, ondine::Value, value)
ONDINE_HANDLE(ondine_values, ondine::c::ValuesObject, values)
ONDINE_HANDLE(ondine_model, ondine::c::ModelObject, model)
ONDINE_HANDLE(ondine_dataset, ondine::Dataset, dataset)
ONDINE_HANDLE(ondine_batches, ondine::c::BatchesObject, batches)
ONDINE_HANDLE(ondine_trainer, ondine::c::TrainerObject, trainer)
ONDINE_HANDLE(ondine_federated_worker, ondine::c::FederatedWorkerObject, federated_worker)
ONDINE_HANDLE(ondine_generator, ondine::c::GeneratorObject, generator)
ONDINE_HANDLE(ondine_cancel, ondine::c::CancelObject, cancel)

namespace ondine::c {

// Options of the group train for a loop over the model, whose seed is that of the order of rows.
TrainerOptions trainer_options_in(const Model& model, const ondine_option* given);

// A list of values that a call returns.
class NewValues {
 public:
  void set(NamedValues values) { made_->values = std::move(values); }
  // `to` may be null: nobody wants them.
  void give(ondine_values** to) noexcept {
    if (to != nullptr) *to = made_.release();
  }

 private:
  New<ondine_values> made_;
};

}  // namespace ondine::c
