/* Language models, adapters and privacy in C. Included by <ondine/c.h>, which states what holds for
   all functions. */
#ifndef ONDINE_C_LANGUAGE_H
#define ONDINE_C_LANGUAGE_H

#include <ondine/c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the model of a folder of Hugging Face to `output`, which is replaced in one step.
   `options`: group import. `report` may be NULL: JSON, import report. */
ONDINE_C_API ondine_error* ondine_import_hugging_face(const char* folder, const char* output,
                                                      const ondine_option* options, char** report);

/* ---- texts that a model writes (docs/generate.md) ---- */

/* A part of the text, whole characters of UTF-8, which does not end with 0. Not 0 ends the text. */
typedef int (*ondine_piece_callback)(void* user, const char* piece, size_t length);

/* A message of a conversation: role "system", "user" or "assistant". */
typedef struct ondine_message {
  const char* role;
  const char* content;
} ondine_message;

/* Keeps the model, which is only read. The functions of a const ondine_generator* may run at once.
   `options`: group generate. `text`: the options tokenizer and chat-template of group data; what
   they do not say is as the model was trained. */
ONDINE_C_API ondine_error* ondine_generator_new(const ondine_model* model,
                                                const ondine_option* options,
                                                const ondine_option* text,
                                                ondine_generator** generator);
/* The text after a prompt of `length` bytes. `callback` may be NULL. `report`, which may be NULL:
   JSON, generate report. */
ONDINE_C_API ondine_error* ondine_generator_generate(const ondine_generator* generator,
                                                     const char* prompt, size_t length,
                                                     ondine_piece_callback callback, void* user,
                                                     char** report);
/* The text after a prompt of `count` token ids. */
ONDINE_C_API ondine_error* ondine_generator_generate_after(const ondine_generator* generator,
                                                           const int64_t* tokens, size_t count,
                                                           ondine_piece_callback callback,
                                                           void* user, char** report);
/* The assistant's next message, by the chat template. */
ONDINE_C_API ondine_error* ondine_generator_answer(const ondine_generator* generator,
                                                   const ondine_message* messages, size_t count,
                                                   ondine_piece_callback callback, void* user,
                                                   char** report);
/* The ids of a text's tokens as a tensor [count] of ONDINE_INT64. */
ONDINE_C_API ondine_error* ondine_generator_encode(const ondine_generator* generator,
                                                   const char* text, size_t length,
                                                   ondine_value** tokens);
/* The text of tokens, which ends with 0; `length` may be NULL. */
ONDINE_C_API ondine_error* ondine_generator_decode(const ondine_generator* generator,
                                                   const int64_t* tokens, size_t count, char** text,
                                                   size_t* length);
ONDINE_C_API void ondine_generator_free(ondine_generator* generator);

/* ---- adapters (docs/adapters.md) ---- */

/* JSON, list of adapters; empty for a model without them. */
ONDINE_C_API ondine_error* ondine_model_adapters(const ondine_model* model, char** json);
/* Folders in the layout of PEFT. Assigning is all or nothing. */
ONDINE_C_API ondine_error* ondine_model_save_adapters(const ondine_model* model,
                                                      const char* folder);
ONDINE_C_API ondine_error* ondine_model_load_adapters(ondine_model* model, const char* folder);

/* `weight`: how often the adapters count, 1 for once. `name` NULL: the last part of the path. */
typedef struct ondine_adapter_folder {
  const char* folder;
  double weight;
  const char* name;
} ondine_adapter_folder;
/* A model for inference with the adapters of several folders beside the weights of `base`, which
   are shared. The input "adapter.NAME" weighs each from call to call. `load`: group load. */
ONDINE_C_API ondine_error* ondine_model_with_adapters(const ondine_model* base,
                                                      const ondine_adapter_folder* folders,
                                                      size_t count, const ondine_option* load,
                                                      ondine_model** model);

/* ---- privacy (docs/privacy.md) ---- */

/* The settings of DP-SGD that the model was prepared with; `is_private` is 0 for other models, and
   the rest is then unchanged. Each result may be NULL. */
ONDINE_C_API ondine_error* ondine_model_privacy(const ondine_model* model, int* is_private,
                                                double* clip, double* noise, uint64_t* batch_size);
/* Steps that each take every row with probability `rate` and add noise of `noise` times the bound
   of a row. */
typedef struct ondine_private_steps {
  double noise;
  double rate;
  uint64_t steps;
} ondine_private_steps;
/* The epsilon that all of them together have spent at `delta`; infinite without noise. */
ONDINE_C_API ondine_error* ondine_privacy_epsilon(const ondine_private_steps* spent, size_t count,
                                                  double delta, double* epsilon);
/* The least noise with which so many steps spend at most `epsilon`. */
ONDINE_C_API ondine_error* ondine_privacy_noise(double epsilon, double delta, double rate,
                                                uint64_t steps, double* noise);

#ifdef __cplusplus
}
#endif

#endif
