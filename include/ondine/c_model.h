/* Models in C. Included by <ondine/c.h>, which states what holds for all functions. */
#ifndef ONDINE_C_MODEL_H
#define ONDINE_C_MODEL_H

#include <ondine/c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Gives `length` bytes of the external data `location` from `offset` on; not 0 where it cannot. */
typedef int (*ondine_external_data_callback)(void* user, const char* location, uint64_t offset,
                                             uint64_t length, void* bytes);
/* `fraction` of a call that is done; not 0 to end it with ONDINE_CANCELLED. At most about every
   10 ms. */
typedef int (*ondine_progress_callback)(void* user, double fraction);
typedef void (*ondine_text_callback)(void* user, const char* text);

/* ---- making models ---- */

/* `options`: group load. */
ONDINE_C_API ondine_error* ondine_model_load(const char* file, const ondine_option* options,
                                             ondine_model** model);
/* The bytes are not needed afterwards. `external` gives what the model keeps outside; may be NULL.
 */
ONDINE_C_API ondine_error* ondine_model_load_bytes(const void* bytes, size_t size,
                                                   ondine_external_data_callback external,
                                                   void* user, const ondine_option* options,
                                                   ondine_model** model);
/* An inference model with its training information, initialized and ready to train. `options`:
   group prepare; `load`: group load. `report` may be NULL: JSON, prepare report. */
ONDINE_C_API ondine_error* ondine_prepare(const char* file, const ondine_option* options,
                                          const ondine_option* load, ondine_model** model,
                                          char** report);
ONDINE_C_API ondine_error* ondine_prepare_bytes(const void* bytes, size_t size,
                                                const ondine_option* options,
                                                const ondine_option* load, ondine_model** model,
                                                char** report);
/* Prepares a loaded model with its present weights. */
ONDINE_C_API ondine_error* ondine_prepare_model(const ondine_model* source,
                                                const ondine_option* options,
                                                const ondine_option* load, ondine_model** model,
                                                char** report);
/* Artifacts of onnxruntime-training (docs/from-onnxruntime-training.md). `checkpoint`: one that was
   saved during training; NULL: that of the folder. `labels`: inputs that only the loss reads; NULL:
   found. `load`: group load. `report` may be NULL: JSON, artifacts report. */
ONDINE_C_API ondine_error* ondine_import_ort(const char* folder, const char* checkpoint,
                                             const char* const* labels, const ondine_option* load,
                                             ondine_model** model, char** report);
/* A model of its own with the present state. Not while another thread trains. */
ONDINE_C_API ondine_error* ondine_model_clone(const ondine_model* model, ondine_model** clone);
/* All findings on a model: JSON, a list of texts that is empty when it loads with strict=true. */
ONDINE_C_API ondine_error* ondine_check(const char* file, const ondine_option* options,
                                        char** json);
ONDINE_C_API void ondine_model_free(ondine_model* model);

/* ---- what a model is ---- */

/* Inputs, outputs, algorithms, state, metadata, warnings, seed, steps: JSON, model description. */
ONDINE_C_API ondine_error* ondine_model_describe(const ondine_model* model, char** json);
/* SHA-256 of the model without the values of its state, in hexadecimal. */
ONDINE_C_API ondine_error* ondine_model_fingerprint(const ondine_model* model, char** text);
/* Training steps since the model was loaded or initialized. */
ONDINE_C_API ondine_error* ondine_model_steps(const ondine_model* model, uint64_t* steps);
/* The printed form of a stage: model, graph, training, gradient, optimized, plan. */
ONDINE_C_API ondine_error* ondine_model_inspect(const ondine_model* model, const char* stage,
                                                size_t algorithm, char** text);
/* Memory that a call with these feeds takes: JSON, plan. algorithm -1: of ondine_model_infer. */
ONDINE_C_API ondine_error* ondine_model_plan(const ondine_model* model, const ondine_values* feeds,
                                             int64_t algorithm, const char* const* fetches,
                                             char** json);

/* ---- calls ---- */

ONDINE_C_API ondine_error* ondine_model_initialize(ondine_model* model, uint64_t seed);
/* One step of training algorithm `algorithm`, 0 for the first. `fetches`: outputs that are wanted;
   NULL: those of the algorithm, which may have the next value of each state variable among them.
   `results` may be NULL. With neither, nothing is computed but what updates need. */
ONDINE_C_API ondine_error* ondine_model_train_step(ondine_model* model, const ondine_values* feeds,
                                                   size_t algorithm, const char* const* fetches,
                                                   ondine_values** results);
