#include "_cgo_export.h"

static void text(void* user, const char* line) { ondineGoText((uintptr_t)user, (char*)line); }
static int piece(void* user, const char* text, size_t length) {
  return ondineGoPiece((uintptr_t)user, (char*)text, length);
}
static int step(void* user, const char* report) {
  return ondineGoStep((uintptr_t)user, (char*)report);
}
static int epoch(void* user, const char* report) {
  return ondineGoEpoch((uintptr_t)user, (char*)report);
}
static int progress(void* user, double fraction) {
  return ondineGoProgress((uintptr_t)user, fraction);
}
static int wait(void* user) { return ondineGoWait((uintptr_t)user); }
static int row(void* user, uint64_t index, void* const* entries) {
  return ondineGoRow((uintptr_t)user, index, (void**)entries);
}
static int external(void* user, const char* location, uint64_t offset, uint64_t length,
                    void* bytes) {
  return ondineGoExternal((uintptr_t)user, (char*)location, offset, length, bytes);
}
static void begin(void* user) { ondineGoBegin((uintptr_t)user); }
static int add(void* user, const ondine_values* outputs, const ondine_values* batch) {
  return ondineGoAdd((uintptr_t)user, (ondine_values*)outputs, (ondine_values*)batch);
}
static int value(void* user, double* result) { return ondineGoValue((uintptr_t)user, result); }
static void forget(void* user) { ondineGoForget((uintptr_t)user); }

ondine_error* ondine_go_load_bytes(const void* bytes, size_t size, uintptr_t user,
                                   const ondine_option* options, ondine_model** model) {
  return ondine_model_load_bytes(bytes, size, user == 0 ? NULL : external, (void*)user, options,
                                 model);
}

ondine_error* ondine_go_progress(ondine_model* model, uintptr_t user) {
  return ondine_model_set_progress(model, user == 0 ? NULL : progress, (void*)user);
}

ondine_error* ondine_go_warnings(ondine_model* model, uintptr_t user) {
  return ondine_model_set_warning_callback(model, user == 0 ? NULL : text, (void*)user);
}

ondine_error* ondine_go_rows(const ondine_column* columns, size_t count, uint64_t rows,
                             uintptr_t user, const ondine_option* options,
                             ondine_dataset** dataset) {
  return ondine_dataset_from_rows(columns, count, rows, row, forget, (void*)user, options, dataset);
}

ondine_error* ondine_go_on_step(ondine_trainer* trainer, uintptr_t user) {
  return ondine_trainer_on_step(trainer, step, (void*)user);
}

ondine_error* ondine_go_on_epoch(ondine_trainer* trainer, uintptr_t user) {
  return ondine_trainer_on_epoch(trainer, epoch, (void*)user);
}

ondine_error* ondine_go_metric(ondine_trainer* trainer, const char* name,
                               const char* const* outputs, uintptr_t user) {
  const ondine_metric metric = {name, begin, add, value, outputs};
  return ondine_trainer_add_metric(trainer, &metric, (void*)user);
}

ondine_error* ondine_go_finetune(ondine_finetune_run* run, uintptr_t user, int steps, int epochs,
                                 ondine_model** model, char** report) {
  run->on_assumed = text;
  run->on_step = steps ? step : NULL;
  run->on_epoch = epochs ? epoch : NULL;
  run->user = (void*)user;
  return ondine_finetune(run, model, report);
}

ondine_error* ondine_go_generate(const ondine_generator* generator, const char* prompt,
                                 size_t length, uintptr_t user, char** report) {
  return ondine_generator_generate(generator, prompt, length, user == 0 ? NULL : piece, (void*)user,
                                   report);
}

ondine_error* ondine_go_generate_after(const ondine_generator* generator, const int64_t* tokens,
                                       size_t count, uintptr_t user, char** report) {
  return ondine_generator_generate_after(generator, tokens, count, user == 0 ? NULL : piece,
                                         (void*)user, report);
}

ondine_error* ondine_go_answer(const ondine_generator* generator, const ondine_message* messages,
                               size_t count, uintptr_t user, char** report) {
  return ondine_generator_answer(generator, messages, count, user == 0 ? NULL : piece, (void*)user,
                                 report);
}

ondine_error* ondine_go_on_wait(ondine_federated_worker* worker, uintptr_t user) {
  return ondine_federated_worker_on_wait(worker, user == 0 ? NULL : wait, (void*)user);
}
