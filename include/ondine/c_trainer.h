/* Data sets, the training loop, evaluation and fine-tuning in C. Included by <ondine/c.h>, which
   states what holds for all functions. */
#ifndef ONDINE_C_TRAINER_H
#define ONDINE_C_TRAINER_H

#include <ondine/c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- data ---- */

/* Purpose that data is opened for. */
enum ondine_data_use {
  ONDINE_FOR_TRAINING = 0,
  ONDINE_FOR_EVALUATION = 1,
  ONDINE_FOR_INFERENCE = 2 /* targets are not read, so that they may be missing */
};

/* Files and folders (docs/data.md). `model`: data is read as this model takes it; may be NULL.
   `use`: an ondine_data_use, for data with a model. `options`: group data. */
ONDINE_C_API ondine_error* ondine_dataset_open(const char* const* places, const ondine_model* model,
                                               int use, const ondine_option* options,
                                               ondine_dataset** dataset);
/* Tensors whose first axis counts rows; they are shared, not copied. `validation` may be NULL. */
ONDINE_C_API ondine_error* ondine_dataset_from_values(const ondine_values* training,
                                                      const ondine_values* validation,
                                                      const ondine_option* options,
                                                      ondine_dataset** dataset);
/* A column of rows that the caller makes: element type and dims of its entry in a row. */
typedef struct ondine_column {
  const char* name;
  int dtype;
  size_t rank;
  const int64_t* dims;
} ondine_column;
/* Writes the entries of row `row`, which are zeros before, in the order of the columns. Not 0 to
   fail. The same row must have the same entries whenever it is read. */
typedef int (*ondine_row_callback)(void* user, uint64_t row, void* const* entries);
/* Rows that are read when they are needed, by one thread at a time, as long as something uses the
   data set. `release`, which may be NULL, is called once when nothing does any more, from any
   thread, also where the call fails. */
ONDINE_C_API ondine_error* ondine_dataset_from_rows(const ondine_column* columns, size_t count,
                                                    uint64_t rows, ondine_row_callback read,
                                                    void (*release)(void* user), void* user,
                                                    const ondine_option* options,
                                                    ondine_dataset** dataset);
/* Rows, columns, classes, notes, ...: JSON, data description. */
ONDINE_C_API ondine_error* ondine_dataset_describe(const ondine_dataset* dataset, char** json);
ONDINE_C_API ondine_error* ondine_dataset_rows(const ondine_dataset* dataset, uint64_t* rows);
/* The training part without the validation part; the validation part, which may be empty. */
ONDINE_C_API ondine_error* ondine_dataset_training(const ondine_dataset* dataset,
                                                   ondine_dataset** part);
ONDINE_C_API ondine_error* ondine_dataset_validation(const ondine_dataset* dataset,
                                                     ondine_dataset** part);
/* The training part in two: `fraction` of the rows are the second's. */
ONDINE_C_API ondine_error* ondine_dataset_split(const ondine_dataset* dataset, double fraction,
                                                uint64_t seed, ondine_dataset** first,
                                                ondine_dataset** second);
ONDINE_C_API void ondine_dataset_free(ondine_dataset* dataset);

/* The training part in batches of `size` rows, in an order that follows from seed and epoch; with
   `shuffle` 0 in that of the data. `model`: batches are feeds for its training algorithm
   `algorithm`, or with -1 for inference; NULL: every column as it is stored. */
ONDINE_C_API ondine_error* ondine_batches_new(const ondine_dataset* dataset, uint64_t size,
                                              uint64_t seed, uint64_t epoch, int shuffle,
                                              const ondine_model* model, int64_t algorithm,
                                              ondine_batches** batches);
ONDINE_C_API ondine_error* ondine_batches_count(const ondine_batches* batches, uint64_t* count);
/* The next batch, a copy that is the caller's; NULL after the last one. */
ONDINE_C_API ondine_error* ondine_batches_next(ondine_batches* batches, ondine_values** batch);
ONDINE_C_API void ondine_batches_free(ondine_batches* batches);

/* ---- training ---- */

/* `report`: JSON, step report or epoch report. Not 0 ends the run after this step or epoch. */
typedef int (*ondine_report_callback)(void* user, const char* report);

/* A metric of validation data that the caller computes: for each evaluation begin(), add() with the
   outputs and the feeds of every batch, and value(). add() and value() return not 0 to fail. */
typedef struct ondine_metric {
  const char* name;
  void (*begin)(void* user);
  int (*add)(void* user, const ondine_values* outputs, const ondine_values* batch);
  int (*value)(void* user, double* value);
  const char* const* outputs; /* that add() reads; NULL: the first of the main graph */
} ondine_metric;

/* Keeps the model, which nothing else may train meanwhile. `options`: group train. The order of
   rows and the split follow from the seed of the model: option seed of loading, or of
   ondine_model_initialize. */
ONDINE_C_API ondine_error* ondine_trainer_new(ondine_model* model, const ondine_option* options,
                                              ondine_trainer** trainer);
/* Each call adds a callback. They may call functions of const models and
   ondine_model_set_learning_rate. */
ONDINE_C_API ondine_error* ondine_trainer_on_step(ondine_trainer* trainer,
                                                  ondine_report_callback callback, void* user);