/* Loss and metrics of a batch in evaluation mode, without updates. */
ONDINE_C_API ondine_error* ondine_model_eval_step(const ondine_model* model,
                                                  const ondine_values* feeds, size_t algorithm,
                                                  const char* const* fetches,
                                                  ondine_values** results);
ONDINE_C_API ondine_error* ondine_model_infer(const ondine_model* model, const ondine_values* feeds,
                                              const char* const* fetches, ondine_values** results);
/* The derivatives of the loss by state variables, by their names, without updates. */
ONDINE_C_API ondine_error* ondine_model_gradients(const ondine_model* model,
                                                  const ondine_values* feeds, size_t algorithm,
                                                  ondine_values** gradients);

/* ---- state ---- */

ONDINE_C_API ondine_error* ondine_model_get_learning_rate(const ondine_model* model,
                                                          size_t algorithm, float* rate);
ONDINE_C_API ondine_error* ondine_model_set_learning_rate(ondine_model* model, size_t algorithm,
                                                          float rate);
/* A copy of a state variable. */
ONDINE_C_API ondine_error* ondine_model_get_state(const ondine_model* model, const char* name,
                                                  ondine_value** value);
/* All at once or, with an error, none. */
ONDINE_C_API ondine_error* ondine_model_set_state(ondine_model* model, const ondine_values* values);
/* All float32 weights, one after the other in the order of the state. */
ONDINE_C_API ondine_error* ondine_model_parameter_count(const ondine_model* model, size_t* count);
ONDINE_C_API ondine_error* ondine_model_get_parameters(const ondine_model* model, float* numbers,
                                                       size_t count);
ONDINE_C_API ondine_error* ondine_model_set_parameters(ondine_model* model, const float* numbers,
                                                       size_t count);
/* Gives every parameter the value of its running average (option average of prepare). */
ONDINE_C_API ondine_error* ondine_model_take_averages(ondine_model* model);

/* ---- files ---- */

ONDINE_C_API ondine_error* ondine_model_save_checkpoint(const ondine_model* model,
                                                        const char* file);
/* `report` may be NULL: JSON, restore report. */
ONDINE_C_API ondine_error* ondine_model_restore_checkpoint(ondine_model* model, const char* file,
                                                           char** report);
/* Whether there is a checkpoint to restore: 1 or 0. */
ONDINE_C_API ondine_error* ondine_has_checkpoint(const char* file, int* found);
/* `options`: group export. */
ONDINE_C_API ondine_error* ondine_model_export_inference(const ondine_model* model,
                                                         const char* file,
                                                         const ondine_option* options);
ONDINE_C_API ondine_error* ondine_model_export_training(const ondine_model* model, const char* file,
                                                        const ondine_option* options);
ONDINE_C_API ondine_error* ondine_model_export_inference_bytes(const ondine_model* model,
                                                               void** bytes, size_t* size);
ONDINE_C_API ondine_error* ondine_model_export_training_bytes(const ondine_model* model,
                                                              void** bytes, size_t* size);
/* .safetensors files. `all` not 0: every state variable, not only weights. */
ONDINE_C_API ondine_error* ondine_model_save_weights(const ondine_model* model, const char* file,
                                                     int all);
/* `report` may be NULL: JSON, weight report. */
ONDINE_C_API ondine_error* ondine_model_load_weights(ondine_model* model, const char* file, int all,
                                                     char** report);

/* ---- settings; an error while another call uses the model ---- */

ONDINE_C_API ondine_error* ondine_model_set_threads(ondine_model* model, int threads);
/* Every call that takes longer fails with ONDINE_LIMIT; below 0 for none. */
ONDINE_C_API ondine_error* ondine_model_set_deadline(ondine_model* model, int64_t milliseconds);
/* NULL for none. */
ONDINE_C_API ondine_error* ondine_model_set_cancel(ondine_model* model,
                                                   const ondine_cancel* cancel);
ONDINE_C_API ondine_error* ondine_model_set_progress(ondine_model* model,
                                                     ondine_progress_callback callback, void* user);
/* Called at once with each warning that is known, later with each that a call finds. */
ONDINE_C_API ondine_error* ondine_model_set_warning_callback(ondine_model* model,
                                                             ondine_text_callback callback,
                                                             void* user);
ONDINE_C_API ondine_error* ondine_model_set_profiling(ondine_model* model, int on);
/* Seconds by operator since profiling was switched on: JSON, profile. */
ONDINE_C_API ondine_error* ondine_model_profile(const ondine_model* model, char** json);

#ifdef __cplusplus
}
#endif

#endif
