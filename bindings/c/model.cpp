// Making models, what they are, their calls and settings.
#include <cstring>
#include <span>

#include <ondine/version.h>

#include "bindings/c/call.h"
#include "bindings/c/json.h"
#include "bindings/c/objects.h"

using namespace ondine;     // NOLINT
using namespace ondine::c;  // NOLINT

namespace {

std::span<const std::byte> bytes_of(const void* bytes, size_t size) {
  if (size > 0) require(bytes, "bytes");
  return {static_cast<const std::byte*>(bytes), size};
}

void give(Model made, ondine_model** model) {
  New<ondine_model> handle(std::move(made));
  *model = handle.release();
}

// `to` may be null: nobody wants the text.
void give_text(const std::string& text, char** to) {
  if (to != nullptr) *to = copy_text(text);
}

ExternalDataReader reader_of(ondine_external_data_callback callback, void* user) {
  if (callback == nullptr) return {};
  return [callback, user](const ExternalDataRequest& request) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(request.length));
    const int failed =
        callback(user, request.location.c_str(), request.offset, request.length, bytes.data());
    if (failed != 0) {
      throw Error(ErrorCode::not_found,
                  "the caller has no external data '" + request.location + "'");
    }
    return bytes;
  };
}

template <class Source>
ondine_error* prepared(const Source& source, const ondine_option* given, const ondine_option* load,
                       ondine_model** model, char** report) {
  return guard([&] {
    require(model, "model");
    const auto& from = source();
    const PrepareOptions prepare_by = prepare_options(options_in(given));
    const LoadOptions load_by = load_options(options_in(load));
    PrepareReport made;
    New<ondine_model> handle(prepare(from, prepare_by, load_by, &made));
    give_text(report == nullptr ? std::string() : prepare_json(made), report);
    *model = handle.release();
  });
}

}  // namespace

const char* ondine_version(void) { return version(); }

int ondine_abi_version(void) { return ONDINE_ABI_VERSION; }

ondine_error* ondine_options_json(char** json) {
  return guard([&] {
    require(json, "json");
    *json = copy_text(options_json());
  });
}

ondine_error* ondine_model_load(const char* file, const ondine_option* given,
                                ondine_model** model) {
  return guard([&] {
    require(model, "model");
    give(Model::load(std::filesystem::path(text_in(file, "file")), load_options(options_in(given))),
         model);
  });
}

ondine_error* ondine_model_load_bytes(const void* bytes, size_t size,
                                      ondine_external_data_callback external, void* user,
                                      const ondine_option* given, ondine_model** model) {
  return guard([&] {
    require(model, "model");
    LoadOptions load = load_options(options_in(given));
    load.external_data = reader_of(external, user);
    give(Model::load(bytes_of(bytes, size), load), model);
  });
}

ondine_error* ondine_prepare(const char* file, const ondine_option* given,
                             const ondine_option* load, ondine_model** model, char** report) {
  std::filesystem::path path;
  return prepared(
      [&]() -> const auto& { return path = text_in(file, "file"); }, given, load, model, report);
}

ondine_error* ondine_prepare_bytes(const void* bytes, size_t size, const ondine_option* given,
                                   const ondine_option* load, ondine_model** model, char** report) {
  std::span<const std::byte> span;
  return prepared(
      [&]() -> const auto& { return span = bytes_of(bytes, size); }, given, load, model, report);
}

ondine_error* ondine_prepare_model(const ondine_model* source, const ondine_option* given,
                                   const ondine_option* load, ondine_model** model, char** report) {
  std::shared_ptr<ModelObject> object;
  return prepared(
      [&]() -> const auto& { return (object = get(source))->model; }, given, load, model, report);
}

ondine_error* ondine_import_ort(const char* folder, const char* checkpoint,
                                const char* const* labels, const ondine_option* load,
                                ondine_model** model, char** report) {
  return guard([&] {
    require(model, "model");
    ImportOrtOptions options;
    if (checkpoint != nullptr) options.checkpoint = checkpoint;
    options.labels = names_in(labels);
    ImportOrtReport made;
    New<ondine_model> handle(
        import_ort(text_in(folder, "folder"), options, load_options(options_in(load)), &made));
    give_text(report == nullptr ? std::string() : artifacts_json(made), report);
    *model = handle.release();
  });
}

ondine_error* ondine_model_clone(const ondine_model* model, ondine_model** clone) {
  return guard([&] {
    require(clone, "clone");
    give(get(model)->model.clone(), clone);
  });
}

ondine_error* ondine_check(const char* file, const ondine_option* given, char** json) {
  return guard([&] {
    require(json, "json");
    *json =
        copy_text(texts_json(check_model(text_in(file, "file"), load_options(options_in(given)))));
  });
}

void ondine_model_free(ondine_model* model) { close(model); }