ONDINE_C_API ondine_error* ondine_trainer_on_epoch(ondine_trainer* trainer,
                                                   ondine_report_callback callback, void* user);
/* Early stopping and schedules know the metric as "val_NAME". The struct is copied. */
ONDINE_C_API ondine_error* ondine_trainer_add_metric(ondine_trainer* trainer,
                                                     const ondine_metric* metric, void* user);
/* Restores the checkpoint of the options. `report` may be NULL: JSON, restore report. */
ONDINE_C_API ondine_error* ondine_trainer_resume(ondine_trainer* trainer, char** report);
/* Trains until all epochs are done or something stops the run. `validation` may be NULL: the
   validation part of `training`, or what the options set apart. `report` may be NULL: JSON, fit
   report. */
ONDINE_C_API ondine_error* ondine_trainer_fit(ondine_trainer* trainer,
                                              const ondine_dataset* training,
                                              const ondine_dataset* validation, char** report);
/* Loss and metrics of the training part of a data set, as of validation: JSON, evaluation. */
ONDINE_C_API ondine_error* ondine_trainer_evaluate(ondine_trainer* trainer,
                                                   const ondine_dataset* dataset, char** json);
/* Also from other threads and callbacks: a run ends before its next step, saves and returns. */
ONDINE_C_API ondine_error* ondine_trainer_request_stop(ondine_trainer* trainer);
ONDINE_C_API void ondine_trainer_free(ondine_trainer* trainer);

/* Compares an output of the model with the labels of the data: JSON, evaluation. `options`: group
   evaluate. */
ONDINE_C_API ondine_error* ondine_evaluate(const ondine_model* model, const ondine_dataset* dataset,
                                           const ondine_option* options, char** json);

/* ---- fine-tuning ---- */

/* Arguments of ondine_finetune. Members that do not apply may be NULL or 0. */
typedef struct ondine_finetune_run {
  /* The inference model, one of these: a file, the bytes of one, or a loaded model with its present
     weights. None: a new network for the data. */
  const char* file;
  const void* bytes;
  size_t size;
  const ondine_model* model;
  /* The data, one of these: files and folders, which are read as the model takes them, or a data
     set. */
  const char* const* places;
  const ondine_dataset* dataset;
  /* Validation data, one of these. None: a part of the data. */
  const char* const* validation_places;
  const ondine_dataset* validation;
  const char* output;                /* file of the tuned inference model to write */
  const ondine_option* options;      /* group finetune */
  const ondine_option* data_options; /* group data, for places */
  const ondine_option* load;         /* group load */
  ondine_text_callback on_assumed;   /* before training, with each line of what was assumed */
  ondine_report_callback on_step;    /* step report; not 0 ends the run */
  ondine_report_callback on_epoch;   /* epoch report; not 0 ends the run after the next step */
  void* user;                        /* of the callbacks */
} ondine_finetune_run;

/* From a model and data to a tuned model (docs/finetune.md): looks at both, prepares, trains,
   evaluates and writes. A run that a callback ends writes no output. `model`, which may be NULL:
   the tuned model with its training information. `report` may be NULL: JSON, finetune report. */
ONDINE_C_API ondine_error* ondine_finetune(const ondine_finetune_run* run, ondine_model** model,
                                           char** report);
/* A small network for the training part of the data, with initial weights: the bytes of an .onnx
   file. `kind`: mlp, cnn, unet, text or audio; NULL: that which fits the data. `options`: group
   network. `description`, which may be NULL: a line about the network. */
ONDINE_C_API ondine_error* ondine_new_network(const char* kind, const ondine_dataset* dataset,
                                              const ondine_option* options, void** bytes,
                                              size_t* size, char** description);

/* ---- federations ---- */

/* Not 0 ends what waits. */
typedef int (*ondine_wait_callback)(void* user);

/* A federation node's answers to messages (docs/federated.md), for callers that have a
   connection. Holds copies of the model and the data. `options`: group train; `federation`: group
   federate, without the options of the connection. */
ONDINE_C_API ondine_error* ondine_federated_worker_new(const ondine_model* model,
                                                       const ondine_dataset* dataset,
                                                       const ondine_option* options,
                                                       const ondine_option* federation,
                                                       ondine_federated_worker** worker);
/* `callback` is asked after every step, on the thread of the call; NULL for none. */
ONDINE_C_API ondine_error* ondine_federated_worker_on_wait(ondine_federated_worker* worker,
                                                           ondine_wait_callback callback,
                                                           void* user);
/* `type`: "train", "evaluate" or "query". `arrays`: the weights that a training step updates; NULL
   for a query. `settings`: a JSON object with the settings of the message, or NULL. `seconds`: that
   the answer may take, from 0 on; below 0 for any time. `trained`: the arrays of a training, else
   none; may be NULL. `answer`: JSON, federated answer. */
ONDINE_C_API ondine_error* ondine_federated_worker_answer(ondine_federated_worker* worker,
                                                          const char* type,
                                                          const ondine_values* arrays,
                                                          const char* settings, double seconds,
                                                          ondine_values** trained, char** answer);
ONDINE_C_API void ondine_federated_worker_free(ondine_federated_worker* worker);

#ifdef __cplusplus
}
#endif

#endif
