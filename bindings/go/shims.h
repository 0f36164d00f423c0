/* Callbacks of C that call Go, which knows its functions by numbers. */
#ifndef ONDINE_GO_SHIMS_H
#define ONDINE_GO_SHIMS_H

#include <ondine/c.h>

ondine_error* ondine_go_load_bytes(const void* bytes, size_t size, uintptr_t user,
                                   const ondine_option* options, ondine_model** model);
ondine_error* ondine_go_progress(ondine_model* model, uintptr_t user);
ondine_error* ondine_go_warnings(ondine_model* model, uintptr_t user);
ondine_error* ondine_go_rows(const ondine_column* columns, size_t count, uint64_t rows,
                             uintptr_t user, const ondine_option* options,
                             ondine_dataset** dataset);
ondine_error* ondine_go_on_step(ondine_trainer* trainer, uintptr_t user);
ondine_error* ondine_go_on_epoch(ondine_trainer* trainer, uintptr_t user);
ondine_error* ondine_go_metric(ondine_trainer* trainer, const char* name,
                               const char* const* outputs, uintptr_t user);
ondine_error* ondine_go_finetune(ondine_finetune_run* run, uintptr_t user, int steps, int epochs,
                                 ondine_model** model, char** report);
ondine_error* ondine_go_generate(const ondine_generator* generator, const char* prompt,
                                 size_t length, uintptr_t user, char** report);
ondine_error* ondine_go_generate_after(const ondine_generator* generator, const int64_t* tokens,
                                       size_t count, uintptr_t user, char** report);
ondine_error* ondine_go_answer(const ondine_generator* generator, const ondine_message* messages,
                               size_t count, uintptr_t user, char** report);
ondine_error* ondine_go_on_wait(ondine_federated_worker* worker, uintptr_t user);

#endif
