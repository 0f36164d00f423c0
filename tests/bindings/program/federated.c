/* What a node of a federation does with a message. */
#include "checks.h"

static int asked = 0;
static int ask(void* user) {
  ++asked;
  return *(int*)user;
}

static ondine_values* weights(const float* w, const float* b) {
  static const int64_t w_dims[2] = {4, 3}, b_dims[1] = {3};
  ondine_values* values = NULL;
  OK(ondine_values_new(&values));
  OK(ondine_values_set_tensor(values, "w", ONDINE_FLOAT32, 2, w_dims, w));
  OK(ondine_values_set_tensor(values, "b", ONDINE_FLOAT32, 1, b_dims, b));
  return values;
}

/* Two epochs of one batch of all rows are two steps of the model. */
static void check_trained(const ondine_values* trained, const float* w, const float* b) {
  ondine_model* model = prepared();
  ondine_values *start = weights(w, b), *rows = batch();
  ondine_value *expected = NULL, *found = NULL;
  void *right = NULL, *numbers = NULL;
  int i;
  OK(ondine_model_set_state(model, start));
  for (i = 0; i < 2; ++i) OK(ondine_model_train_step(model, rows, 0, NULL, NULL));
  OK(ondine_model_get_state(model, "w", &expected));
  OK(ondine_values_get(trained, "w", &found));
  OK(ondine_tensor_data(expected, &right));
  OK(ondine_tensor_data(found, &numbers));
  for (i = 0; i < 12; ++i) {
    const float distance = ((float*)numbers)[i] - ((float*)right)[i];
    CHECK(distance < 1e-6F && distance > -1e-6F);
    CHECK(((float*)numbers)[i] != w[i] || w[i] == 0);
  }
  ondine_value_free(expected);
  ondine_value_free(found);
  ondine_values_free(start);
  ondine_values_free(rows);
  ondine_model_free(model);
}

static void check_mistakes(ondine_federated_worker* worker, const ondine_values* arrays) {
  ondine_values* trained = NULL;
  char* text = NULL;
  FAIL(ondine_federated_worker_answer(worker, "train", NULL, NULL, -1, &trained, &text),
       ONDINE_MISMATCH, "array 'w' of the model is missing");
  FAIL(ondine_federated_worker_answer(worker, "train", arrays, "[1]", -1, &trained, &text),
       ONDINE_MISMATCH, "the settings are no JSON object");
  FAIL(ondine_federated_worker_answer(worker, "train", arrays, "{\"epochs\":0}", -1, &trained,
                                      &text),
       ONDINE_MISMATCH, "'epochs'");
  FAIL(
      ondine_federated_worker_answer(worker, "train", arrays, "{\"epochs\":2}", 0, &trained, &text),
      ONDINE_LIMIT, "time");
  CHECK(trained == NULL && text == NULL);
}

void test_federated(void) {
  static const ondine_option options[] = {{"batch-size", "4"}, {NULL, NULL}};
  static const ondine_option names[] = {{"train-metric", "train_loss=loss"}, {NULL, NULL}};
  static const ondine_option link[] = {{"superlink", "a:1"}, {NULL, NULL}};
  const float w[12] = {0.5F, 0, 0, 0, 0.25F, 0, 0, 0, -0.5F, 0, 0, 0}, b[3] = {0, 0.5F, 0};
  ondine_model* model = prepared();
  ondine_values *rows = batch(), *arrays = weights(w, b), *trained = NULL;
  ondine_dataset* data = NULL;
  ondine_federated_worker* worker = NULL;
  char* text = NULL;
  size_t count = 9;
  int answer = 1;
  OK(ondine_dataset_from_values(rows, NULL, NULL, &data));
  FAIL(ondine_federated_worker_new(model, data, options, link, &worker), ONDINE_MISMATCH,
       "option 'superlink'");
  OK(ondine_federated_worker_new(model, data, options, names, &worker));
  ondine_model_free(model);
  check_mistakes(worker, arrays);
  OK(ondine_federated_worker_on_wait(worker, ask, &answer));
  FAIL(ondine_federated_worker_answer(worker, "train", arrays, "{\"epochs\":2}", -1, &trained,
                                      &text),
       ONDINE_CANCELLED, "stopped");
  CHECK(asked == 1);
  answer = 0;
  OK(ondine_federated_worker_answer(worker, "train", arrays, "{\"epochs\": 2, \"other\": [1]}", 60,
                                    &trained, &text));
  HAS(text, "\"num-examples\":4");
  check_trained(trained, w, b);
  ondine_values_free(trained);
  OK(ondine_federated_worker_answer(worker, "query", NULL, NULL, -1, &trained, &text));
  HAS(text, "\"arrays\":[\"w\",\"b\"]");
  OK(ondine_values_count(trained, &count));
  CHECK(count == 0);
  ondine_values_free(trained);
  ondine_federated_worker_free(worker);
  ondine_values_free(arrays);
  ondine_values_free(rows);
  ondine_dataset_free(data);
}
