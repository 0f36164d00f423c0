/* What is wrong is an error with a code and a message, never more. */
#include <string.h>

#include "checks.h"

void test_mistakes(void) {
  static const ondine_option unknown[] = {{"learning-rat", "1"}, {NULL, NULL}};
  static const ondine_option useless[] = {{"momentum", "0.9"}, {"optimizer", "adam"}, {NULL, NULL}};
  static const ondine_option lacking[] = {{"loss", NULL}, {NULL, NULL}};
  static const int64_t wrong[2] = {4, 5};
  ondine_model* model = prepared();
  ondine_model* none = NULL;
  ondine_values* feeds = batch();
  ondine_values* results = NULL;
  ondine_value* value = NULL;
  ondine_error* error = NULL;
  uint8_t flags[4] = {0, 1, 2, 0};
  double number = 0;
  FAIL(ondine_model_load(path("none.onnx"), NULL, &none), ONDINE_NOT_FOUND, "none.onnx");
  FAIL(ondine_model_load(NULL, NULL, &none), ONDINE_MISMATCH, "file is NULL");
  FAIL(ondine_model_load(path("net.onnx"), NULL, NULL), ONDINE_MISMATCH, "model is NULL");
  FAIL(ondine_model_load_bytes("no model", 8, NULL, NULL, NULL, &none), ONDINE_INVALID_MODEL, "");
  FAIL(ondine_prepare(path("net.onnx"), unknown, NULL, &none, NULL), ONDINE_INVALID_OPTION,
       "learning-rate");
  FAIL(ondine_prepare(path("net.onnx"), useless, NULL, &none, NULL), ONDINE_INVALID_OPTION,
       "momentum does not apply");
  FAIL(ondine_prepare(path("net.onnx"), lacking, NULL, &none, NULL), ONDINE_INVALID_OPTION,
       "loss has no value");
  CHECK(none == NULL);
  FAIL(ondine_model_infer(NULL, feeds, NULL, &results), ONDINE_MISMATCH, "the model is NULL");
  FAIL(ondine_model_infer((const ondine_model*)feeds, feeds, NULL, &results), ONDINE_MISMATCH,
       "a model is needed, the handle is that of a list of values");
  FAIL(ondine_model_infer((const ondine_model*)&number, feeds, NULL, &results), ONDINE_MISMATCH,
       "the model was freed, or its handle is none");
  FAIL(ondine_model_train_step(model, feeds, 3, NULL, NULL), ONDINE_NOT_FOUND, "no algorithm 3");
  error = ondine_model_infer(model, feeds, NULL, &results);
  CHECK(ondine_error_code(error) == ONDINE_NOT_FOUND);
  CHECK(strstr(ondine_error_reason(error), "there is no input 'label'") != NULL);
  CHECK(ondine_error_context(error, 100) == NULL);
  ondine_error_free(error);
  CHECK(strstr(ondine_error_message(error), "was freed") != NULL);
  ondine_error_free(error);
  OK(ondine_values_set_tensor(feeds, "image", ONDINE_FLOAT32, 2, wrong, image));
  FAIL(ondine_model_train_step(model, feeds, 0, NULL, NULL), ONDINE_MISMATCH, "image");
  OK(ondine_values_set_tensor(feeds, "image", ONDINE_FLOAT64, 0, NULL, &number));
  FAIL(ondine_model_train_step(model, feeds, 0, NULL, NULL), ONDINE_MISMATCH, "image");
  FAIL(ondine_values_set_tensor(feeds, "image", ONDINE_BOOL, 1, label_dims, flags), ONDINE_MISMATCH,
       "element 2 holds the byte 2, which is no bool");
  FAIL(ondine_values_set_tensor(feeds, "image", 99, 1, label_dims, flags), ONDINE_MISMATCH,
       "there is no element type 99");
  FAIL(ondine_values_set_tensor(feeds, "image", ONDINE_FLOAT32, 1, label_dims, (char*)image + 1),
       ONDINE_MISMATCH, "aligned to 4 bytes");
  FAIL(ondine_values_scalar(feeds, "none", &number), ONDINE_NOT_FOUND, "there is no result 'none'");
  FAIL(ondine_values_at(feeds, 9, &value), ONDINE_NOT_FOUND, "there is no value 9");
  ondine_values_free(feeds);
  FAIL(ondine_model_train_step(model, feeds, 0, NULL, NULL), ONDINE_MISMATCH, "was freed");
  ondine_values_free(feeds);
  ondine_model_free(model);
  FAIL(ondine_model_initialize(model, 1), ONDINE_MISMATCH, "the model was freed");
  ondine_model_free(NULL);
  ondine_free(NULL);
  CHECK(strcmp(ondine_code_name(ONDINE_NOT_FOUND), "not_found") == 0);
  CHECK(strcmp(ondine_code_name(77), "unknown") == 0);
}
