// From a model and data to a tuned model, and new networks.
#include <ondine/finetune.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/call.h"
#include "bindings/c/json.h"
#include "bindings/c/objects.h"

using namespace ondine;     // NOLINT
using namespace ondine::c;  // NOLINT

namespace {

// Throws Error(mismatch) where the caller gave both.
void require_one(bool first, bool second, const char* names) {
  if (first && second) {
    throw Error(ErrorCode::mismatch, std::string(names) + " exclude each other");
  }
}

FinetuneModel model_of(const ondine_finetune_run& run, std::shared_ptr<ModelObject>& kept) {
  require_one(run.file != nullptr, run.bytes != nullptr || run.size > 0, "file and bytes");
  require_one(run.file != nullptr, run.model != nullptr, "file and model");
  require_one(run.bytes != nullptr || run.size > 0, run.model != nullptr, "bytes and model");
  if (run.file != nullptr) return {run.file};
  if (run.model != nullptr) return {(kept = get(run.model))->model};
  if (run.bytes == nullptr && run.size == 0) return {};
  require(run.bytes, "bytes");
  const auto* const first = static_cast<const std::byte*>(run.bytes);
  return std::vector<std::byte>(first, first + run.size);
}

FinetuneData data_of(const char* const* places, const ondine_dataset* dataset, const char* names) {
  require_one(places != nullptr, dataset != nullptr, names);
  if (dataset != nullptr) return *get(dataset);
  const std::vector<std::string> list = names_in(places);
  if (list.empty()) return {};
  return std::vector<std::filesystem::path>(list.begin(), list.end());
}

FinetuneOptions options_of(const ondine_finetune_run& run) {
  FinetuneOptions result = finetune_options(options_in(run.options));
  const OptionValues reading = options_in(run.data_options);
  if (!reading.empty() && run.places == nullptr) {
    throw Error(ErrorCode::mismatch,
                "data_options have no effect: they are for places; a data set has its own");
  }
  result.load = load_options(options_in(run.load));
  result.data = dataset_options(reading);
  result.data.deadline = result.load.deadline;
  result.validation =
      data_of(run.validation_places, run.validation, "validation_places and validation");
  if (run.output != nullptr) result.output = run.output;
  return result;
}

// The callbacks; `is_stopped` must outlive the run.
void take_callbacks(const ondine_finetune_run& run, bool& is_stopped, FinetuneOptions& options) {
  void* const user = run.user;
  if (run.on_assumed != nullptr) {
    options.on_assumed = [call = run.on_assumed, user](std::span<const std::string> lines) {
      for (const std::string& line : lines) call(user, line.c_str());
    };
  }
  if (run.on_epoch != nullptr) {
    options.on_epoch = [call = run.on_epoch, user, &is_stopped](const EpochReport& report) {
      is_stopped = call(user, epoch_json(report).c_str()) != 0 || is_stopped;
    };
  }
  if (run.on_step == nullptr && run.on_epoch == nullptr) return;
  options.on_step = [call = run.on_step, user, &is_stopped](const StepReport& report) {
    if (is_stopped) return false;
    return call == nullptr || call(user, step_json(report).c_str()) == 0;
  };
}

}  // namespace

ondine_error* ondine_finetune(const ondine_finetune_run* run, ondine_model** model, char** report) {
  return guard([&] {
    require(run, "run");
    std::shared_ptr<ModelObject> kept;
    const FinetuneModel source = model_of(*run, kept);
    const FinetuneData data = data_of(run->places, run->dataset, "places and dataset");
    FinetuneOptions options = options_of(*run);
    bool is_stopped = false;
    take_callbacks(*run, is_stopped, options);
    FinetuneReport made = finetune(source, data, options);
    if (model == nullptr) {
      if (report != nullptr) *report = copy_text(finetune_json(made));
      return;
    }
    New<ondine_model> handle(std::move(made.model.value()));
    if (report != nullptr) *report = copy_text(finetune_json(made));
    *model = handle.release();
  });
}

ondine_error* ondine_new_network(const char* kind, const ondine_dataset* dataset,
                                 const ondine_option* given, void** bytes, size_t* size,
                                 char** description) {
  return guard([&] {
    require(bytes, "bytes");
    require(size, "size");
    const auto data = get(dataset);
    const NetworkOptions options = network_options(options_in(given));
    const NewNetwork made = kind == nullptr
                                ? new_network(*data, options)
                                : new_network(network_kind_from_name(kind), *data, options);
    std::unique_ptr<char, void (*)(void*)> text(
        description == nullptr ? nullptr : copy_text(made.description), ondine_free);
    *bytes = copy_bytes(made.model.data(), made.model.size());
    *size = made.model.size();
    if (description != nullptr) *description = text.release();
  });
}