ondine_error* ondine_model_describe(const ondine_model* model, char** json) {
  return guard([&] {
    require(json, "json");
    *json = copy_text(model_json(get(model)->model));
  });
}

ondine_error* ondine_model_fingerprint(const ondine_model* model, char** text) {
  return guard([&] {
    require(text, "text");
    *text = copy_text(get(model)->model.fingerprint());
  });
}

ondine_error* ondine_model_steps(const ondine_model* model, uint64_t* steps) {
  return guard([&] {
    require(steps, "steps");
    *steps = get(model)->model.steps();
  });
}

ondine_error* ondine_model_inspect(const ondine_model* model, const char* stage, size_t algorithm,
                                   char** printed) {
  return guard([&] {
    require(printed, "text");
    *printed = copy_text(get(model)->model.inspect(text_in(stage, "stage"), algorithm));
  });
}

ondine_error* ondine_model_plan(const ondine_model* model, const ondine_values* feeds,
                                int64_t algorithm, const char* const* fetches, char** json) {
  return guard([&] {
    require(json, "json");
    const auto object = get(model);
    std::optional<std::size_t> step;
    if (algorithm >= 0) step = static_cast<std::size_t>(algorithm);
    *json = copy_text(plan_json(object->model.plan(get(feeds)->copy(), step, names_in(fetches))));
  });
}

ondine_error* ondine_model_initialize(ondine_model* model, uint64_t seed) {
  return guard([&] { get(model)->changeable().initialize(seed); });
}

ondine_error* ondine_model_train_step(ondine_model* model, const ondine_values* feeds,
                                      size_t algorithm, const char* const* fetches,
                                      ondine_values** results) {
  return guard([&] {
    const auto object = get(model);
    if (results == nullptr && fetches == nullptr) {
      object->changeable().train_step_into(get(feeds)->copy(), algorithm, {});
      return;
    }
    NewValues made;
    made.set(object->changeable().train_step(get(feeds)->copy(), algorithm, names_in(fetches)));
    made.give(results);
  });
}

ondine_error* ondine_model_eval_step(const ondine_model* model, const ondine_values* feeds,
                                     size_t algorithm, const char* const* fetches,
                                     ondine_values** results) {
  return guard([&] {
    require(results, "results");
    const auto object = get(model);
    NewValues made;
    made.set(object->model.eval_step(get(feeds)->copy(), algorithm, names_in(fetches)));
    made.give(results);
  });
}

ondine_error* ondine_model_infer(const ondine_model* model, const ondine_values* feeds,
                                 const char* const* fetches, ondine_values** results) {
  return guard([&] {
    require(results, "results");
    const auto object = get(model);
    NewValues made;
    made.set(object->model.infer(get(feeds)->copy(), names_in(fetches)));
    made.give(results);
  });
}

ondine_error* ondine_model_gradients(const ondine_model* model, const ondine_values* feeds,
                                     size_t algorithm, ondine_values** gradients) {
  return guard([&] {
    require(gradients, "gradients");
    const auto object = get(model);
    NewValues made;
    made.set(object->model.gradients(get(feeds)->copy(), algorithm));
    made.give(gradients);
  });
}

ondine_error* ondine_model_set_threads(ondine_model* model, int threads) {
  return guard([&] { get(model)->model.set_threads(threads); });
}

ondine_error* ondine_model_set_deadline(ondine_model* model, int64_t milliseconds) {
  return guard([&] {
    std::optional<std::chrono::milliseconds> deadline;
    if (milliseconds >= 0) deadline.emplace(milliseconds);
    get(model)->model.set_deadline(deadline);
  });
}

ondine_error* ondine_model_set_cancel(ondine_model* model, const ondine_cancel* cancel) {
  return guard(
      [&] { get(model)->model.set_cancel_flag(cancel == nullptr ? nullptr : get(cancel)->flag); });
}

ondine_error* ondine_model_set_progress(ondine_model* model, ondine_progress_callback callback,
                                        void* user) {
  return guard([&] {
    ProgressCallback progress;
    if (callback != nullptr) {
      progress = [callback, user](double fraction) { return callback(user, fraction) == 0; };
    }
    get(model)->model.set_progress(std::move(progress));
  });
}

ondine_error* ondine_model_set_warning_callback(ondine_model* model, ondine_text_callback callback,
                                                void* user) {
  return guard([&] {
    WarningCallback warn;
    if (callback != nullptr) {
      warn = [callback, user](const std::string& warning) { callback(user, warning.c_str()); };
    }
    get(model)->model.set_warning_callback(std::move(warn));
  });
}

ondine_error* ondine_model_set_profiling(ondine_model* model, int on) {
  return guard([&] { get(model)->model.set_profiling(on != 0); });
}

ondine_error* ondine_model_profile(const ondine_model* model, char** json) {
  return guard([&] {
    require(json, "json");
    *json = copy_text(profile_json(get(model)->model.profile()));
  });
}
