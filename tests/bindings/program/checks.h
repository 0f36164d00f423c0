/* What the programs in C share. */
#ifndef ONDINE_TESTS_CHECKS_H
#define ONDINE_TESTS_CHECKS_H

#include <ondine/c.h>

#ifdef __cplusplus
extern "C" {
#endif

extern int failures;

/* A file of the program's folder. */
void set_folder(const char* name);
const char* path(const char* name);

void check(int condition, const char* text, const char* file, int line);
#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)

/* The call succeeds. */
void succeed(ondine_error* error, const char* file, int line);
#define OK(call) succeed(call, __FILE__, __LINE__)

/* The call fails with this code, and the message has this part. */
void fail(ondine_error* error, int code, const char* part, const char* file, int line);
#define FAIL(call, code, part) fail(call, code, part, __FILE__, __LINE__)

/* The text of the library has this part; frees it. */
void has(char* text, const char* part, const char* file, int line);
#define HAS(text, part) has(text, part, __FILE__, __LINE__)

/* Four rows of "image", which are the unit vectors, and the classes 0, 1, 2, 0. */
ondine_values* batch(void);
extern float image[16];
extern const int64_t image_dims[2];
extern const int64_t label_dims[1];

/* A model that trains by SGD at 0.5; all its weights are 0. */
ondine_model* prepared(void);
/* Frees the results. */
double scalar(ondine_values* results, const char* name);

void test_steps(void);
void test_gradients_and_rates(void);
void test_state_and_files(void);
void test_rows(void);
void test_training(void);
void test_finetune(void);
void test_federated(void);
void test_language(void);
void test_adapters(void);
void test_privacy(void);
void test_values(void);
void test_dlpack(void);
void test_stopping(void);
void test_descriptions(void);
void test_mistakes(void);

#ifdef __cplusplus
}
#endif

#endif
