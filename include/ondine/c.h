/* Ondine for C and for other languages: C99, no type of C++, no exception. docs/c.md explains it
   and describes the JSON texts.

   Errors: a function that can fail returns NULL on success, else an error that the caller frees.
   Its results are then unchanged, and whatever it was called on is as before.

   Handles: an object is named by a handle that a _new, _open or other creating function gives and
   the _free function ends. A handle that is NULL, was freed or names another kind of object is an
   error of code ONDINE_MISMATCH. A call that runs keeps its objects alive. Freeing NULL or a handle
   that was freed does nothing.

   Threads: any function may be called from any thread. The functions that take a const
   ondine_model* may run at once on one model, also while one thread trains it. Other calls that
   may not run beside each other are errors of code ONDINE_MISMATCH.

   Texts are UTF-8. Those given as char** and void** come from the library: ondine_free() ends them.
   Lists of names end with NULL, lists of options with {NULL, NULL}; NULL is an empty list.

   Callbacks run on the thread of the call that they belong to and must return to it. What they are
   given is valid until then. */
#ifndef ONDINE_C_H
#define ONDINE_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ONDINE_C_API __attribute__((visibility("default")))
#else
#define ONDINE_C_API
#endif

/* Grows with every addition to this file. */
#define ONDINE_ABI_VERSION 2

typedef struct ondine_error ondine_error;
typedef struct ondine_value ondine_value;   /* a tensor, sequence, map, ... */
typedef struct ondine_values ondine_values; /* values by name, in order */
typedef struct ondine_model ondine_model;
typedef struct ondine_dataset ondine_dataset;
typedef struct ondine_batches ondine_batches;
typedef struct ondine_trainer ondine_trainer;
typedef struct ondine_federated_worker ondine_federated_worker;
typedef struct ondine_generator ondine_generator;
typedef struct ondine_cancel ondine_cancel;
struct DLManagedTensor; /* of <dlpack/dlpack.h> */

/* An option by its name (ondine_options_json), for example {"learning-rate", "1e-3"}. */
typedef struct ondine_option {
  const char* name;
  const char* value;
} ondine_option;

#ifndef __cplusplus
/* ONDINE_OPTIONS({"loss", "mse"}, {"optimizer", "adam"}) */
#define ONDINE_OPTIONS(...) ((const ondine_option[]){__VA_ARGS__, {NULL, NULL}})
/* ONDINE_NAMES("loss", "accuracy") */
#define ONDINE_NAMES(...) ((const char* const[]){__VA_ARGS__, NULL})
#endif

/* Kinds of errors. The numbers never change. */
enum ondine_code {
  ONDINE_OK = 0,
  ONDINE_INVALID_MODEL = 1,  /* the model breaks a rule of the standard */
  ONDINE_UNSUPPORTED = 2,    /* a valid request for something this build does not have */
  ONDINE_MISMATCH = 3,       /* a handle, feed, dtype, size or call that does not fit */
  ONDINE_CORRUPT = 4,        /* stored bytes are damaged */
  ONDINE_IO = 5,             /* the operating system refused a file operation */
  ONDINE_LIMIT = 6,          /* a bound was reached, or memory is short */
  ONDINE_CANCELLED = 7,      /* the caller asked to stop */
  ONDINE_INTERNAL = 8,       /* a defect of the library */
  ONDINE_NOT_FINITE = 9,     /* a metric of a training step is NaN or infinite */
  ONDINE_NOT_FOUND = 10,     /* there is no such file, name or index */
  ONDINE_EXISTS = 11,        /* a file that must not be replaced is there already */
  ONDINE_INVALID_OPTION = 12 /* an option that is unknown, without effect or out of range */
};

