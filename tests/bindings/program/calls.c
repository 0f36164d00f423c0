/* Steps, derivatives, state and files of models. */
#include <math.h>
#include <string.h>

#include "checks.h"

void test_steps(void) {
  static const char* const fetches[] = {"loss", NULL};
  static const char* const unknown[] = {"no", NULL};
  ondine_model* model = prepared();
  ondine_values* feeds = batch();
  ondine_values* results = NULL;
  double first, last = 0;
  uint64_t steps = 0;
  size_t count = 0;
  int i;
  OK(ondine_model_eval_step(model, feeds, 0, fetches, &results));
  OK(ondine_values_count(results, &count));
  CHECK(count == 1);
  first = scalar(results, "loss");
  CHECK(fabs(first - log(3.0)) < 1e-6); /* all weights are 0 */
  for (i = 0; i < 20; ++i) {
    OK(ondine_model_train_step(model, feeds, 0, NULL, &results));
    last = scalar(results, "loss");
  }
  OK(ondine_model_train_step(model, feeds, 0, NULL, NULL));
  FAIL(ondine_model_train_step(model, feeds, 0, unknown, NULL), ONDINE_NOT_FOUND, "'no'");
  CHECK(last < first / 2);
  OK(ondine_model_steps(model, &steps));
  CHECK(steps == 21);
  OK(ondine_model_initialize(model, 5));
  OK(ondine_model_steps(model, &steps));
  CHECK(steps == 0);
  ondine_values_free(feeds);
  ondine_model_free(model);
}

/* With all weights 0 the derivative of the loss by the logits is (1/3 - label) / 4. */
void test_gradients_and_rates(void) {
  ondine_model* model = prepared();
  ondine_values* feeds = batch();
  ondine_values* gradients = NULL;
  ondine_value* w = NULL;
  void* data = NULL;
  const int64_t* dims = NULL;
  size_t rank = 0, elements = 0, bytes = 0;
  int dtype = 0;
  float rate = 0;
  OK(ondine_model_gradients(model, feeds, 0, &gradients));
  OK(ondine_values_get(gradients, "w", &w));
  OK(ondine_tensor_info(w, &dtype, &rank, &dims, &elements, &bytes));
  CHECK(dtype == ONDINE_FLOAT32 && rank == 2 && dims[0] == 4 && dims[1] == 3);
  CHECK(elements == 12 && bytes == 48);
  OK(ondine_tensor_data(w, &data));
  CHECK(fabsf(((float*)data)[0] + 2.0F / 12) < 1e-6F);
  CHECK(fabsf(((float*)data)[1] - 1.0F / 12) < 1e-6F);
  ondine_value_free(w);
  ondine_values_free(gradients);
  OK(ondine_model_get_learning_rate(model, 0, &rate));
  CHECK(rate == 0.5F);
  OK(ondine_model_set_learning_rate(model, 0, 0.25F));
  OK(ondine_model_get_learning_rate(model, 0, &rate));
  CHECK(rate == 0.25F);
  FAIL(ondine_model_set_learning_rate(model, 0, (float)INFINITY), ONDINE_MISMATCH,
       "the learning rate must be a finite number");
  ondine_values_free(feeds);
  ondine_model_free(model);
}

void test_state_and_files(void) {
  ondine_model* model = prepared();
  ondine_model* other = NULL;
  ondine_values* feeds = batch();
  ondine_values* state = NULL;
  ondine_value* w = NULL;
  float numbers[15];
  void* bytes = NULL;
  size_t size = 0, count = 0;
  char* text = NULL;
  int i, found = 7;
  OK(ondine_model_train_step(model, feeds, 0, NULL, NULL));
  OK(ondine_model_save_checkpoint(model, path("run.ckpt")));
  OK(ondine_has_checkpoint(path("run.ckpt"), &found));
  CHECK(found == 1);
  OK(ondine_has_checkpoint(path("no.ckpt"), &found));
  CHECK(found == 0);
  OK(ondine_model_parameter_count(model, &count));
  CHECK(count == 15);
  OK(ondine_model_get_parameters(model, numbers, 15));
  CHECK(numbers[0] > 0);
  OK(ondine_model_clone(model, &other));
  for (i = 0; i < 15; ++i) numbers[i] = 1;
  OK(ondine_model_set_parameters(model, numbers, 15));
  OK(ondine_model_restore_checkpoint(model, path("run.ckpt"), &text));
  HAS(text, "\"properties\":{}");
  OK(ondine_model_get_parameters(other, numbers, 15));
  CHECK(numbers[0] != 1 && numbers[0] > 0);
  FAIL(ondine_model_get_parameters(model, numbers, 14), ONDINE_MISMATCH, "has 15 parameters");
  OK(ondine_model_get_state(model, "w", &w));
  OK(ondine_values_new(&state));
  OK(ondine_values_set(state, "w", w));
  OK(ondine_model_set_state(model, state));
  OK(ondine_values_set(state, "no", w));
  FAIL(ondine_model_set_state(model, state), ONDINE_NOT_FOUND, "there is no state variable 'no'");
  OK(ondine_model_save_weights(model, path("w.safetensors"), 0));
  OK(ondine_model_load_weights(other, path("w.safetensors"), 0, &text));
  HAS(text, "{\"assigned\":2,\"missing\":[],\"unknown\":[]}");
  OK(ondine_model_export_inference(model, path("tuned.onnx"), NULL));
  OK(ondine_model_export_training(model, path("again.onnx"), NULL));
  OK(ondine_model_export_training_bytes(model, &bytes, &size));
  CHECK(size > 100);
  ondine_free(bytes);
  OK(ondine_model_export_inference_bytes(model, &bytes, &size));
  ondine_model_free(other);
  OK(ondine_model_load_bytes(bytes, size, NULL, NULL, NULL, &other));
  ondine_free(bytes);
  OK(ondine_model_describe(other, &text));
  HAS(text, "\"algorithms\":[]");
  OK(ondine_model_fingerprint(other, &text));
  CHECK(strlen(text) == 64);
  ondine_free(text);
  ondine_value_free(w);
  ondine_values_free(state);
  ondine_values_free(feeds);
  ondine_model_free(other);
  ondine_model_free(model);
}