/* Element types, numbered as in onnx.TensorProto.DataType. Elements below a byte take one byte. */
enum ondine_dtype {
  ONDINE_FLOAT32 = 1,
  ONDINE_UINT8 = 2,
  ONDINE_INT8 = 3,
  ONDINE_UINT16 = 4,
  ONDINE_INT16 = 5,
  ONDINE_INT32 = 6,
  ONDINE_INT64 = 7,
  ONDINE_STRING = 8,
  ONDINE_BOOL = 9, /* bytes of 0 and 1 */
  ONDINE_FLOAT16 = 10,
  ONDINE_FLOAT64 = 11,
  ONDINE_UINT32 = 12,
  ONDINE_UINT64 = 13,
  ONDINE_COMPLEX64 = 14,
  ONDINE_COMPLEX128 = 15,
  ONDINE_BFLOAT16 = 16,
  ONDINE_FLOAT8E4M3FN = 17,
  ONDINE_FLOAT8E4M3FNUZ = 18,
  ONDINE_FLOAT8E5M2 = 19,
  ONDINE_FLOAT8E5M2FNUZ = 20,
  ONDINE_UINT4 = 21,
  ONDINE_INT4 = 22,
  ONDINE_FLOAT4E2M1 = 23,
  ONDINE_FLOAT8E8M0 = 24,
  ONDINE_UINT2 = 25,
  ONDINE_INT2 = 26
};

enum ondine_kind {
  ONDINE_NONE = 0,
  ONDINE_TENSOR = 1,
  ONDINE_SPARSE_TENSOR = 2,
  ONDINE_SEQUENCE = 3,
  ONDINE_MAP = 4,
  ONDINE_OPTIONAL = 5
};

/* ---- library ---- */

ONDINE_C_API const char* ondine_version(void); /* "MAJOR.MINOR.PATCH" */
ONDINE_C_API int ondine_abi_version(void);     /* ONDINE_ABI_VERSION of the library */
ONDINE_C_API void ondine_free(void* memory);   /* texts and bytes that the library gave */
/* Handles that were given and not freed, errors included: 0 where nothing leaks. */
ONDINE_C_API size_t ondine_live_handles(void);
/* All options of all groups: JSON. */
ONDINE_C_API ondine_error* ondine_options_json(char** json);

/* ---- errors ---- */

ONDINE_C_API int ondine_error_code(const ondine_error* error); /* ondine_code; NULL: ONDINE_OK */
/* "not_found" for ONDINE_NOT_FOUND; "unknown" for a number that is no code. */
ONDINE_C_API const char* ondine_code_name(int code);
/* The reason, then a line for each object that encloses it. Valid until the error is freed. */
ONDINE_C_API const char* ondine_error_message(const ondine_error* error);
ONDINE_C_API const char* ondine_error_reason(const ondine_error* error); /* the reason alone */
/* The enclosing objects, innermost first; NULL from the last one on. */
ONDINE_C_API const char* ondine_error_context(const ondine_error* error, size_t index);
ONDINE_C_API void ondine_error_free(ondine_error* error);

/* ---- values ---- */

/* A tensor with a copy of the elements, in row-major order; NULL: zeros. Not for ONDINE_STRING. */
ONDINE_C_API ondine_error* ondine_tensor_new(int dtype, size_t rank, const int64_t* dims,
                                             const void* data, ondine_value** value);
/* The elements stay where they are and must not change while a call reads them. `release`, if any,
   is called with `user` when the last user of the tensor is gone, on any thread; never on error. */
ONDINE_C_API ondine_error* ondine_tensor_wrap(int dtype, size_t rank, const int64_t* dims,
                                              void* data, void (*release)(void* user), void* user,
                                              ondine_value** value);
/* One text for each element. `lengths` in bytes; NULL: texts end with 0. */
ONDINE_C_API ondine_error* ondine_tensor_strings(size_t rank, const int64_t* dims,
                                                 const char* const* texts, const size_t* lengths,
                                                 ondine_value** value);
/* Takes the tensor over on success: its deleter is called as `release` of ondine_tensor_wrap. It
   must lie in the memory of the CPU; elements that are not in row-major order without gaps are an
   error unless `copy` is not 0. */
ONDINE_C_API ondine_error* ondine_tensor_from_dlpack(struct DLManagedTensor* tensor, int copy,
                                                     ondine_value** value);
/* Shares the elements, which stay until the deleter is called. Not for ONDINE_STRING and elements
   below a byte. */
ONDINE_C_API ondine_error* ondine_tensor_to_dlpack(const ondine_value* value,
                                                   struct DLManagedTensor** tensor);
/* Each result may be NULL. `dims` is valid until the value is freed. */
ONDINE_C_API ondine_error* ondine_tensor_info(const ondine_value* value, int* dtype, size_t* rank,
                                              const int64_t** dims, size_t* elements,
                                              size_t* bytes);
/* The elements of a tensor that holds no strings, valid until the value is freed. Values that share
   them see what is written. */
ONDINE_C_API ondine_error* ondine_tensor_data(const ondine_value* value, void** data);
/* Valid until the value is freed. `length` may be NULL. */
ONDINE_C_API ondine_error* ondine_tensor_string(const ondine_value* value, size_t index,
                                                const char** text, size_t* length);

ONDINE_C_API ondine_error* ondine_value_sequence(const ondine_value* const* elements, size_t count,
                                                 ondine_value** value);
/* `keys`: a tensor of rank 1 of integers or strings, one for each element. */
ONDINE_C_API ondine_error* ondine_value_map(const ondine_value* keys,
                                            const ondine_value* const* elements, size_t count,
                                            ondine_value** value);
/* `element` NULL: an empty optional. */
ONDINE_C_API ondine_error* ondine_value_optional(const ondine_value* element, ondine_value** value);
/* COO: `elements` [nnz], `indices` [nnz] linear or [nnz, rank]; the dims are those of the whole. */
ONDINE_C_API ondine_error* ondine_value_sparse(const ondine_value* elements,
                                               const ondine_value* indices, size_t rank,
                                               const int64_t* dims, ondine_value** value);
ONDINE_C_API ondine_error* ondine_value_kind(const ondine_value* value, int* kind);
/* Elements of a sequence, map or optional; nonzero values of a sparse tensor are element 0. */
ONDINE_C_API ondine_error* ondine_value_count(const ondine_value* value, size_t* count);
ONDINE_C_API ondine_error* ondine_value_element(const ondine_value* value, size_t index,
                                                ondine_value** element);
/* Keys of a map, indices of a sparse tensor. */
ONDINE_C_API ondine_error* ondine_value_keys(const ondine_value* value, ondine_value** keys);
ONDINE_C_API void ondine_value_free(ondine_value* value);

/* Values by name, which calls are fed with and return. */
ONDINE_C_API ondine_error* ondine_values_new(ondine_values** values);
/* Adds the value or takes the place of the one of this name. `value` may be freed afterwards. */
ONDINE_C_API ondine_error* ondine_values_set(ondine_values* values, const char* name,
                                             const ondine_value* value);
/* Sets a tensor as by ondine_tensor_wrap: the elements must stay until the values are freed or the
   name is set again. */
ONDINE_C_API ondine_error* ondine_values_set_tensor(ondine_values* values, const char* name,
                                                    int dtype, size_t rank, const int64_t* dims,
                                                    const void* data);
ONDINE_C_API ondine_error* ondine_values_count(const ondine_values* values, size_t* count);
/* Valid until the values are freed or changed. */
ONDINE_C_API ondine_error* ondine_values_name(const ondine_values* values, size_t index,
                                              const char** name);
ONDINE_C_API ondine_error* ondine_values_at(const ondine_values* values, size_t index,
                                            ondine_value** value);
ONDINE_C_API ondine_error* ondine_values_get(const ondine_values* values, const char* name,
                                             ondine_value** value);
/* The only element of a tensor of numbers or booleans. */
ONDINE_C_API ondine_error* ondine_values_scalar(const ondine_values* values, const char* name,
                                                double* number);
ONDINE_C_API void ondine_values_free(ondine_values* values);

/* ---- stopping a call ---- */

/* A flag for ondine_model_set_cancel. */
ONDINE_C_API ondine_error* ondine_cancel_new(ondine_cancel** cancel);
/* Calls that watch the flag end with ONDINE_CANCELLED, until it is reset. */
ONDINE_C_API ondine_error* ondine_cancel_request(ondine_cancel* cancel);
ONDINE_C_API ondine_error* ondine_cancel_reset(ondine_cancel* cancel);
ONDINE_C_API void ondine_cancel_free(ondine_cancel* cancel);

#ifdef __cplusplus
}
#endif

#include <ondine/c_language.h>
#include <ondine/c_model.h>
#include <ondine/c_trainer.h>

#endif
